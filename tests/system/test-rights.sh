#!/bin/bash
# SPDX-License-Identifier: MIT
# Who may do what: under sudo, as a member of the group, and when the privileged half is killed.
. "${top_srcdir:-.}/tests/tap.sh"
. "${top_srcdir:-.}/tests/system/instances.sh"
numbers=$top_builddir/tests/system/record-numbers

[ "$(id -u)" = 0 ] || skip_all "rights are given up by root: run as root"
[ -w $instances ] || skip_all "no tracefs: mount -t tracefs tracefs /sys/kernel/tracing"
as_nobody="setpriv --reuid=65534 --regid=65534 --clear-groups"
$as_nobody test -x "$WEFT" 2>/dev/null || skip_all "uid 65534 cannot enter $top_builddir"
chmod 711 "$tap_dir"
cd "$tap_dir" || exit 1
mkdir -m 700 run user root-run && chown 65534:65534 run user
export WEFT_RUNDIR=$tap_dir/run
under_sudo="env SUDO_UID=65534 SUDO_GID=65534 SUDO_USER=nobody SUDO_COMMAND=weft"

# The daemons of this folder.
daemons() {
	for pid in $(pgrep -x weft-consumerd); do
		grep -qzFx "WEFT_RUNDIR=$WEFT_RUNDIR" "/proc/$pid/environ" 2>/dev/null && echo "$pid"
	done
}
# status PID KEY...: the values, in one line.
status() {
	local pid=$1
	shift
	for key; do sed -n "s/^$key:[[:space:]]*//p" "/proc/$pid/status"; done | tr '\t\n' '  ' | tr -s ' ' | sed 's/ $//'
}
# start RUNNER ARGS...: begins a recording whose program waits for a line; $weft, $program, $bridge, $daemon.
start() {
	rm -f pids
	mkfifo -m 666 go
	"$@" sh -c "echo \$\$ \$PPID >$tap_dir/user/pids; read line <$tap_dir/go; exec '$numbers' -n 100 -s 7" >out 2>err &
	recording=$!
	until_true test -s user/pids || sed 's/^/# /' err
	read -r program weft <user/pids
	bridge=$(pgrep -P "$weft" -x weft-bridge)
	daemon=$(daemons)
}
finish() {
	timeout 20 sh -c 'echo >go' || kill $recording
	wait $recording
	ended_with=$?
	rm -f go user/pids
}

# ---- sudo
start $under_sudo "$WEFT" record -o user/sudo --
is "under sudo the program is the user's, in every respect" \
	"$(status "$program" Uid Gid Groups CapPrm CapEff)" "65534 65534 65534 65534 65534 65534 65534 65534 65534 0000000000000000 0000000000000000"
is "so is weft" "$(status "$weft" Uid Gid CapEff)" "65534 65534 65534 65534 65534 65534 65534 65534 0000000000000000"
is "and weft-consumerd" "$(status "$daemon" Uid Gid CapEff)" "65534 65534 65534 65534 65534 65534 65534 65534 0000000000000000"
is "the bridge is root's, without any capability" "$(status "$bridge" Uid CapPrm CapEff CapBnd NoNewPrivs)" \
	"0 0 0 0 0000000000000000 0000000000000000 0000000000000000 1"
is "weft-consumerd has nothing of tracefs open but buffers and their counts, to read" \
	"$(find "/proc/$daemon/fd" -type l -printf '%l\n' | grep tracing | grep -cvE '/per_cpu/cpu[0-9]+/(trace_pipe_raw|stats)$')" 0
is "the program has the user's environment" \
	"$(tr '\0' '\n' <"/proc/$program/environ" | grep -E '^(USER|LOGNAME|SUDO_[A-Z]*)=' | sort | tr '\n' ' ')" "LOGNAME=nobody USER=nobody "
finish
is "the exit status is the program's" $ended_with 7
is "the trace is the user's" "$(find user/sudo ! -user 65534 | wc -l)" 0
ok "with the kernel's events" test "$("$WEFT" dump --json user/sudo | jq -r --argjson tid "$program" \
	'select(.tid == $tid and (.name | startswith("syscall_entry_"))) | .ts' | wc -l)" -gt 20
ok "and the markers" test "$("$WEFT" dump user/sudo | grep -c numbers:step)" = 100
ok "nothing is left" within 2 is_removed "$bridge"

start $under_sudo "$WEFT" record --kernel=none -o user/none --
is "without kernel events no bridge is started, and the program is the user's all the same" \
	"$bridge$(status "$program" Uid)" "65534 65534 65534 65534"
finish
$under_sudo "$WEFT" record --detach -d 60 -o user/behind 2>err2
is "sudo weft status shows what sudo weft record began" "$($under_sudo "$WEFT" status | grep -c "^$tap_dir/user/behind$")" 1
is "which is what the user sees" "$($as_nobody "$WEFT" status | grep -c "^$tap_dir/user/behind$")" 1
$under_sudo "$WEFT" stop 2>err2
is "sudo weft stop ends it" "$? $(grep -c 'behind: .* events' err2)" "0 1"
WEFT_RUNDIR=$tap_dir/root-run
"$WEFT" record --kernel=none --detach -d 60 -o rooted-behind 2>err2
is "with --as-root they look at root's" "$($under_sudo "$WEFT" status --as-root --json | jq -r .dir)" "$tap_dir/rooted-behind"
$under_sudo "$WEFT" stop 2>err2
is "and only with it" "$? $(wc -l <err2)" "2 1"
$under_sudo "$WEFT" stop --as-root rooted-behind 2>err2
is "weft stop, too" $? 0
SUDO_UID=-1 SUDO_GID=65534 "$WEFT" status >out 2>err2
is "whose they are is not guessed" "$? $(cat out) $(wc -l <err2)" "2  1"
start $under_sudo "$WEFT" record --as-root -o rooted --
is "with --as-root the program stays root's" "$(status "$program" Uid)" "0 0 0 0"
finish
WEFT_RUNDIR=$tap_dir/run
$as_nobody "$CONSUMERD" --foreground 2>err2 &
running=$!
until_true test -S run/control.sock
start $under_sudo "$WEFT" record -o user/joined --
is "a weft-consumerd that the user has running is used" "$daemon" $running
finish
ok "for kernel events, too" test "$("$WEFT" dump user/joined | grep -c sched_switch)" -gt 0
kill $running
wait $running 2>/dev/null
SUDO_UID=-1 SUDO_GID=65534 "$WEFT" record -o user/odd -- id >out 2>err
is "what sudo does not say clearly is not guessed" "$? $(cat out)" "2 "

# ---- the group
group=$(getent group daemon | cut -d: -f3)
member="setpriv --reuid=65534 --regid=65534 --groups=$group"
mkdir -m 755 service
"$top_builddir/weft-bridge" --listen="$tap_dir/service/bridge" --group=daemon 2>err2 &
listener=$!
until_true test -S service/bridge
is "its socket is for root and the group" "$(stat -c '%U %G %a' service/bridge)" "root daemon 660"
export WEFT_BRIDGE_SOCKET=$tap_dir/service/bridge
is "a member is told what it may ask" "$($member "$WEFT" doctor --json | jq -r '"\(.bridge.works) \(.backend)"')" "true ftrace"
start $member "$WEFT" record -o user/member --
bridge=$(pgrep -P $listener -x weft-bridge)
is "a member's bridge is root's, without any capability" "$(status "$bridge" Uid CapEff)" "0 0 0 0 0000000000000000"
finish
is "the exit status is the program's again" $ended_with 7
ok "a member records the kernel" test "$("$WEFT" dump user/member | grep -c sched_switch)" -gt 0
ok "nothing is said to be missing" sh -c "! grep -q missing err && [ \$(wc -l <err) = 1 ]"
ok "nothing of it is left" within 2 is_removed "$bridge"
$member "$top_builddir/tests/system/crowd" "$WEFT_BRIDGE_SOCKET" 10 >crowd &
crowd=$!
until_true test -s crowd
is "of a user's connections eight are served at a time" "$(cat crowd)" 8
$member "$WEFT" record -o user/ninth -- true >out 2>err
is "who has as many is told so, in one line" "$(grep -c 'no kernel events: .*8 recordings of yours' err) $(grep -c bridge err)" "1 0"
is "other users are served meanwhile" \
	"$(setpriv --reuid=65533 --regid=65533 --groups="$group" "$WEFT" doctor --json | jq -r .bridge.works)" true
kill $crowd
wait $crowd 2>/dev/null
ok "and so is that one when they are closed" until_true sh -c "$member '$WEFT' doctor --json | jq -e .bridge.works"
$as_nobody "$WEFT" record -o user/outsider -- true >out 2>err
is "who is no member is told so, and what to do" "$(grep -c 'not in group tracing.*weft setup' err)" 1
is "its trace says it as well" "$(jq -r 'select(.type == "header") | .missing' user/outsider/weft/sidecar | grep -c 'not in group tracing')" 1
start $member "$WEFT" record -o user/stopped --
bridge=$(pgrep -P $listener -x weft-bridge)
kill $listener
wait $listener
ok "when the service ends, nothing is left" is_removed "$bridge"
is "its socket neither" "$(ls service)" ""
finish
is "the recording goes on with the markers" "$ended_with $("$WEFT" dump user/stopped | grep -c numbers:step)" "7 100"
$member "$WEFT" record -o user/absent -- true >out 2>err
is "where nobody listens, the line says what to do" "$(grep -c "sudo weft.*weft setup" err)" 1
unset WEFT_BRIDGE_SOCKET
WEFT_RUNDIR=$tap_dir/root-run

# ---- the bridge killed
start "$WEFT" record -o bridgeless --
watcher=$(watcher_of "$bridge")
kill -9 "$bridge"
ok "when the bridge is killed, its instances are gone within 2 s" within 2 is_removed "$bridge"
ok "and the screen says so at once" until_true grep -q 'weft-bridge has ended.*: kernel events end here' err
finish
is "it says so once" "$(grep -c 'weft-bridge has ended' err)" 1
is "the program goes on to its own end" $ended_with 7
is "its markers are recorded" "$("$WEFT" dump bridgeless | grep -c numbers:step)" 100
is "the trace says when it was" "$(jq -r 'select(.type == "problem") | .text' bridgeless/weft/sidecar)" "weft-bridge has ended: kernel events end here"
is "every CPU's events are missing from then on to the end" \
	"$(jq -rs 'map(select(.type == "problem"))[0].ns as $ns | map(select(.type == "end"))[0].end_ns as $stop | map(select(.type == "loss" and .end_ns > $ns and .begin_ns <= $ns + 1000000)) | map(.source) | unique | length' bridgeless/weft/sidecar)" \
	"$(find bridgeless/kernel -maxdepth 1 -name 'sched_*' -type f | wc -l)"
ok "weft report says it" sh -c "'$WEFT' report bridgeless | grep -q '^problem: .*weft-bridge has ended'"

# ---- the bridge stopped: it hangs
start "$WEFT" record -o hung --
kill -STOP "$bridge"
SECONDS=0
finish
ok "a bridge that hangs is given up within seconds" test $SECONDS -lt 15
is "the program's end is its own then, too" $ended_with 7
is "and the markers are recorded" "$("$WEFT" dump hung | grep -c numbers:step)" 100
is "the screen says it once" "$(grep -c 'weft-bridge has ended, or hangs: kernel events end here' err)" 1
is "the trace says it" "$(jq -r 'select(.type == "problem") | .text' hung/weft/sidecar)" \
	"weft-bridge does not answer: kernel events end here"
kill -CONT "$bridge"
ok "should it go on, it leaves nothing" within 2 is_removed "$bridge"

# ---- weft-consumerd killed, and everything at once
start "$WEFT" record -o daemonless --
kill -9 "$daemon"
ok "when weft-consumerd is killed, the instances are gone within 2 s" within 2 is_removed "$bridge"
ok "and so is the bridge" within 2 sh -c "! pgrep -P $weft -x weft-bridge -r S,R"
finish
is "the program goes on" $ended_with 7
start "$WEFT" record -o allless --
kill -9 "$daemon" "$bridge"
ok "when both are killed, the watcher removes them within 2 s" within 2 is_removed "$bridge"
finish
start "$WEFT" record -o nothing --
kill -9 "$(watcher_of "$bridge")" "$bridge" "$daemon"
finish
is "with the watcher they stay" "$(left "$bridge")" 2
# The kernel turns it off as it closes the bridge's files: a moment after the kill.
ok "but record nothing" within 2 sh -c "! grep -qx 1 $instances/weft-$bridge-*/tracing_on"
"$WEFT" record -o next -- true >out 2>err
is "and the next recording removes them" "$(left "$bridge")" 0
done_testing

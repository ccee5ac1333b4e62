#!/bin/bash
# SPDX-License-Identifier: MIT
# Several users: each records their own programs, root those of all; and what a user can do to root's recording.
. "${top_srcdir:-.}/tests/tap.sh"
[ "$(id -u)" = 0 ] || skip_all "needs root, to become several users"
command -v setpriv >/dev/null || skip_all "no setpriv (util-linux)"
command -v jq >/dev/null || skip_all "no jq"
one=$((61000 + $$ % 2000 * 2)) two=$((61001 + $$ % 2000 * 2))
setpriv --reuid=$one --regid=$one --clear-groups true 2>/dev/null || skip_all "cannot become another user"

# All that runs is where the other users can reach it.
chmod 711 "$tap_dir"
bin=$tap_dir/bin
mkdir -m 755 "$bin"
for file in weft weft-consumerd weft-bridge tests/system/record-numbers; do
	[ -f "$top_builddir/$file" ] && cp "$top_builddir/$file" "$bin/"
done
cp -L "$LIBMARKER" "$bin/libmarker.so"
for program in compositor Xorg; do cp "$bin/record-numbers" "$bin/$program"; done
chmod 755 "$bin"/*
WEFT=$bin/weft
export WEFT_CONSUMERD=$bin/weft-consumerd WEFT_LIBMARKER=$bin/libmarker.so
numbers=$bin/record-numbers
export WEFT_RUNDIR=$tap_dir/run-0 WEFT_PLACES=$tap_dir/run-$one:$tap_dir/run-$two
mkdir -m 700 "$tap_dir/run-0"
cd "$tap_dir" || exit 1

# new_folder UID: empty rendezvous folder of a user's.
new_folder() {
	rm -rf "$tap_dir/run-$1"
	mkdir -m 700 "$tap_dir/run-$1"
	chown "$1:$1" "$tap_dir/run-$1"
}
for uid in $one $two; do
	new_folder $uid
	mkdir -m 755 "$tap_dir/home-$uid"
	chown $uid:$uid "$tap_dir/home-$uid"
done

# as UID COMMAND...: with that user's rights and folder.
as() {
	timeout 60 setpriv --reuid="$1" --regid="$1" --clear-groups env -u WEFT_PLACES WEFT_RUNDIR="$tap_dir/run-$1" "${@:2}"
}

# What still runs of the other users' programs.
end_programs() {
	for uid in $one $two; do
		as $uid kill -KILL $(sed -n 's/^pid //p' ./*.out) 2>/dev/null
	done
}
trap 'end_programs; rm -rf "$tap_dir"' EXIT

# marked UID ARGS...: a program with markers, as that user.
marked() {
	as "$1" env LD_PRELOAD="$WEFT_LIBMARKER" "$numbers" "${@:2}"
}

pid_in() {
	sed -n 's/^pid //p' "$1"
}

# numbers_of TRACE PID: "thread number" of each marker of one process.
numbers_of() {
	"$WEFT" dump "$1" --name numbers:step --json |
		jq -r "select(.pid == $2) | \"\(.fields.thread) \(.fields.number)\""
}

# is_complete TRACE PID THREADS EVENTS: every number of every thread is there once, in order.
is_complete() {
	numbers_of "$1" "$2" >got
	for thread in $(seq 0 $(($3 - 1))); do
		awk -v t="$thread" '$1 == t { print $2 }' got | cmp - <(seq 0 $(($4 - 1))) || return 1
	done
	[ "$(wc -l <got)" = $(($3 * $4)) ]
}

others_of() { # TRACE PIDS...: markers of processes that are none of these
	"$WEFT" dump "$1" --name numbers:step --json | jq -r .pid | sort -u | grep -vxF "$(printf '%s\n' "${@:2}")"
}

says_missing() {
	"$WEFT" report "$1" summary | grep -q "$2"
}

generation() {
	od -A n -t u4 -N 4 "$tap_dir/run-$1/control" | tr -d ' '
}

# ---- each for themselves
as $one "$WEFT" record --kernel=none -o home-$one/a -- "$numbers" -t 2 -n 3000 -p 20 >a.out 2>a.err &
a=$!
as $one "$WEFT" record --kernel=none -o home-$one/b -- "$numbers" -n 4000 -p 20 >b.out 2>b.err &
b=$!
as $two "$WEFT" record --kernel=none -o home-$two/c -- "$numbers" -t 3 -n 2000 -p 20 >c.out 2>c.err &
wait $a $b $!
ok "of two users and three recordings at once the first is complete" is_complete home-$one/a "$(pid_in a.out)" 2 3000
ok "the second too" is_complete home-$one/b "$(pid_in b.out)" 1 4000
ok "and the other user's" is_complete home-$two/c "$(pid_in c.out)" 3 2000
is "nothing of another user is in them" \
	"$(for t in home-$one/a home-$one/b; do others_of $t "$(pid_in a.out)" "$(pid_in b.out)"; done
	others_of home-$two/c "$(pid_in c.out)")" ""

as $one env WEFT_BRIDGE_SOCKET="$tap_dir/none" "$WEFT" record -o home-$one/plain -- "$numbers" -n 1000 >plain.out 2>plain.err
ok "without rights an ordinary user's markers are complete" is_complete home-$one/plain "$(pid_in plain.out)" 1 1000
is "and one line tells what is missing" \
	"$(grep -vc '^home-.* events,' plain.err) $(grep -c "record: no kernel events: .*'sudo weft'" plain.err)" "1 1"

# ---- root records them all
cat >everybody.sh <<-END
	setpriv --reuid=$one --regid=$one --clear-groups env WEFT_RUNDIR=$tap_dir/run-$one $bin/compositor -t 2 -n 3000 -p 20 >one.out &
	setpriv --reuid=$two --regid=$two --clear-groups env WEFT_RUNDIR=$tap_dir/run-$two $numbers -n 3000 -p 20 >two.out &
	$bin/Xorg -n 3000 -p 20 >root.out &
	wait
	setpriv --reuid=$one --regid=$one --clear-groups env WEFT_RUNDIR=$tap_dir/run-$one $bin/weft mark from:script user=$one
END
kernel=sched
[ -w /sys/kernel/tracing/instances ] || kernel=none
"$WEFT" record --kernel=$kernel -o all -- sh everybody.sh 2>all.err
is "root records programs of all users" $? 0
ok "a user's compositor is complete" is_complete all "$(pid_in one.out)" 2 3000
ok "another user's program too" is_complete all "$(pid_in two.out)" 1 3000
ok "and root's Xorg" is_complete all "$(pid_in root.out)" 1 3000
is "a user's weft mark as well" "$("$WEFT" dump all --name from:script --json | jq -c .fields)" "{\"user\":$one}"
is "each by its name" "$("$WEFT" dump all --name numbers:step --json | jq -r .comm | sort -u | xargs)" "Xorg compositor record-numbers"
ok "all in one order that does not contradict itself" sh -c "'$WEFT' verify-order all | grep -q ' 0 violations'"
is "nothing is missing" "$("$WEFT" report all summary | grep '^missing')" ""
is "the users' markers are off again" "$(generation $one) $(generation $two)" "0 0"
is "and no socket of ours is left" "$(find run-$one run-$two -name '*.sock')" ""
ok "what is in a user's folder is the user's" test -z "$(find run-$one ! -user $one)"

"$WEFT" record --own --kernel=none -o own -- sh everybody.sh 2>own.err
ok "--own records root's own programs" is_complete own "$(pid_in root.out)" 1 3000
is "and nobody else's" "$(others_of own "$(pid_in root.out)")" ""

# ---- programs that run already, and two recordings of root's that want different things
marked $one -p 100 >running.out &
until_true grep -q first running.out
"$WEFT" record --kernel=none --own -o narrow -d 20 2>narrow.err &
narrow=$!
until_true test -d narrow/weft
"$WEFT" record --kernel=none -o wide -d 0.5 2>wide.err
kill $narrow
wait $narrow
ok "a program that runs already is recorded" test "$(numbers_of wide "$(pid_in running.out)" | wc -l)" -gt 0
is "but not by a recording that wants root's only" "$(numbers_of narrow "$(pid_in running.out)" | wc -l)" 0

WEFT_PLACES='' "$WEFT" record --kernel=none -o picked -d 0.5 -p "$(pid_in running.out)" 2>picked.err
ok "-p finds a process's folder wherever it is" test "$(numbers_of picked "$(pid_in running.out)" | wc -l)" -gt 0
is "and has no complaint" "$(grep -c 'no markers' picked.err)" 0
"$numbers" -p 1000 >mine.out &
mine=$!
until_true grep -q first mine.out
as $one "$WEFT" record --kernel=none -o home-$one/denied -p $mine 2>denied.err
is "an ordinary user cannot record another user's process" $? 2
ok "which is said" grep -q 'another user' denied.err
ok "before anything is made" test ! -e home-$one/denied
as $one kill "$(pid_in running.out)"
kill $mine

# ---- who came first
as $one "$WEFT" record --kernel=none -o home-$one/first -- "$numbers" -p 100 >first.out 2>first.err &
first=$!
until_true grep -q first first.out
"$WEFT" record --kernel=none -o held -d 30 2>held.err &
held=$!
ok "root hears that a user's own weft-consumerd has the markers" until_true grep -q "no markers of uid $one: .* has them" held.err
is "in one line" "$(grep -c 'no markers' held.err)" 1
until_true test -s held/weft/sidecar
ok "it is in the trace" says_missing held "no markers of uid $one"
ok "and in the status" sh -c "'$WEFT' status | grep -q 'no markers of uid $one'"
ok "while the others are served" sh -c "'$WEFT' status | grep -q 'markers of uid $two too'"
kill "$(pid_in first.out)"
wait $first
marked $one -p 100 >after.out &
ok "when it has ended, root's recording takes over" until_true sh -c "'$WEFT' status | grep -q 'markers of uid $one too'"
until_true test "$(generation $one)" != 0
as $one "$WEFT" record --kernel=none -o home-$one/second -- true 2>second.err
is "the user cannot record meanwhile" $? 2
is "and is told so in one line" "$(wc -l <second.err) $(grep -c "recording of root's" second.err)" "1 1"
sleep 0.2 # some markers
kill $held
wait $held
ok "markers from then on are there" test "$(numbers_of held "$(pid_in after.out)" | wc -l)" -gt 0
as $one kill "$(pid_in after.out)"
as $one "$WEFT" record --kernel=none -o home-$one/third -- "$numbers" -n 100 >third.out 2>third.err
ok "afterwards the user records again" is_complete home-$one/third "$(pid_in third.out)" 1 100

# ---- a folder that is meant to hurt
echo precious >victim
chmod 600 victim

# survives SENTENCE: root's own recording is as if there were no such user.
survives() {
	rm -rf hostile
	timeout 20 "$WEFT" record --kernel=none -o hostile -- "$numbers" -n 300 >hostile.out 2>hostile.err
	ok "$1: root records" is_complete hostile "$(pid_in hostile.out)" 1 300
	is "$1: and follows nothing" "$(cat victim) $(stat -c %u:%a victim)" "precious 0:600"
}

new_folder $one
as $one ln -s "$tap_dir/victim" run-$one/control
survives "a link for a control page"
ok "the user's markers are said to be missing" grep -q "no markers of uid $one: cannot use" hostile.err
new_folder $one
as $one ln -s "$tap_dir/victim" run-$one/consumerd.lock
survives "a link for a lock"
new_folder $one
as $one mkfifo run-$one/control run-$one/consumerd.lock
survives "pipes for lock and control page"
new_folder $one
as $one mkdir -p run-$one/markers.sock/x
survives "a folder for a socket"
new_folder $one
as $one truncate -s 1T run-$one/control
survives "a control page of a terabyte"
new_folder $one
as $one sh -c "head -c 4096 /dev/urandom >run-$one/control"
survives "a control page of rubbish"
new_folder $one
chmod 755 run-$one
survives "a folder that others may enter"
rm -rf run-$one
as $one ln -s "$tap_dir/run-$two" home-$one/link
WEFT_PLACES=$tap_dir/home-$one/link survives "a link for a folder"
new_folder $one

# ---- and while it is being recorded
agent_of() {
	grep -lz -- "^$tap_dir/run-$1\$" /proc/[0-9]*/cmdline 2>/dev/null | cut -d / -f 3 | while read -r pid; do
		grep -q "^Uid:.$1" /proc/"$pid"/status && echo "$pid"
	done | grep .
}
marked $two -p 100 >two.out &
until_true grep -q first two.out
"$WEFT" record --kernel=none -o tough -d 60 2>tough.err &
tough=$!
until_true agent_of $one
until_true test -s tough/weft/sidecar
as $one truncate -s 0 run-$one/control
timeout 20 "$WEFT" record --kernel=none -o during -d 0.1 2>during.err
is "a control page cut off under root's recording hurts nobody" $? 0
as $one rm run-$one/control
serves() {
	"$WEFT" status | grep -q "markers of uid $1 too"
}
ok "with a good one its user is recorded again" until_true serves $one
as $one sh -c "kill -STOP $(agent_of $one)"
timeout 20 "$WEFT" record --kernel=none -o during2 -d 0.1 2>during.err
is "nor does an agent that its user stops" $? 0
as $one sh -c "rm -f run-$one/markers.sock run-$one/control"
timeout 20 "$WEFT" record --kernel=none -o during3 -d 0.1 2>during.err
is "nor files taken away" $? 0
kill $tough
wait $tough
as $two kill "$(pid_in two.out)"
numbers_of tough "$(pid_in two.out)" | awk '{ print $2 }' >got
ok "the other user's markers have no gap" sh -c 'test -s got && seq "$(head -n 1 got)" "$(tail -n 1 got)" | cmp - got'

# ---- killed
new_folder $one
"$WEFT" record --kernel=none -o killed -d 60 2>killed.err &
record=$!
until_true test -S run-$one/markers.sock
until_true test "$(generation $one)" != 0
kill -KILL "$("$WEFT" status | sed -n 's/^weft-consumerd\[\([0-9]*\)\].*/\1/p')"
wait $record
off() {
	[ "$(generation $one)" = 0 ] && [ ! -e run-$one/markers.sock ]
}
ok "when root's weft-consumerd is killed, the users' markers go off" until_true off
no_agent() {
	! agent_of $one && ! agent_of $two
}
ok "and its agents end" until_true no_agent
done_testing

#!/bin/bash
# SPDX-License-Identifier: MIT
# Programs in namespaces of pids, time, users and mounts, and of another root: who they are, and when.
. "${top_srcdir:-.}/tests/tap.sh"
numbers=$top_builddir/tests/system/record-numbers
export WEFT_RUNDIR=$tap_dir/run
cd "$tap_dir" || exit 1
command -v jq >/dev/null || skip_all "jq is not installed"

# markers TRACE: its numbered markers, as JSON.
markers() {
	"$WEFT" dump --json "$1" | jq -c 'select(.name == "numbers:step")'
}

# skip_each WHY SENTENCE...
skip_each() {
	local why=$1 sentence
	shift
	for sentence in "$@"; do
		skip "$sentence" "$why"
	done
}

kernel=none
has_tracefs && kernel=default

# ---- pids
if unshare -p -f --mount-proc true 2>/dev/null; then
	"$WEFT" record --kernel=$kernel -o pids -- unshare -p -f --mount-proc "$numbers" -t 3 -n 300 -p 100 >out 2>err
	is "a program in a pid namespace is recorded in full" "$(markers pids | wc -l)" 900
	is "it is process 1 there" "$(markers pids | jq .vpid | sort -u)" 1
	is "its threads have numbers of the namespace" "$(markers pids | jq .vtid | sort -nu | wc -l)" 3
	is "and the host's, each its own" "$(markers pids | jq -c '[.tid, .vtid]' | sort -u | wc -l) $(
		markers pids | jq -c 'select(.tid == .vtid or .pid == 1)' | wc -l)" "3 0"
	ok "the sidecar tells both, and the namespace" jq -se --argjson own "$(stat -Lc %i /proc/self/ns/pid)" '
		[.[] | select(.type == "thread" and .has_markers)] |
		length >= 3 and all(.vpid == 1 and .pid != 1 and .pid_ns > 0 and .pid_ns != $own)' pids/weft/sidecar
	unshare -p -f --mount-proc "$WEFT" record --kernel=none -o inside -- "$numbers" -n 50 >out 2>err
	is "weft may be in the namespace itself" "$(markers inside | jq -c 'has("vpid")' | sort | uniq -c | tr -s ' ')" " 50 false"
	# Two at once, whose numbers are the same: 1 and 1.
	"$WEFT" record --kernel=none -o twins -- sh -c "
		unshare -p -f --mount-proc '$numbers' -n 200 -p 100 & unshare -p -f --mount-proc '$numbers' -n 200 -p 100; wait" >out 2>err
	is "of two with the same numbers, each keeps its own markers" \
		"$(markers twins | jq -c '[.tid, .vtid]' | sort | uniq -c | awk '{ print $1, $2 ~ /,1\]/ }' | tr '\n' ' ')" "200 1 200 1 "
	if has_tracefs; then
		ok "markers lie where the host's thread runs" sh -c \
			"'$WEFT' verify-order --json pids | jq -e '.violations == 0 and .checks > 300'"
		ok "and outside the calls it makes" sh -c \
			"'$WEFT' verify-order pids | awk '\$1 == \"marker-in-running\" { n = \$2 } END { exit n < 300 }'"
	else
		skip_each "no tracefs, or not root" "markers lie where the host's thread runs" "and outside the calls it makes"
	fi
else
	skip_each "no pid namespaces here" "a program in a pid namespace is recorded in full" "it is process 1 there" \
		"its threads have numbers of the namespace" "and the host's, each its own" \
		"the sidecar tells both, and the namespace" "weft may be in the namespace itself" \
		"of two with the same numbers, each keeps its own markers" \
		"markers lie where the host's thread runs" "and outside the calls it makes"
fi

# ---- time
# in_span TRACE: every marker lies within the recording, by the host's clock.
in_span() {
	markers "$1" | jq -se --slurpfile side "$1/weft/sidecar" '
		($side | map(select(.type == "anchor")) | map(.monotonic_ns)) as $at |
		length == 100 and all(.ts >= ($at | min) - 1e9 and .ts <= ($at | max) + 1e9)'
}
if unshare -T --monotonic 100000 true 2>/dev/null; then
	"$WEFT" record --kernel=none -o times -- unshare -T --monotonic 100000 -f "$numbers" -n 100 -p 100 >out 2>err
	ok "in a time namespace a program is stamped by the host's time" in_span times
	cat >script <<'END'
standard
class test:scripted user value:u32
1000000 pid=5 tid=6 test:scripted value=17
END
	# A script makes CLOCK_MONOTONIC the clock of all stamps.
	"$WEFT" record --backend=fake:script -o vdso -- unshare -T --monotonic 100000 -f "$numbers" -n 100 -p 100 >out 2>err
	ok "also where stamps are CLOCK_MONOTONIC, which is another one there" in_span vdso
	is "and nothing is discarded" "$(grep -c ', 0 discarded' err)" 1
else
	skip_each "no time namespaces here" "in a time namespace a program is stamped by the host's time" \
		"also where stamps are CLOCK_MONOTONIC, which is another one there" "and nothing is discarded"
fi

# ---- as containers do it
if unshare -Urmpf --mount-proc true 2>/dev/null; then
	"$WEFT" record --kernel=none -o contained -- unshare -Urmpf --mount-proc "$numbers" -n 200 -s 4 >out 2>err
	is "root of a user namespace keeps its exit status" $? 4
	is "and its markers" "$(markers contained | jq -c '[.vpid, .fields.number]' | sort -u | wc -l)" 200
else
	skip_each "no user namespaces here" "root of a user namespace keeps its exit status" "and its markers"
fi

# ---- another root
mkdir -p root/tmp root/proc
if [ "$(id -u)" = 0 ] && unshare -m true 2>/dev/null; then
	for dir in /usr /lib /lib64 /bin /etc; do
		[ -e "$dir" ] || continue
		mkdir -p "root$dir"
	done
	mkdir -p "root$top_builddir"
	cat >enter <<END
for dir in /usr /lib /lib64 /bin /etc "$top_builddir"; do
	[ -e "\$dir" ] && mount --bind "\$dir" "$tap_dir/root\$dir"
done
[ "\$1" = seen ] && mkdir -p "$tap_dir/root$WEFT_RUNDIR" && mount --bind "$WEFT_RUNDIR" "$tap_dir/root$WEFT_RUNDIR"
shift
exec chroot "$tap_dir/root" "\$@"
END
	"$WEFT" record --kernel=none -o unseen -- unshare -m sh enter unseen "$numbers" -n 100 -s 5 >out 2>err
	is "a program in another root runs as always" "$? $(grep -vc '^unseen: ' err)" "5 0"
	is "where it does not see the folder to meet in, it has no markers" "$(markers unseen | wc -l)" 0
	"$WEFT" record --kernel=none -o seen -- unshare -m sh enter seen "$numbers" -n 100 -s 5 >out 2>err
	is "where it does, it has" "$(markers seen | wc -l)" 100
	"$WEFT" record --kernel=none -d 20 -o keep >out 2>err &
	record=$!
	until_true test -S "$WEFT_RUNDIR/control.sock"
	rm -f out2 # what it says of an earlier program
	LD_PRELOAD=$LIBMARKER unshare -m sh enter unseen "$numbers" -p 1000 >out2 2>err2 &
	program=$!
	until_true grep -q first out2
	"$WEFT" record --kernel=none -p "$(sed -n 's/^pid //p' out2)" -d 0.1 -o other >out 2>err
	is "of one that runs there already, -p says what it cannot see" "$(grep -c 'bind-mount that folder' err)" 1
	kill -INT $record
	kill "$program"
	wait $record "$program" 2>/dev/null
else
	skip_each "needs root and mount namespaces" "a program in another root runs as always" \
		"where it does not see the folder to meet in, it has no markers" "where it does, it has" \
		"of one that runs there already, -p says what it cannot see"
fi
done_testing

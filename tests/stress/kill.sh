#!/bin/bash
# SPDX-License-Identifier: MIT
# kill.sh [-j JOBS] [-s SEED] [KIND [COUNT]] - kills a part of a running recording at a random time, and looks at what
# is left.
#
# KIND: program, consumerd, bridge, watcher, consumerd+bridge, everything (by cgroup, where that may be), or all of these.
# Each run has a run folder of its own. In each: the trace opens, for babeltrace2 too and with as many events; the order
# holds; every marker committed more than a second before is there (all of them when only the program died), none twice;
# tracefs is as before (after the next start, where the watcher died too); nothing is left running; the program, where it
# lives, ends as always, and the next recording has its markers. COUNT: runs of each kind (100).
#
# KERNEL: what is given to --kernel (default). CLEAN_MS: how soon tracefs must be as before (2000). KEEP: a folder to keep failed runs in.
#
# Prints a line for each failure, and a table. Exits 1 when something failed, 77 when nothing could run.
. "$(dirname "$0")/stress.sh"
jobs=4
seed=$RANDOM
while getopts j:s: option; do
	case $option in
	j) jobs=$OPTARG ;;
	s) seed=$OPTARG ;;
	*) exit 2 ;;
	esac
done
shift $((OPTIND - 1))
kinds=${1:-all}
count=${2:-100}
[ "$kinds" = all ] && kinds="program consumerd bridge watcher consumerd+bridge everything"
kernel=${KERNEL:-default}
has_tracefs || kernel=none
cgroups=$(awk '$3 == "cgroup2" { print $2; exit }' /proc/mounts)
[ -w "$cgroups/cgroup.procs" ] || cgroups=
trap 'rm -rf "$stress_dir"' EXIT

# start_recording: `weft record` of the counting program, in a cgroup of its own where there are such.
start_recording() {
	local enter=:
	if [ -n "$cgroups" ]; then
		cgroup=$cgroups/weft-stress-$$-$number
		mkdir "$cgroup" && enter="echo \$\$ >$cgroup/cgroup.procs"
	fi
	{
		env WEFT_RUNDIR="$run" sh -c "$enter; exec \"\$@\"" sh "$WEFT" record --kernel="$kernel" \
			-o "$dir/trace" -- "$COUNTED" -p 1000 -s 7 "$dir/counted" >"$dir/out" 2>"$dir/err"
		echo $? >"$dir/status"
	} 2>/dev/null &
	until_true 20 has_begun || fail "the recording did not begin"
}

# What the program publishes (counted.h): how many snapshots it has taken, and who it is.
nr_snapshots() {
	od -An -t u8 -j 16 -N 8 "$dir/counted" | tr -d ' '
}

has_begun() {
	[ -s "$dir/counted" ] && [ "$(nr_snapshots)" -gt 2 ]
}

program_pid() {
	od -An -t u4 -j 4 -N 4 "$dir/counted" | tr -d ' '
}

# victims: the processes to be killed.
victims() {
	case $kind in
	program) program_pid ;;
	consumerd | bridge) pids_named "$run" "weft-$kind" ;;
	watcher) pids_named "$run" weft-watcher ;;
	consumerd+bridge)
		pids_named "$run" weft-consumerd
		pids_named "$run" weft-bridge
		;;
	everything) pids_of "$run" ;;
	esac
}

strike() {
	local pids
	pids=$(victims | tr '\n' ' ')
	[ -n "${pids// /}" ] || fail "nothing to kill"
	killed_ms=$(now_ms)
	if [ "$kind" = everything ] && [ -n "$cgroups" ]; then
		echo 1 >"$cgroup/cgroup.kill"
	else
		kill -KILL $pids
	fi
}

# measure_clean: how long the tracer's makers outlive what was killed. The watcher is not there to help in two kinds.
measure_clean() {
	clean_ms=0
	[ "$kind" != everything ] && [ "$kind" != watcher ] && [ "$kind" != program ] || return
	if until_true 10 no_instances_of $makers; then
		clean_ms=$(($(now_ms) - killed_ms))
		[ $clean_ms -le ${CLEAN_MS:-2000} ] || fail "tracefs took $clean_ms ms"
	else
		fail "tracefs is not as before"
	fi
}

has_gone_on() {
	[ "$(nr_snapshots)" -gt "$1" ]
}

# What the program was told to do goes on: it counts.
program_lives() {
	local pid before
	pid=$(program_pid)
	before=$(nr_snapshots)
	kill -0 "$pid" 2>/dev/null || fail "the program died"
	until_true 5 has_gone_on "$before" || fail "the program stands still"
}

# A program that lives is picked up again; else another one is recorded in the same folder.
record_again() {
	if [ "$kind" = program ] || [ "$kind" = everything ]; then
		WEFT_RUNDIR=$run "$WEFT" record --kernel="$kernel" -o "$dir/again" -- "$COUNTED" -n 20 "$dir/counted2" \
			>"$dir/out2" 2>"$dir/err2" || fail "no next recording: $(head -n 1 "$dir/err2")"
		dump "$dir/again" | "$CHECK_COUNTED" -a "$dir/counted2" >"$dir/check2" ||
			fail "next recording: $(cat "$dir/check2")"
	else
		WEFT_RUNDIR=$run "$WEFT" record --kernel="$kernel" -d 0.4 -o "$dir/again" >"$dir/out2" 2>"$dir/err2" ||
			fail "no next recording: $(head -n 1 "$dir/err2")"
		dump "$dir/again" | "$CHECK_COUNTED" -j "$dir/counted" >"$dir/check2" ||
			fail "not picked up: $(cat "$dir/check2")"
	fi
}

dump() {
	"$WEFT" dump --name counted:step "$1" 2>"$dir/dump-err"
}

# end_program: SIGTERM ends it, and `weft record` with its status. Of one that was killed, 137.
end_program() {
	local wanted=7
	[ "$kind" = program ] && wanted=137
	[ "$kind" = everything ] && wanted=137
	[ $wanted = 7 ] && kill -TERM "$(program_pid)"
	until_true 20 test -s "$dir/status" || fail "weft record hangs"
	[ "$(cat "$dir/status")" = $wanted ] || fail "status $(cat "$dir/status") instead of $wanted"
	[ $wanted = 137 ] || [ "$(cat "$dir/out")" = "counted to the end" ] || fail "the program's output"
}

# What must be there: all, where the recording had its own end; else what is older than a second.
check_trace() {
	local events
	opened=0
	complete=0
	"$WEFT" dump "$dir/trace" >"$dir/dump" 2>"$dir/dump-err" || {
		fail "weft dump: $(tail -n 1 "$dir/dump-err")"
		return
	}
	events=$(wc -l <"$dir/dump")
	"$WEFT" verify-order "$dir/trace" >"$dir/order" 2>&1 || fail "order: $(tail -n 2 "$dir/order" | head -n 1)"
	if command -v babeltrace2 >/dev/null; then
		babeltrace2 "$dir/trace" >"$dir/babeltrace" 2>"$dir/babeltrace-err" ||
			fail "babeltrace2: $(tail -n 1 "$dir/babeltrace-err")"
		[ "$(wc -l <"$dir/babeltrace")" = "$events" ] ||
			fail "babeltrace2 has $(wc -l <"$dir/babeltrace") events, weft $events"
	fi
	[ -n "$failures" ] || opened=1
	case $kind in
	program | bridge | watcher) set -- -a ;;
	*) set -- -u "$(((killed_ms - 1000) * 1000000))" ;;
	esac
	if grep -F ' counted:step ' "$dir/dump" | "$CHECK_COUNTED" "$@" "$dir/counted" >"$dir/check"; then
		complete=1
	else
		fail "markers: $(cat "$dir/check")"
	fi
}

# Nothing runs on, nothing stays in tracefs.
check_rest() {
	until_true 15 nobody_of "$run" || fail "left running: $(pids_of "$run" | xargs -r ps -o comm= -p | tr '\n' ' ')"
	until_true 5 no_instances_of $makers || fail "left in tracefs"
}

run_one() {
	number=$1
	dir=$stress_dir/$kind-$number
	run=$dir/run
	failures=
	RANDOM=$((seed + number))
	mkdir -p "$dir" && mkdir -m 700 "$run"
	start_recording
	sleep "$(printf '%d.%03d' $((RANDOM % 3)) $((RANDOM % 1000)))"
	makers="$(pids_named "$run" weft-consumerd) $(pids_named "$run" weft-bridge)"
	strike
	measure_clean
	if [ "$kind" != program ] && [ "$kind" != everything ]; then
		program_lives
	else
		end_program
	fi
	record_again
	[ "$kind" = program ] || [ "$kind" = everything ] || end_program
	check_trace
	check_rest
	[ -n "$cgroups" ] && rmdir "$cgroup" 2>/dev/null
	echo "$opened $complete $clean_ms ${failures:-none}" >>"$stress_dir/$kind.results"
	if [ -n "$failures" ]; then
		echo "FAILED $kind run $number seed $((seed + number)): $failures"
		[ -n "${KEEP:-}" ] && cp -a "$dir" "$KEEP/"
	fi
	rm -rf "$dir"
}

has_bridge() {
	[ -x "$top_builddir/weft-bridge" ] && [ "$kernel" != none ]
}

echo "kill: seed $seed, $jobs at once, kernel events: $kernel"
printf '%-17s %5s %7s %9s %21s %9s\n' kind runs opened complete "tracefs clean, ms" failures >"$stress_dir/table"
status=77
for kind in $kinds; do
	if [[ $kind == *bridge* ]] && ! has_bridge; then
		echo "$kind: skipped, no weft-bridge or no kernel events here" >>"$stress_dir/table"
		continue
	fi
	if [ "$kind" = watcher ] && [ "$kernel" = none ]; then
		echo "$kind: skipped, no kernel events here" >>"$stress_dir/table"
		continue
	fi
	run_parallel "$jobs" run_one "$count"
	awk -v kind="$kind" '{ opened += $1; complete += $2; if ($3 > worst) worst = $3; bad += $4 != "none" }
		END { printf "%-17s %5d %7d %9d %15s %5d %9d\n", kind, NR, opened, complete, "worst", worst, bad; exit bad > 0 }' \
		"$stress_dir/$kind.results" >>"$stress_dir/table" && [ $status != 1 ] && status=0 || status=1
done
cat "$stress_dir/table"
exit $status

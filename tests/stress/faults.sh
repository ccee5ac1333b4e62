#!/bin/bash
# SPDX-License-Identifier: MIT
# faults.sh [-j JOBS] [-q] [-p POINT] [TARGET...] - makes every call of weft-consumerd, weft-bridge and weft record fail, one by one,
# in very short recordings, and looks at what becomes of them.
#
# A clean run lists the calls (fault-preload.c). Each place that calls fails at its first, second and last time, with each
# errno that suits it; and each call from the first, a middle and a late time on, for three times and for good. Then: no
# crash, no hang (20 s); the program ran undisturbed and the trace opens, or record says in one line why it could not start
# and leaves no folder; what is missing in the trace is told on the screen; nothing is left running or in tracefs.
#
# -q: a few points only. -p: one point, as in the line of one that failed. KERNELS: what is given to --kernel in turn (none default). KEEP: a folder to keep failed runs in.
# Prints a line for each failure, and a table. Exits 1 when something failed, 77 when there is nothing to try.
. "$(dirname "$0")/stress.sh"
jobs=3
is_quick=
point=
while getopts j:p:q option; do
	case $option in
	j) jobs=$OPTARG ;;
	p) point=$OPTARG ;;
	q) is_quick=1 ;;
	*) exit 2 ;;
	esac
done
shift $((OPTIND - 1))
targets=${*:-weft-consumerd weft-bridge weft}
if has_tracefs; then
	kernels=${KERNELS:-none default}
else
	kernels=none
fi
export WEFT_FAULT_LIBRARY=${WEFT_FAULT_LIBRARY:-$top_builddir/tests/stress/.libs/fault-preload.so}
trap 'rm -rf "$stress_dir"' EXIT

# errors_of CALL: 0 is a write that ends half way.
errors_of() {
	case $1 in
	malloc | calloc | realloc | aligned_alloc | mmap | recvmsg | recv) echo ENOMEM ;;
	open | openat | fopen | opendir | fdopendir) echo EMFILE EACCES ;;
	write | pwrite | writev) echo ENOSPC EIO EDQUOT SHORT ;;
	ftruncate | fsync | fdatasync) echo EIO ;;
	read | pread | splice | getrandom | readlink) echo EIO ;;
	mkdir | mkdirat | rename | renameat | unlinkat | chmod) echo ENOSPC EDQUOT ;;
	fork | pthread_create) echo EAGAIN ;;
	close_range) echo ENOSYS ;;
	connect) echo ECONNREFUSED ;;
	send | sendmsg | epoll_ctl | getsockopt | listen | bind) echo ENOMEM ;;
	flock) echo ENOLCK ;;
	*) echo EMFILE ;;
	esac
}

number_of() {
	case $1 in
	ENOMEM) echo 12 ;; EMFILE) echo 24 ;; EACCES) echo 13 ;; ENOSPC) echo 28 ;; EIO) echo 5 ;; EDQUOT) echo 122 ;;
	EAGAIN) echo 11 ;; ENOSYS) echo 38 ;; ECONNREFUSED) echo 111 ;; ENOLCK) echo 37 ;; SHORT) echo 0 ;;
	esac
}

# A very short recording, with the library in all of it. WEFT_FAULT_*: what is to happen.
record_briefly() {
	mkdir -p "$dir" && mkdir -m 700 "$dir/run"
	timeout -k 2 20 env WEFT_RUNDIR="$dir/run" LD_PRELOAD="$WEFT_FAULT_LIBRARY" "$WEFT" record --kernel="$kernel" \
		-o "$dir/trace" -- "$COUNTED" -n 20 -p 1000 -s 7 "$dir/counted" >"$dir/out" 2>"$dir/err"
}

# Ends what a failed start leaves waiting for a first session.
end_rest() {
	local pids
	pids=$(pids_of "$dir/run")
	[ -z "$pids" ] || kill -TERM $pids 2>/dev/null
	until_true 5 nobody_of "$dir/run" && return
	pids=$(pids_of "$dir/run")
	[ -z "$pids" ] || kill -KILL $pids 2>/dev/null
	return 1
}

# list_points TARGET KERNEL: "TARGET KERNEL CALL SITE AT FOR ERRNO" a line, of sites not listed before.
list_points() {
	local call error nr
	dir=$stress_dir/list
	kernel=$2
	rm -rf "$dir"
	export WEFT_FAULT_TARGET=$1 WEFT_FAULT_LIST=$stress_dir/calls-$1-$2
	record_briefly
	end_rest || echo "faults: a clean run hangs" >&2
	unset WEFT_FAULT_TARGET WEFT_FAULT_LIST
	[ -s "$stress_dir/calls-$1-$2" ] || return
	sort "$stress_dir/calls-$1-$2" | uniq -c | while read -r nr call site; do
		grep -qsx "$1 $call $site" "$stress_dir/known" && continue
		echo "$1 $call $site" >>"$stress_dir/known"
		for error in $(errors_of "$call"); do
			for at in $(printf '%s\n' 1 2 "$nr" | sort -un); do
				[ "$at" -gt "$nr" ] || echo "$1 $2 $call $site $at 1 $error"
			done
		done
	done
	# The same with a number of calls in a row, from wherever.
	cut -d' ' -f1 "$stress_dir/calls-$1-$2" | sort | uniq -c | while read -r nr call; do
		# Who cannot accept connections for good cannot tell anybody.
		[ "$call" != accept4 ] || continue
		for error in $(errors_of "$call"); do
			for at in $(printf '%s\n' 1 $((nr / 3 + 1)) $((nr * 2 / 3 + 1)) $((nr > 5 ? nr - 4 : 1)) | sort -un); do
				echo "$1 $2 $call 0 $at 3 $error"
				echo "$1 $2 $call 0 $at 0 $error"
			done
		done
	done
}

check_trace() {
	local events
	if [ ! -e "$dir/trace" ] && grep -q 'nothing is recorded' "$dir/err"; then
		is_valid=1
		return
	fi
	if ! "$WEFT" dump "$dir/trace" >"$dir/dump" 2>"$dir/dump-err"; then
		fail "weft dump: $(tail -n 1 "$dir/dump-err")"
		return
	fi
	events=$(wc -l <"$dir/dump")
	if command -v babeltrace2 >/dev/null && [ -n "$(find "$dir/trace" -name metadata)" ]; then
		babeltrace2 "$dir/trace" >"$dir/babeltrace" 2>"$dir/babeltrace-err" ||
			fail "babeltrace2: $(grep -v '^ ' "$dir/babeltrace-err" | tail -n 1)"
		[ "$(wc -l <"$dir/babeltrace")" = "$events" ] ||
			fail "babeltrace2 has $(wc -l <"$dir/babeltrace") events, weft $events"
	fi
	is_valid=1
	# Where markers are missing, the screen says so: a count, or the reason.
	if ! grep -F ' counted:step ' "$dir/dump" | "$CHECK_COUNTED" -a "$dir/counted" >"$dir/check" &&
		! grep -qE ' [1-9][0-9,]* discarded|no markers|is not preloaded|what is missing|has ended' "$dir/err"; then
		fail "missing, and nothing says so: $(cat "$dir/check")"
	fi
}

# judge FOR: how long the fault lasted.
judge() {
	[ ! -e "$dir/fault.crash" ] || fail "crash: $(sed -n '3,6p' "$dir/fault.crash" | sed 's/.*(//; s/).*//' | tr '\n' ' ')"
	case $status in
	124 | 137) fail "hang" ;;
	7)
		[ "$(cat "$dir/out")" = "counted to the end" ] || fail "the program's output: $(head -c 80 "$dir/out")"
		is_undisturbed=1
		check_trace
		;;
	2 | 126 | 127)
		[ ! -s "$dir/out" ] || fail "the program ran, but its status is lost"
		[ "$(grep -c . "$dir/err")" = 1 ] || [ $status != 2 ] && [ -s "$dir/err" ] || fail "$(wc -l <"$dir/err") lines on the screen: $(head -n 3 "$dir/err" | tr '\n' '|')"
		is_undisturbed=1
		is_valid=1
		# One that could not run was recorded until then; of any other start, the daemon takes the folder back,
		# unless it has no memory for that, either.
		if [ $status = 2 ] && [ "$1" != 0 ]; then
			until_true 5 test ! -e "$dir/trace" || fail "half a folder is left"
		elif [ -e "$dir/trace" ]; then
			"$WEFT" dump "$dir/trace" >"$dir/dump" 2>&1 || fail "weft dump: $(tail -n 1 "$dir/dump")"
		fi
		;;
	*) fail "status $status: $(head -n 1 "$dir/err")" ;;
	esac
	[ "$(wc -l <"$dir/err")" -le 4 ] || fail "$(wc -l <"$dir/err") lines on the screen"
}

run_point() {
	local target=$1 call=$3 site=$4 at=$5 length=$6 error=$7
	kernel=$2
	dir=$stress_dir/$target-$kernel-$call-$site-$at-$length-$error
	failures= is_valid=0 is_undisturbed=0
	WEFT_FAULT_TARGET=$target WEFT_FAULT_CALL=$call WEFT_FAULT_SITE=$site WEFT_FAULT_AT=$at \
		WEFT_FAULT_FOR=$length WEFT_FAULT_ERRNO=$(number_of "$error") WEFT_FAULT_FILE=$dir/fault \
		record_briefly
	status=$?
	makers=$(pids_of "$dir/run")
	end_rest || fail "left running"
	judge "$length"
	# Instances are named by their maker; of those that are gone already the next start takes care.
	[ -z "$makers" ] || until_true 5 no_instances_of $makers || fail "left in tracefs"
	if [ ! -e "$dir/fault" ]; then
		is_reached=0
	else
		is_reached=1
	fi
	echo "$target $call $error $is_reached $([ -z "$failures" ]; echo $?) $is_valid $is_undisturbed" >>"$stress_dir/results"
	if [ -n "$failures" ]; then
		echo "FAILED $*: $failures"
		[ -n "${KEEP:-}" ] && cp -a "$dir" "$KEEP/"
	fi
	rm -rf "$dir"
}

list_all_points() {
	local kernel target
	for kernel in $kernels; do
		for target in $targets; do
			list_points "$target" "$kernel"
		done
	done
}

if [ -n "$point" ]; then
	echo "$point"
else
	list_all_points
fi >"$stress_dir/points"
[ -z "$is_quick" ] || shuf -n 40 "$stress_dir/points" -o "$stress_dir/points"
[ -s "$stress_dir/points" ] || exit 77
echo "faults: $(wc -l <"$stress_dir/points") points, $jobs at once"
export -f until_true pids_of nobody_of instances_of no_instances_of number_of record_briefly end_rest fail check_trace judge run_point
export stress_dir stress_tracefs COUNTED CHECK_COUNTED
xargs -P "$jobs" -L 1 bash -c 'run_point "$@"' _ <"$stress_dir/points"
echo
awk '{ key = $1 " " $2 " " $3; points[key]++; reached[key] += $4; bad[key] += $5; valid[key] += $6; free[key] += $7 }
	END { for (key in points) print key, points[key], reached[key], points[key] - bad[key], valid[key], free[key] }' \
	"$stress_dir/results" | sort |
	awk 'BEGIN { printf "%-15s %-15s %-13s %6s %7s %8s %6s %11s\n", "of", "call", "errno", "points", "reached", "survived", "valid", "undisturbed" }
		{ printf "%-15s %-15s %-13s %6d %7d %8d %6d %11d\n", $1, $2, $3, $4, $5, $6, $7, $8; for (i = 4; i <= 8; i++) sum[i] += $i }
		END { printf "%-15s %-15s %-13s %6d %7d %8d %6d %11d\n", "all", "", "", sum[4], sum[5], sum[6], sum[7], sum[8]; exit sum[4] != sum[6] }'

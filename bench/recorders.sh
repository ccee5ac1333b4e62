# SPDX-License-Identifier: MIT
# recorders.sh - for benchmarks to source: weft, trace-cmd and perf record the same tracepoints, and tell what they have.
#
#	record_RECORDER SETS COMMAND...   into $dir/out.RECORDER, what it says into $dir/said.RECORDER, its cost (bench-run.c)
#	                                  into $dir/cost
#	told RECORDER                     events, discarded, bytes of the last
#
# $build is the build folder; prepare sets $dir, the benchmark's own folder, and $run, bench-run.

fail() { echo "${0##*/}: $*" >&2; exit 1; }

# prepare PROGRAM...: $build, $dir and $run, or the reason why nothing can be measured here.
prepare() {
	local needed
	build=$(realpath "$build")
	[ "$(id -u)" = 0 ] || fail "run as root"
	[ -d /sys/kernel/tracing/events ] || fail "no tracefs: mount -t tracefs tracefs /sys/kernel/tracing"
	command -v perf >/dev/null || fail "no perf here"
	for needed in weft weft-consumerd bench/bench-run "$@"; do
		[ -x "$build/$needed" ] || fail "no $build/$needed: build it, or name the build folder with -b"
	done
	run=$build/bench/bench-run
	dir=$(mktemp -d "${TMPDIR:-/tmp}/weft-bench.XXXXXX")
	trap 'rm -rf "$dir"' EXIT
	mkdir -m 700 "$dir/run"
	export WEFT_RUNDIR=$dir/run
}

# The tracepoints of weft's sets $1, each behind a -e, into the array events.
list_events() {
	local event
	events=()
	for event in $(tracepoints "$1"); do
		[ -d "/sys/kernel/tracing/events/${event/:/\/}" ] && events+=(-e "$event")
	done
}
tracepoints() {
	local set
	for set in ${1//,/ }; do
		case $set in
		sched) echo sched:sched_{switch,waking,wakeup_new,migrate_task,process_fork,process_exec,process_exit,pi_setprio} ;;
		irq) echo irq:irq_handler_{entry,exit} ;;
		softirq) echo irq:softirq_{raise,entry,exit} ;;
		block) echo block:block_{bio_queue,bio_complete,bio_backmerge,bio_frontmerge,bio_remap,split,getrq} \
			block:block_rq_{insert,issue,merge,remap,requeue,complete} ;;
		fault) echo exceptions:page_fault_{user,kernel} ;;
		syscall) echo raw_syscalls:sys_{enter,exit} ;;
		*) fail "no tracepoints for set $set here" ;;
		esac
	done
}

# RECORDER SETS COMMAND...: the command under the recorder, its output into $dir/out.RECORDER.
record_alone() { shift; "$@"; }
record_with_weft() {
	local bin=$1 name=$2 sets=$3
	shift 3
	rm -rf "$dir/out.$name"
	WEFT_CONSUMERD=$bin/weft-consumerd WEFT_LIBMARKER=$bin/.libs/libmarker.so \
		"$run" "$dir/cost" "$bin/weft" record --kernel="$sets" -o "$dir/out.$name" -- "$@" 2>"$dir/said.$name"
}
record_weft() { record_with_weft "$build" weft "$@"; }
record_weft_other() { record_with_weft "$other" weft_other "$@"; }
record_weft_all() { shift; record_with_weft "$build" weft_all all "$@"; }
# In an instance of its own. Where the function tracer is locked down (lockdown=integrity), trace-cmd
# gives up on files it does not need here: in a mount namespace it finds an empty file instead.
record_trace_cmd() {
	local instance=weft-bench-$$
	local folder=/sys/kernel/tracing/instances/$instance
	list_events "$1"
	shift
	mkdir -p "$folder" && : >"$dir/empty"
	FOLDER=$folder EMPTY=$dir/empty unshare -m bash -c '
		for file in "$FOLDER"/set_ftrace_*; do mount --bind "$EMPTY" "$file"; done
		exec "$@"' - "$run" "$dir/cost" trace-cmd record -d -B $instance -b 8192 -o "$dir/out.trace_cmd" "${events[@]}" \
		"$@" >"$dir/said.trace_cmd" 2>&1
	local status=$?
	if [ -d "$folder" ]; then rmdir "$folder"; fi
	return $status
}
# The whole machine's, as the others; 8 MiB a CPU; without the search for build-ids at its end.
record_perf() {
	list_events "$1"
	shift
	"$run" "$dir/cost" perf record -q -a -B -N -m 2048 "${events[@]}" -o "$dir/out.perf" -- "$@" 2>"$dir/said.perf"
}

# What is in the last recording: events, discarded, bytes.
told_weft() {
	local bytes
	bytes=$(find "$dir/out.$1" -path '*kernel*' -type f -printf '%s\n' | awk '{ s += $1 } END { print s }')
	echo "$(grep -oE '[0-9,]+ events' "$dir/said.$1" | tail -1 | tr -dc 0-9)" \
		"$(grep -oE '[0-9,]+ discarded' "$dir/said.$1" | tail -1 | tr -dc 0-9) $bytes"
}
told_trace_cmd() {
	echo "$(trace-cmd report -i "$dir/out.trace_cmd" 2>/dev/null | grep -c ': ')" \
		"$(grep -oE '[0-9]+ events lost|overrun: *[0-9]+' "$dir/said.trace_cmd" | tr -dc '0-9\n' | awk '{ s += $1 } END { print s + 0 }')" \
		"$(stat -c %s "$dir/out.trace_cmd")"
}
told_perf() {
	perf report --stats -i "$dir/out.perf" 2>/dev/null | awk '
		/^ *SAMPLE events:/ && !n { n = $3 } /LOST events:|LOST_SAMPLES events:/ { l += $3 } END { printf "%d %d ", n, l }'
	stat -c %s "$dir/out.perf"
}
told() {
	case $1 in
	weft*) told_weft "$1" ;;
	*) "told_$1" ;;
	esac
}

# The quantile $1 of the numbers in a file.
quantile() { sort -g "$2" | awk -v q="$1" '{ v[NR] = $1 } END { i = 1 + q * (NR - 1); j = int(i); print v[j] + (i - j) * (v[j < NR ? j + 1 : j] - v[j]) }'; }

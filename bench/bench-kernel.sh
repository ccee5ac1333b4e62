#!/bin/bash
# SPDX-License-Identifier: MIT
# bench-kernel.sh - what recording the kernel costs `perf bench sched pipe`: alone, under weft, under
# trace-cmd with the same events; interleaved, so that the machine's mood is the same for all.
#
#	bench/bench-kernel.sh [BUILD-FOLDER] [ROUNDS] [LOOPS]
#
# Prints a line per recorder: the median of (with it / alone) over the rounds, and what it recorded.
# Needs root, tracefs, perf, trace-cmd. In a build without `weft`, tests/bridge-record stands in.
set -u
build=$(realpath "${1:-.}") rounds=${2:-7} loops=${3:-100000}
dir=$(mktemp -d "${TMPDIR:-/tmp}/weft-bench.XXXXXX")
export WEFT_RUNDIR=$dir/run WEFT_CONSUMERD=$build/weft-consumerd WEFT_LIBMARKER=$build/.libs/libmarker.so
mkdir -m 700 "$dir/run"
trap 'rm -rf "$dir"' EXIT
for needed in perf trace-cmd; do
	command -v $needed >/dev/null || { echo "bench-kernel: no $needed here"; exit 1; }
done
[ "$(id -u)" = 0 ] || { echo "bench-kernel: run as root"; exit 1; }

# The tracepoints of weft's sets sched, irq, softirq and block, for trace-cmd.
events=()
for event in sched:sched_{switch,waking,wakeup_new,migrate_task,process_fork,process_exec,process_exit,pi_setprio} \
	irq:irq_handler_{entry,exit} irq:softirq_{raise,entry,exit} \
	block:block_{bio_queue,bio_complete,bio_backmerge,bio_frontmerge,bio_remap,split,getrq} \
	block:block_rq_{insert,issue,merge,remap,requeue,complete}; do
	[ -d "/sys/kernel/tracing/events/${event/:/\/}" ] && events+=(-e "$event")
done
sets=sched,irq,softirq,block

work() { perf bench -f simple sched pipe -l "$loops"; }
run_alone() { work >"$dir/seconds"; }
# under_weft NAME ARGS...: the work under `weft record ARGS`, with a daemon whose CPU time is told.
under_weft() {
	local name=$1
	shift
	rm -rf "${dir:?}/$name"
	(
		TIMEFORMAT='%U %S'
		time "$WEFT_CONSUMERD" --foreground --exit-when-idle >"$dir/daemon" 2>&1
	) 2>"$dir/$name.cpu" &
	local daemon=$!
	for _ in $(seq 100); do [ -S "$WEFT_RUNDIR/control.sock" ] && break; sleep 0.02; done
	"$build/weft" record "$@" -o "$dir/$name" -- perf bench -f simple sched pipe -l "$loops" >"$dir/seconds" 2>"$dir/$name.said"
	wait $daemon
}
run_weft() {
	if [ -x "$build/weft" ] && [ -x "$WEFT_CONSUMERD" ]; then
		under_weft weft --kernel=$sets
	else
		rm -rf "$dir/weft"
		"$build/tests/bridge-record" -s $sets -i 20 -o "$dir/weft" -- perf bench -f simple sched pipe -l "$loops" >"$dir/seconds"
	fi
}
run_all() { under_weft all; } # timers, system calls and faults of the program as well
# In an instance of its own. Where the function tracer is locked down (lockdown=integrity), trace-cmd
# gives up on files it does not need here: in a mount namespace it finds an empty file instead.
run_trace_cmd() {
	local instance=weft-bench-$$
	local folder=/sys/kernel/tracing/instances/$instance
	mkdir -p "$folder" && : >"$dir/empty"
	FOLDER=$folder EMPTY=$dir/empty unshare -m bash -c '
		for file in "$FOLDER"/set_ftrace_*; do mount --bind "$EMPTY" "$file"; done
		exec trace-cmd record -d "$@"' - -B $instance -b 8192 -o "$dir/trace.dat" "${events[@]}" \
		perf bench -f simple sched pipe -l "$loops" >"$dir/seconds" 2>"$dir/trace-cmd"
	if [ -d "$folder" ]; then rmdir "$folder"; fi
}
seconds() { grep -m1 -E '^[0-9]+\.[0-9]+$' "$dir/seconds"; }
median() { sort -n | awk '{ v[NR] = $1 } END { print NR % 2 ? v[(NR + 1) / 2] : (v[NR / 2] + v[NR / 2 + 1]) / 2 }'; }

recorders="weft trace_cmd"
[ -x "$build/weft" ] && recorders="weft trace_cmd all"
for round in $(seq "$rounds"); do
	order=$recorders
	[ $((round % 2)) = 0 ] && order=$(echo "$recorders" | tac -s' ' | tr '\n' ' ')
	for recorder in $order; do
		run_alone && alone=$(seconds)
		"run_$recorder" && with=$(seconds)
		[ -n "$alone" ] && [ -n "$with" ] || { echo "bench-kernel: $recorder did not run"; cat "$dir"/*.said "$dir/daemon" "$dir/trace-cmd"; exit 1; }
		echo "$alone" >>"$dir/alone"
		awk "BEGIN { print $with / $alone }" >>"$dir/$recorder.ratio"
	done
done

about="loops=$loops rounds=$rounds alone_us=$(median <"$dir/alone" | awk "{ print \$1 * 1e6 / $loops }") cpu=\"$(sed -n 's/^model name.*: //p' /proc/cpuinfo | head -1)\""
for recorder in weft all; do
	[ -s "$dir/$recorder.ratio" ] || continue
	bytes=$(find "$dir/$recorder" -path '*kernel*' -type f -printf '%s\n' | awk '{ s += $1 } END { print s }')
	if [ -s "$dir/$recorder.said" ]; then
		recorded=$(grep -oE '[0-9,]+ events' "$dir/$recorder.said" | tail -1 | tr -dc 0-9)
		discarded=$(grep -oE '[0-9,]+ discarded' "$dir/$recorder.said" | tail -1 | tr -dc 0-9)
		cpu=$(awk '{ print ($1 + $2) * 1000 }' "$dir/$recorder.cpu")
	else
		recorded=$(sed -n 's/^events=//p' "$dir/seconds") discarded=$(sed -n 's/^discarded=//p' "$dir/seconds")
		cpu=$(sed -n 's/^cpu_ms=//p' "$dir/seconds")
	fi
	echo "bench-kernel recorder=weft sets=$([ $recorder = all ] && echo default || echo $sets) ratio=$(median <"$dir/$recorder.ratio") events=$recorded bytes_per_event=$((bytes / (recorded ? recorded : 1))) discarded=$discarded recorder_cpu_ms=$cpu $about"
done
recorded=$(trace-cmd report -i "$dir/trace.dat" 2>/dev/null | grep -c ': ')
bytes=$(sed -n 's/^ *\([0-9]*\) bytes in size.*/\1/p' "$dir/trace-cmd" | awk '{ s += $1 } END { print s + 0 }')
lost=$(grep -oE '[0-9]+ events lost|overrun: *[0-9]+' "$dir/trace-cmd" | tr -dc '0-9\n' | awk '{ s += $1 } END { print s + 0 }')
echo "bench-kernel recorder=trace-cmd sets=$sets ratio=$(median <"$dir/trace_cmd.ratio") events=$recorded bytes_per_event=$((bytes / (recorded ? recorded : 1))) discarded=$lost $about"

#!/bin/bash
# SPDX-License-Identifier: MIT
# bench-read.sh - how fast a recording of the kernel is read as text: weft dump and babeltrace2 read the same one, perf
# script and trace-cmd report one of their own of the same work with the same tracepoints; in turns.
#
#	bench/bench-read.sh [-b BUILD] [-n ROUNDS] [-l LOOPS] [-s SETS]
#
#	-b BUILD    the build folder (.); -B OTHER: another build of weft reads weft's recording too
#	-n ROUNDS   times each reads (5)
#	-l LOOPS    of perf bench sched pipe, about 3 events each (100000)
#	-s SETS     what is recorded, of sched, irq, softirq, block, fault, syscall (sched,irq,softirq,block)
#
# A line per reader, medians over the rounds: events a second, ns an event, peak memory. Its output goes to /dev/null.
# Needs root and tracefs; a peer that is not installed is left out, and said so.
set -u
export LC_ALL=C
build=. other='' rounds=5 loops=100000 sets=sched,irq,softirq,block
while getopts b:B:n:l:s:h option; do
	case $option in
	b) build=$OPTARG ;;
	B) other=$(realpath "$OPTARG") ;;
	n) rounds=$OPTARG ;;
	l) loops=$OPTARG ;;
	s) sets=$OPTARG ;;
	*) sed -n '/^#	bench/,/^# A line/p' "$0" | sed '$d; s/^#//'; exit 2 ;;
	esac
done
. "$(dirname "$0")/recorders.sh"
prepare

# NAME: the command that reads, and whose recording.
command_of() {
	case $1 in
	weft-dump) command=("$build/weft" dump "$dir/out.weft") ;;
	weft-dump-json) command=("$build/weft" dump --json "$dir/out.weft") ;;
	other-dump) command=("$other/weft" dump "$dir/out.weft") ;;
	other-dump-json) command=("$other/weft" dump --json "$dir/out.weft") ;;
	babeltrace2) command=(babeltrace2 "$dir/out.weft") ;;
	babeltrace2-dummy) command=(babeltrace2 -o dummy "$dir/out.weft") ;;
	perf-script) command=(perf script -i "$dir/out.perf") ;;
	trace-cmd-report) command=(trace-cmd report -i "$dir/out.trace_cmd") ;;
	esac
	case $1 in
	perf*) recorder=perf ;;
	trace*) recorder=trace_cmd ;;
	*) recorder=weft ;;
	esac
}

readers="weft-dump weft-dump-json"
[ -n "$other" ] && readers="$readers other-dump other-dump-json"
recorders="weft perf"
if command -v babeltrace2 >/dev/null; then readers="$readers babeltrace2 babeltrace2-dummy"; else echo "bench-read: no babeltrace2 here"; fi
readers="$readers perf-script"
if command -v trace-cmd >/dev/null; then
	readers="$readers trace-cmd-report" recorders="$recorders trace_cmd"
else
	echo "bench-read: no trace-cmd here"
fi
for recorder in $recorders; do
	"record_$recorder" "$sets" perf bench -f simple sched pipe -l "$loops" >/dev/null || fail "$recorder did not record"
	told "$recorder" >"$dir/told.$recorder"
done
for round in $(seq "$rounds"); do
	order=$readers
	[ $((round % 2)) = 0 ] && order=$(echo "$readers" | tr ' ' '\n' | tac | tr '\n' ' ')
	for reader in $order; do
		command_of "$reader"
		"$run" "$dir/read.$reader" "${command[@]}" >/dev/null 2>"$dir/said.$reader" || fail "$reader: $(head -1 "$dir/said.$reader")"
	done
done
cpu_name=$(sed -n 's/^model name.*: //p' /proc/cpuinfo | head -1)
for reader in $readers; do
	command_of "$reader"
	read -r events _ bytes <"$dir/told.$recorder"
	for column in 1 2 3 4; do
		cut -d' ' -f$column "$dir/read.$reader" >"$dir/column"
		quantile 0.5 "$dir/column"
	done | tr '\n' ' ' | awk -v events="$events" -v bytes="$bytes" -v reader="$reader" -v rounds="$rounds" -v cpu="$cpu_name" -v sets="$sets" '{
		printf "bench-read reader=%s events_per_s=%.0f ns_per_event=%.0f cpu_ns_per_event=%.0f peak_mb=%.1f ", \
			reader, events / $1 * 1e6, $1 * 1000 / events, ($2 + $3) * 1000 / events, $4 / 1024
		printf "events=%d bytes=%d sets=%s rounds=%d cpu=\"%s\"\n", events, bytes, sets, rounds, cpu }'
done

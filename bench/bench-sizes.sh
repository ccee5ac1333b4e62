#!/bin/bash
# SPDX-License-Identifier: MIT
# bench-sizes.sh - how large buffers must be: what share of the events is discarded, by size, on an idle machine and on
# one where two busy loops a CPU compete with the reader. doc/COST.md tells the defaults that follow from it.
#
#	bench/bench-sizes.sh [-b BUILD] [-n ROUNDS]
#
# kernel: bridge-record alone, every 10 ms, of perf bench sched pipe with its system calls (needs root, tracefs, perf);
# ring: weft record --ring-size of a thread that makes 1 and 2 million markers a second, for a second.
set -u
export LC_ALL=C
build=. rounds=3
while getopts b:n:h option; do
	case $option in
	b) build=$OPTARG ;;
	n) rounds=$OPTARG ;;
	*) sed -n '/^#	bench/p' "$0" | sed 's/^#//'; exit 2 ;;
	esac
done
build=$(realpath "$build")
dir=$(mktemp -d "${TMPDIR:-/tmp}/weft-bench.XXXXXX")
hogs=()
stop_hogs() { for pid in "${hogs[@]}"; do kill "$pid"; wait "$pid" 2>/dev/null; done; hogs=(); }
trap 'stop_hogs; rm -rf "$dir"' EXIT
mkdir -m 700 "$dir/run"
export WEFT_RUNDIR=$dir/run WEFT_CONSUMERD=$build/weft-consumerd WEFT_LIBMARKER=$build/.libs/libmarker.so
set_load() {
	[ "$1" = idle ] && return
	for _ in $(seq $((2 * $(nproc)))); do
		while :; do :; done &
		hogs+=($!)
	done
}
median() { sort -g | awk '{ v[NR] = $1 } END { print v[int((NR + 1) / 2)] }'; }
# EVENTS DISCARDED: the share of the latter; nothing, and why, where a recording failed.
share() {
	if [ -z "$1" ] || [ -z "$2" ]; then
		tail -n 2 "$dir/said" "$dir/out" >&2
		return
	fi
	awk "BEGIN { printf \"%.3f\\n\", $2 ? 100 * $2 / ($1 + $2) : 0 }"
}

for load in idle busy; do
	set_load $load
	if [ "$(id -u)" != 0 ] || ! command -v perf >/dev/null || [ ! -d /sys/kernel/tracing/events ]; then
		echo "bench-sizes: no kernel events here: root, tracefs and perf are needed"
	else
		for kb in 512 1024 2048 4096 8192 16384; do
			for _ in $(seq "$rounds"); do
				"$build/tests/bridge-record" -k $kb -i 10 -s sched,irq,softirq,syscall -- \
					perf bench -f simple sched pipe -l 200000 >"$dir/out" 2>&1
				share "$(sed -n 's/^read=//p' "$dir/out")" "$(sed -n 's/^discarded=//p' "$dir/out")"
			done >"$dir/shares"
			echo "bench-sizes buffer=kernel load=$load kib_per_cpu=$kb discarded_percent=$(median <"$dir/shares")" \
				"worst=$(sort -g "$dir/shares" | tail -1) events=$(sed -n 's/^events=//p' "$dir/out") rounds=$rounds"
		done
	fi
	for rate in 1000000 2000000; do
		for size in 256K 1M 2M 4M 8M 16M; do
			for _ in $(seq "$rounds"); do
				rm -rf "$dir/trace"
				"$build/weft" record --kernel=none --ring-size=$size -o "$dir/trace" -- \
					"$build/bench/bench-consumer" $rate 1 >"$dir/out" 2>"$dir/said"
				share "$(grep -oE '[0-9,]+ events' "$dir/said" | tr -dc 0-9)" "$(grep -oE '[0-9,]+ discarded' "$dir/said" | tr -dc 0-9)"
			done >"$dir/shares"
			echo "bench-sizes buffer=ring load=$load rate=$rate ring_size=$size discarded_percent=$(median <"$dir/shares")" \
				"worst=$(sort -g "$dir/shares" | tail -1) rounds=$rounds"
		done
	done
	stop_hogs
done

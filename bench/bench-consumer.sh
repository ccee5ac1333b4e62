#!/bin/bash
# SPDX-License-Identifier: MIT
# What weft-consumerd costs: CPU time per marker, and the rate from which on markers are discarded.
#	bench/bench-consumer.sh [BUILD-FOLDER]
build=$(realpath "${1:-.}")
folder=$(mktemp -d)
trap 'kill $daemon 2>/dev/null; rm -rf "$folder"' EXIT
export WEFT_RUNDIR=$folder/run WEFT_CONSUMERD=$build/weft-consumerd WEFT_LIBMARKER=$build/.libs/libmarker.so
mkdir -m 700 "$WEFT_RUNDIR"
"$build/weft-consumerd" --foreground &
daemon=$!
until [ -S "$WEFT_RUNDIR/control.sock" ]; do sleep 0.01; done
tick_ms=$((1000 / $(getconf CLK_TCK)))

# cpu_ms: the daemon's CPU time so far.
cpu_ms() {
	awk -v tick=$tick_ms '{ print ($14 + $15) * tick }' "/proc/$daemon/stat"
}

for rate in 0 100000 1000000 2000000 4000000 8000000; do
	[ $rate = 0 ] && seconds=2 || seconds=3
	before=$(cpu_ms)
	[ $rate = 0 ] && command="sleep $seconds" || command="$build/bench/bench-consumer $rate $seconds"
	rm -rf "$folder/trace"
	made=$("$build/weft" record --kernel=none -o "$folder/trace" -- $command 2>"$folder/err")
	used=$(($(cpu_ms) - before))
	events=$(tail -n 1 "$folder/trace/weft/sidecar" | sed 's/.*"events":\([0-9]*\).*/\1/')
	discarded=$(tail -n 1 "$folder/trace/weft/sidecar" | sed 's/.*"discarded":\([0-9]*\).*/\1/')
	per=-
	[ "$events" -gt 1000 ] && per=$((used * 1000000 / events))
	echo "bench-consumer rate=$rate seconds=$seconds events=$events discarded=$discarded" \
		"cpu_ms=$used cpu_ns_per_event=$per ${made//$'\n'/ } load=$(cut -d' ' -f1 /proc/loadavg)"
done

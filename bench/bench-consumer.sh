#!/bin/bash
# SPDX-License-Identifier: MIT
# bench-consumer.sh - how many markers a second weft records without discarding one, of one thread, in a ring of 16 MiB:
# into memory, each with one u64, where CPUs are the limit, and to a disk, each with eight, where that is.
#
#	bench/bench-consumer.sh [-b BUILD] [-f FOLDER] [-t SECONDS] [-r "RATE..."] [-d] [-n ROUNDS] [-w] [-k]
#
# FOLDER (/dev/shm): where it records. RATES: events a second, ascending, each for 3 s; those below SECONDS (15) say how
# much CPU an event takes. Then the highest without a discarded event goes on for SECONDS; where it fails there, the next.
# dd writes as many bytes there, and lttng-ust does the same (of its own session daemon, 16 MiB a CPU); -w: without it.
# A virtual machine that gives free memory back to its host pays for each page again, 1 to 2 ns a byte here. -k: a file
# in FOLDER holds as much as will be recorded and shrinks as the recording grows, so that it costs what memory costs.
# -d: the disk of FOLDER instead. dd first, as long, then weft at the rate that makes 92 % of dd's bytes a second, but no more than
# the last RATE, for SECONDS (60), then dd of as many bytes, ROUNDS (1) times; both rates include fsync.
#
# A machine that others use says little. Where sessions share the CPUs (autogroup) this one may be raised above them:
#	setsid -w sh -c 'echo -20 >/proc/self/autogroup; exec bench/bench-consumer.sh'
set -u
export LC_ALL=C
build=. folder=/dev/shm seconds= is_disk= rounds=1 is_alone= is_kept=
rates="1e6 2e6 5e6 8e6 10e6 12e6 14e6 16e6 18e6 20e6 22e6 24e6 26e6 28e6 30e6"
while getopts b:f:t:r:n:dwkh option; do
	case $option in
	b) build=$OPTARG ;;
	f) folder=$OPTARG ;;
	t) seconds=$OPTARG ;;
	r) rates=$OPTARG ;;
	n) rounds=$OPTARG ;;
	d) is_disk=yes ;;
	w) is_alone=yes ;;
	k) is_kept=kept ;;
	*) sed -n '/^#	bench/p' "$0" | sed 's/^#//'; exit 2 ;;
	esac
done
[ -n "$seconds" ] || seconds=$([ -n "$is_disk" ] && echo 60 || echo 15)
build=$(realpath "$build")
dir=$(mktemp -d "${TMPDIR:-/tmp}/weft-bench.XXXXXX")
out=$(mktemp -d "$folder/weft-bench.XXXXXX") || exit 1
program=$build/bench/bench-consumer
words=$([ -n "$is_disk" ] && echo 8 || echo 1)
consumerd= sessiond=
finish() {
	if [ -n "$sessiond" ]; then
		lttng destroy bench >/dev/null 2>&1
		kill "$sessiond" && wait "$sessiond"
	fi 2>/dev/null
	if [ -n "$consumerd" ]; then kill "$consumerd" && wait "$consumerd"; fi 2>/dev/null
	rm -rf "$dir" "$out"
}
trap finish EXIT
trap 'exit 1' INT TERM

mkdir -m 700 "$dir/run" "$dir/lttng"
export WEFT_RUNDIR=$dir/run WEFT_CONSUMERD=$build/weft-consumerd WEFT_LIBMARKER=$build/.libs/libmarker.so
export LTTNG_HOME=$dir LTTNG_RUNDIR=$dir/lttng LTTNG_UST_REGISTER_TIMEOUT=3000

# wait_for COMMAND...: 10 s at most.
wait_for() {
	for _ in $(seq 100); do
		"$@" >/dev/null 2>&1 && return
		sleep 0.1
	done
	return 1
}
calculate() { awk "BEGIN { printf \"$1\", $2 }"; }
# The CPU time of a process and its threads so far, in ms.
cpu_ms() { awk -v hz="$(getconf CLK_TCK)" '{ print ($14 + $15) * 1000 / hz }' "/proc/$1/stat"; }
bytes_of() { find "$1" -type f -printf '%s\n' | awk '{ s += $1 } END { printf "%.0f", s }'; }
value_of() { sed -n "s/.*\b$1=\([0-9.]*\).*/\1/p" "$dir/said"; }
now() { date +%s.%N; }

"$build/weft-consumerd" --foreground 2>"$dir/consumerd" &
consumerd=$!
wait_for test -S "$WEFT_RUNDIR/control.sock" || exit 1

# RATE SECONDS: the program under each recorder, into $out/trace; events and discarded in these variables, "" where it failed.
record_weft() {
	"$build/weft" record --kernel=none --ring-size=16M -o "$out/trace" -- "$program" "$1" "$2" $words >"$dir/said" 2>"$dir/err"
	events=$(tail -n 1 "$out/trace/weft/sidecar" | sed -n 's/.*"events":\([0-9]*\).*/\1/p')
	discarded=$(tail -n 1 "$out/trace/weft/sidecar" | sed -n 's/.*"discarded":\([0-9]*\).*/\1/p')
}
record_lttng() {
	lttng create bench --output="$out/trace" && lttng enable-channel -u --num-subbuf=4 --subbuf-size=4M c &&
		lttng add-context -u -c c -t vpid -t vtid && lttng enable-event -u -c c 'weft_bench:*' && lttng start
	"$program" "$1" "$2" $words lttng >"$dir/said"
	lttng stop
	discarded=$(lttng list bench | sed -n 's/.*Discarded events: *\([0-9]*\).*/\1/p')
	events=$(($(value_of made) - ${discarded:-0}))
	lttng destroy bench
} >"$dir/err" 2>&1
# The process that takes the events out.
pid_weft() { echo "$consumerd"; }
pid_lttng() { pgrep -P "$sessiond" -f consumerd | head -1; }

# RATE SECONDS: the memory of such a recording, and then a tenth of a second of it at a time; ends with the file.
hold() {
	dd if=/dev/zero of="$out/held" bs=1M count="$(calculate %.0f "$1 * ($2 + 2) * 18 / 1048576")" 2>/dev/null
}
let_go() {
	local step
	step=$(calculate %.0f "$1 * 1.8")
	truncate -s "-$((5 * step))" "$out/held"
	while truncate -c -s "-$step" "$out/held" 2>/dev/null && [ -s "$out/held" ]; do sleep 0.1; done
}

# RECORDER RATE SECONDS: records, prints a line; sets bytes, discarded, per_second (of bytes, up to the end of fsync).
measure() {
	local before pid used begin
	rm -rf "$out/trace"
	sync -f "$out"
	pid=$("pid_$1")
	before=0
	[ -n "$pid" ] && before=$(cpu_ms "$pid")
	if [ -n "$is_kept" ]; then
		hold "$2" "$3"
		let_go "$2" &
	fi
	begin=$(now)
	"record_$1" "$2" "$3"
	rm -f "$out/held"
	find "$out/trace" -type f -exec sync {} +
	per_second=$(calculate %.0f "$(bytes_of "$out/trace") / ($(now) - $begin)")
	bytes=$(bytes_of "$out/trace")
	used=-
	pid=$("pid_$1")
	[ -n "$pid" ] && used=$(calculate %.1f "($(cpu_ms "$pid") - $before) * 1e6 / ${events:-1}")
	echo "bench-consumer recorder=$1 folder=$folder rate=$2 events=${events:-none} discarded=${discarded:-none}" \
		"events_per_second=$(calculate %.0f "${events:-0} / $(value_of seconds)")" \
		"bytes_per_event=$(calculate %.3f "$bytes / ${events:-1}") cpu_ns_per_event=$used" \
		"mb_per_second=$(calculate %.0f "$per_second / 1e6") $(cat "$dir/said") load=$(cut -d' ' -f1 /proc/loadavg)"
	rm -rf "$out/trace"
}
# BYTES: dd writes them; sets per_second.
measure_dd() {
	local begin
	sync -f "$out"
	begin=$(now)
	dd if=/dev/zero of="$out/dd" bs=1M count=$(($1 >> 20)) conv=fsync 2>/dev/null
	per_second=$(calculate %.0f "($1 / 1048576) * 1048576 / ($(now) - $begin)")
	rm "$out/dd"
	echo "bench-consumer dd folder=$folder bytes=$1 mb_per_second=$(calculate %.0f "$per_second / 1e6")" \
		"load=$(cut -d' ' -f1 /proc/loadavg)"
}

has_lttng() {
	if ! command -v lttng-sessiond >/dev/null; then
		echo "bench-consumer: lttng-ust skipped: lttng-tools is not installed"
	elif ! "$program" 0 0.001 1 lttng >/dev/null 2>&1; then
		echo "bench-consumer: lttng-ust skipped: built without it"
	elif [ -S /var/run/lttng/lttng-sessiond-9999 ]; then
		echo "bench-consumer: lttng-ust skipped: another session daemon runs"
	else
		return 0
	fi
	return 1
}
recorders=weft
if [ -z "$is_alone" ] && has_lttng; then
	lttng-sessiond --no-kernel --quiet >/dev/null 2>&1 &
	sessiond=$!
	wait_for lttng list && recorders="weft lttng"
fi

# RECORDER: each rate, then the highest one that lost nothing for the whole time.
find_highest() {
	local rate good=
	for rate in $rates; do
		measure "$1" "$rate" 3
		[ "${discarded:-1}" = 0 ] && good="$rate $good"
	done
	for rate in $good; do
		measure "$1" "$rate" "$seconds"
		[ "${discarded:-1}" = 0 ] && break
	done
}
run_disk() {
	local rate dd_before
	measure_dd $((4 << 30))
	# A few seconds tell of the page cache; as long as weft will write, of the disk.
	measure_dd "$(calculate %.0f "$per_second * $seconds")"
	for _ in $(seq "$rounds"); do
		for recorder in $recorders; do
			dd_before=$per_second
			# 76 bytes an event of weft; the same rate of events for its peer.
			rate=$(calculate %.0f "($dd_before * 0.92 / 76 < ${rates##* } ? $dd_before * 0.92 / 76 : ${rates##* })")
			measure "$recorder" "$rate" "$seconds"
			measure_dd "$bytes"
		done
	done
}

echo "bench-consumer cpus=$(nproc) model=\"$(sed -n 's/^model name.*: //p;T;q' /proc/cpuinfo)\" kernel=$(uname -r)" \
	"filesystem=$(stat -f -c %T "$out") seconds=$seconds words=$words memory=${is_kept:-fresh} session=\"$(cat /proc/self/autogroup 2>/dev/null)\""
if [ -n "$is_disk" ]; then
	run_disk
else
	for recorder in $recorders; do
		find_highest "$recorder"
		measure_dd "$bytes"
	done
fi

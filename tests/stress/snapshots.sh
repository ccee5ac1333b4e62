#!/bin/bash
# SPDX-License-Identifier: MIT
# snapshots.sh [-t SECONDS] [-i SECONDS] [-n THREADS] [-p PAUSE_US] [-S SPAN] [-f FOLDER] - a flight recorder for hours: does its memory stay?
#
# A program of THREADS (2) makes markers, without a pause or with one of PAUSE_US, for -t SECONDS (3600); it is recorded
# with --snapshot=SPAN (2s) and --snapshot=256M, and with kernel events where they may be had, into FOLDER (/dev/shm).
# Each -i SECONDS (10) a snapshot is taken, and must be readable. Prints a table, which gnuplot takes:
#
#	seconds  consumerd_kb  program_kb  kept_kb  events  discarded  snapshot_ms  snapshot_s
#
# and a verdict: of both, after the first quarter, in which every buffer has been as full as it gets, the median of the last
# third is no more than a twentieth and 4 MiB above that of the first.
# Exits 1 when that is not so, or a snapshot failed.
. "$(dirname "$0")/stress.sh"
seconds=3600 interval=10 threads=2 pause=0 span=2s folder=/dev/shm
while getopts t:i:n:p:S:f: option; do
	case $option in
	t) seconds=$OPTARG ;;
	i) interval=$OPTARG ;;
	n) threads=$OPTARG ;;
	p) pause=$OPTARG ;;
	S) span=$OPTARG ;;
	f) folder=$OPTARG ;;
	*) exit 2 ;;
	esac
done
numbers=$top_builddir/tests/system/record-numbers
kernel=default
has_tracefs || kernel=none
out=$(mktemp -d "$folder/weft-stress.XXXXXX") || exit 2
mkdir -m 700 -p "$stress_dir/run"
export WEFT_RUNDIR=$stress_dir/run
program=
end() {
	[ -z "$program" ] || kill "$program" 2>/dev/null
	"$WEFT" stop flight >/dev/null 2>&1
	rm -rf "$stress_dir" "$out"
}
trap end EXIT
trap 'exit 1' INT TERM
cd "$out" || exit 2

resident() { awk '/^VmRSS/ { print $2 }' "/proc/$1/status"; }

"$WEFT" record --detach --kernel=$kernel --snapshot="$span" --snapshot=256M -o flight -- \
	"$numbers" -t "$threads" -p "$pause" >"$stress_dir/out" 2>"$stress_dir/err" || { cat "$stress_dir/err"; exit 2; }
until_true 20 grep -q first "$stress_dir/out"
program=$(sed -n 's/^pid //p' "$stress_dir/out")
consumerd=$("$WEFT" status | sed -n 's/^weft-consumerd\[\([0-9]*\)\].*/\1/p')
failed=0
begin=$(now_ms)
echo "# threads=$threads pause_us=$pause span=$span kernel=$kernel cpus=$(nproc) folder=$(stat -f -c %T .)"
echo "# seconds consumerd_kb program_kb kept_kb events discarded snapshot_ms snapshot_s"
for ((next = interval; next <= seconds; next += interval)); do
	while [ $(($(now_ms) - begin)) -lt $((next * 1000)) ]; do sleep 0.05; done
	asked=$(now_ms)
	if "$WEFT" snapshot flight -o taken --json >"$stress_dir/said" 2>"$stress_dir/err" && "$WEFT" dump taken --to +0.01s >"$stress_dir/dumped"; then
		took=$(($(now_ms) - asked)) span_s=$(sed -n 's/.*"seconds":\([0-9.]*\).*/\1/p' "$stress_dir/said")
	else
		failed=$((failed + 1)) took=- span_s=-
		sed 's/^/# /' "$stress_dir/err"
	fi
	"$WEFT" status --json >"$stress_dir/status"
	echo "$next $(resident "$consumerd") $(resident "$program") $(du -sk flight 2>/dev/null | cut -f 1)" \
		"$(sed -n 's/.*"events":\([0-9]*\).*/\1/p' "$stress_dir/status")" \
		"$(sed -n 's/.*"discarded":\([0-9]*\).*/\1/p' "$stress_dir/status") $took $span_s" | tee -a "$stress_dir/table"
	rm -rf taken
done
awk -v failed=$failed '
	function median(column, from, to,    i, j, n, v, t) {
		for (i = from; i <= to; i++) v[++n] = value[i, column]
		for (i = 1; i <= n; i++) for (j = i + 1; j <= n; j++) if (v[j] < v[i]) { t = v[i]; v[i] = v[j]; v[j] = t }
		return v[int((n + 1) / 2)]
	}
	{ for (i = 1; i <= NF; i++) value[NR, i] = $i; for (i = 2; i <= 3; i++) if ($i > most[i]) most[i] = $i }
	END {
		warm = int(NR / 4)
		third = int((NR - warm + 2) / 3)
		bad = failed || !NR
		for (i = 2; i <= 3; i++) {
			first = median(i, warm + 1, warm + third); last = median(i, NR - third + 1, NR)
			if (last > first * 1.05 + 4096) bad = 1
			said = said sprintf(" %s_first_kb=%d %s_last_kb=%d %s_most_kb=%d", name(i), first, name(i), last, name(i), most[i])
		}
		printf "# snapshots=%d failed=%d%s %s\n", NR, failed, said, bad ? "NOT FLAT" : "flat"
		exit bad
	}
	function name(column) { return column == 2 ? "consumerd" : "program" }' "$stress_dir/table"

#!/bin/bash
# SPDX-License-Identifier: MIT
# bench-threads.sh - several threads at once with everything as it is by default: what each makes, what is discarded, and
# the most memory that weft-consumerd and the program have meanwhile.
#
#	bench/bench-threads.sh [-b BUILD] [-f FOLDER] [-n THREADS] [-r RATE] [-t SECONDS] [-w discard|block] [-- RECORD-OPTIONS]
#
# THREADS (4) make RATE (5e6) markers with one u64 a second, each, for SECONDS (10), recorded into FOLDER (/dev/shm).
# "-- --ring-size=16M" records with that; "-- --snapshot=256M" into memory that is used again, for a virtual machine may pay
# 1 to 2 ns a byte for what it touches first. The program's memory holds its rings, which weft-consumerd has mapped too.
set -u
export LC_ALL=C
build=. folder=/dev/shm threads=4 rate=5e6 seconds=10 when_full=discard
while getopts b:f:n:r:t:w:h option; do
	case $option in
	b) build=$OPTARG ;;
	f) folder=$OPTARG ;;
	n) threads=$OPTARG ;;
	r) rate=$OPTARG ;;
	t) seconds=$OPTARG ;;
	w) when_full=$OPTARG ;;
	*) sed -n '/^#	bench/p' "$0" | sed 's/^#//'; exit 2 ;;
	esac
done
shift $((OPTIND - 1))
build=$(realpath "$build")
dir=$(mktemp -d "${TMPDIR:-/tmp}/weft-bench.XXXXXX")
out=$(mktemp -d "$folder/weft-bench.XXXXXX") || exit 1
consumerd=
finish() {
	[ -z "$consumerd" ] || { kill "$consumerd" && wait "$consumerd"; } 2>/dev/null
	rm -rf "$dir" "$out"
}
trap finish EXIT
trap 'exit 1' INT TERM
mkdir -m 700 "$dir/run"
export WEFT_RUNDIR=$dir/run WEFT_CONSUMERD=$build/weft-consumerd WEFT_LIBMARKER=$build/.libs/libmarker.so
"$build/weft-consumerd" --foreground 2>"$dir/consumerd" &
consumerd=$!
for _ in $(seq 100); do
	[ -S "$WEFT_RUNDIR/control.sock" ] && break
	sleep 0.1
done

echo "bench-threads cpus=$(nproc) model=\"$(sed -n 's/^model name.*: //p;T;q' /proc/cpuinfo)\" kernel=$(uname -r)" \
	"filesystem=$(stat -f -c %T "$out") threads=$threads rate=$rate seconds=$seconds when_full=$when_full options=\"$*\"" \
	"load=$(cut -d' ' -f1 /proc/loadavg)"
"$build/weft" record --kernel=none --when-full="$when_full" "$@" -o "$out/trace" -- \
	"$build/bench/bench-threads" "$threads" "$rate" "$seconds" >"$dir/said" 2>"$dir/err" || cat "$dir/err"
sed -n 's/^thread=/bench-threads thread=/p' "$dir/said"
end=$(tail -n 1 "$dir/err" | tr -d ,) # "DIR: 81204113 events 60.0 s 2.1 GB 0 discarded ..."
value_of() { sed -n "s/.* \([0-9]*\) $1.*/\1/p" <<<"$end"; }
echo "bench-threads events=$(value_of events) discarded=$(value_of discarded)" \
	"made=$(awk '{ for (i = 1; i <= NF; i++) if (sub(/^made=/, "", $i)) sum += $i } END { printf "%.0f", sum }' "$dir/said")" \
	"consumerd_kb=$(awk '/^VmHWM/ { print $2 }' "/proc/$consumerd/status")" \
	"$(grep ^program_kb "$dir/said") load=$(cut -d' ' -f1 /proc/loadavg)"

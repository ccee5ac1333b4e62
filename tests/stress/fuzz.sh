#!/bin/bash
# SPDX-License-Identifier: MIT
# fuzz.sh - every fuzz target (tests/fuzz) for so many seconds of CPU time, one after the other, and a table of it.
#
#	tests/stress/fuzz.sh [SECONDS [TARGET...]]     default: 600 s, all targets
#	tests/stress/fuzz.sh table                     what all runs in $FUZZ_DIR come to
#	tests/stress/fuzz.sh merge [TARGET...]         what was found into tests/fuzz/corpus: the smallest inputs that reach it
#
# Builds with clang in $FUZZ_DIR (default: build-fuzz in the current folder), keeps what it found there, and goes on
# from there the next time: minutes and executions add up in $FUZZ_DIR/table over all runs, until that folder is
# removed. Runs with SCHED_IDLE: it takes what nobody else wants. A crash, leak, hang or undefined behaviour is kept in
# $FUZZ_DIR/crashes; the target is then left and the exit status is 1.
set -eu
source_dir=$(realpath "$(dirname "$0")/../..")
dir=$(realpath -m "${FUZZ_DIR:-build-fuzz}")
budget=${1:-600}
shift || true
all=$(sed -n 's/^\tX(\([a-z]*\)).*/\1/p' "$source_dir/tests/fuzz/fuzz.h")
targets=${*:-$all}
slice=30 # seconds of real time between two looks at the CPU time; what hangs is given more, for others come first

mkdir -p "$dir/build" "$dir/crashes" "$dir/total"
export TMPDIR=/dev/shm
[ -w "$TMPDIR" ] || TMPDIR=/tmp
export ASAN_OPTIONS=detect_leaks=1:allocator_may_return_null=1
export UBSAN_OPTIONS=print_stacktrace=1

build() {
	cd "$dir/build"
	[ -f Makefile ] || "$source_dir/configure" -q CC="${CC:-clang}" CXX="${CXX:-clang++}" --disable-shared \
		CFLAGS="-g -O1 -fno-omit-frame-pointer -fsanitize=fuzzer-no-link,address,undefined -fno-sanitize-recover=undefined"
	nice -n 19 make -s fuzz >"$dir/build.log" 2>&1 || { tail -n 20 "$dir/build.log" >&2; exit 2; }
}

# fuzz TARGET: one slice of it; prints the CPU time it took in ms. Fails when the target found something.
fuzz() {
	local corpus=$dir/corpus/$1 log=$dir/$1.log status=0 user system
	mkdir -p "$corpus"
	TIMEFORMAT='%U %S'
	{ time chrt -i 0 nice -n 19 "$dir/build/tests/fuzz/fuzz-$1" -max_total_time="$slice" -timeout=100 -report_slow_units=100 -rss_limit_mb=2048 \
		-malloc_limit_mb=1024 -print_final_stats=1 -artifact_prefix="$dir/crashes/$1-" \
		"$corpus" "$source_dir/tests/fuzz/corpus/$1" >"$log" 2>&1; } 2>"$dir/$1.time" || status=$?
	read -r user system <"$dir/$1.time"
	awk "BEGIN { printf \"%d\n\", ($user + $system) * 1000 }"
	return $status
}

# add TARGET MS EXECUTIONS FEATURES CRASHES: to what earlier runs came to.
add() {
	local ms=0 runs=0 crashes=0 skip
	[ ! -f "$dir/total/$1" ] || read -r ms runs skip crashes <"$dir/total/$1"
	echo "$((ms + $2)) $((runs + $3)) $4 $((crashes + $5))" >"$dir/total/$1.new"
	mv "$dir/total/$1.new" "$dir/total/$1"
}

table() {
	local target
	printf '%-14s %8s %12s %9s %8s\n' target CPU-min executions features crashes
	for target in $all; do
		[ ! -f "$dir/total/$target" ] ||
			awk -v target="$target" '{ printf "%-14s %8.1f %12d %9d %8d\n", target, $1 / 60000, $2, $3, $4 }' "$dir/total/$target"
	done
}

# until the CPU time is spent; every slice counts, also where the whole is broken off.
campaign() {
	local cpu=0 crashes=0 took runs features
	while [ $((cpu / 1000)) -lt "$budget" ] && [ $crashes = 0 ]; do
		took=$(fuzz "$1") || crashes=1
		cpu=$((cpu + took))
		runs=$(sed -n 's/^stat::number_of_executed_units: *//p' "$dir/$1.log")
		features=$(sed -n 's/.* ft: \([0-9]*\) .*/\1/p' "$dir/$1.log" | tail -n 1)
		add "$1" "$took" "${runs:-0}" "${features:-0}" $crashes
	done
	table >"$dir/table.new"
	mv "$dir/table.new" "$dir/table"
	grep "^$1 " "$dir/table"
	return $crashes
}

merge() {
	mkdir -p "$dir/corpus/$1" "$dir/merged/$1"
	rm -f "$dir/merged/$1"/*
	"$dir/build/tests/fuzz/fuzz-$1" -merge=1 -max_len=4096 "$dir/merged/$1" "$source_dir/tests/fuzz/corpus/$1" \
		"$dir/corpus/$1" >"$dir/$1.merge.log" 2>&1
	echo "$1: $(find "$dir/merged/$1" -type f | wc -l) inputs, $(du -sb "$dir/merged/$1" | cut -f1) bytes in $dir/merged/$1"
}

if [ "$budget" = table ]; then
	table
	exit
fi
build
if [ "$budget" = merge ]; then
	for target in $targets; do merge "$target"; done
	exit
fi
failed=0
printf '%-14s %8s %12s %9s %8s\n' target CPU-min executions features crashes
for target in $targets; do
	campaign "$target" || failed=1
done
[ $failed = 0 ] || ls "$dir/crashes"
exit $failed

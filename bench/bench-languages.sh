#!/bin/bash
# SPDX-License-Identifier: MIT
# bench-languages.sh [-n ROUNDS] - what a marker of Python and of a shell script costs: while nobody records, and
# recorded. One line for each, of the fastest round: ns a call, less the empty loop (Python); us a process, beside
# /bin/true and 'weft --version' in the same rounds (scripts).
set -eu
cd "$(dirname "$0")"
build=${top_builddir:-../build} rounds=5
[ "${1:-}" != -n ] || rounds=$2
build=$(realpath "$build")
dir=$(mktemp -d)
export WEFT_RUNDIR=$dir/run PYTHONPATH=$PWD/../python PYTHONDONTWRITEBYTECODE=1
export WEFT_LIBMARKER=$build/.libs/libmarker.so
mkdir -m 700 "$WEFT_RUNDIR"
trap 'rm -rf "$dir"' EXIT

cat >"$dir/bench.py" <<'END'
import sys, time, weft_marker
player = weft_marker.Provider("bench")
CALLS, ROUNDS = 100000, int(sys.argv[2])

def nothing(n): pass
def mark(n): player.mark("number", n=n)
def mark_text(n): player.mark("text", n=n, name="sixteen letters.")
def counter(n): player.counter("depth", n)
def scope(n):
    with player.scope("scope", n=n): pass
@player.traced
def traced(): pass
def traced_call(n): traced()
def clock(n): time.monotonic_ns()

def once(function):
    begin = time.perf_counter_ns()
    for n in range(CALLS):
        function(n)
    return (time.perf_counter_ns() - begin) / CALLS

def best(function):
    times = []
    for _ in range(ROUNDS):
        times.append(once(function))
        time.sleep(0.05)  # the ring is drained
    return min(times)

empty = best(nothing)
for function in (clock, mark, mark_text, counter, scope, traced_call):
    print("bench-languages language=python state=%s call=%s ns=%.0f" % (sys.argv[1], function.__name__, best(function) - empty))
END

# per_process COMMAND...: us, the fastest of ROUNDS times 100
per_process() {
	local best=0 begin us round
	for round in $(seq "$rounds"); do
		begin=${EPOCHREALTIME/./}
		for _ in {1..100}; do "$@"; done
		us=$(((${EPOCHREALTIME/./} - begin) / 100))
		[ $best != 0 ] && [ $us -ge $best ] || best=$us
	done >/dev/null
	echo $best
}

cpu=$(sed -n 's/^model name.*: //p' /proc/cpuinfo | head -n 1)
echo "bench-languages cpu=\"$cpu\" rounds=$rounds load=$(cut -d' ' -f1 /proc/loadavg)"
python3 "$dir/bench.py" off "$rounds"
echo "bench-languages language=sh state=off command=true us=$(per_process /bin/true)"
echo "bench-languages language=sh state=off command='weft --version' us=$(per_process "$build/weft" --version)"
echo "bench-languages language=sh state=off command='weft mark' us=$(per_process "$build/weft" mark bench:number n=1)"
"$build/weft" record --kernel=none --ring-size=16M -o "$dir/python" -- python3 "$dir/bench.py" recorded "$rounds" 2>"$dir/err"
echo "bench-languages discarded=$(grep -o '[0-9,]* discarded' "$dir/err")"
"$build/weft" record --kernel=none --detach -o "$dir/sh" 2>/dev/null
echo "bench-languages language=sh state=recorded command='weft mark' us=$(per_process "$build/weft" mark bench:number n=1)"
echo "bench-languages language=sh state=recorded command='weft mark --' us=$(per_process "$build/weft" mark bench:true -- /bin/true)"
"$build/weft" stop "$dir/sh" 2>/dev/null

#!/bin/bash
# SPDX-License-Identifier: MIT
# bench-marker.sh - runs bench-marker with lttng-ust recording beside it, when that is installed.
#
#	bench/bench-marker.sh [PATH-OF-BENCH-MARKER] [OPTIONS]
#
# The session daemon, its sockets and its trace live in a folder of their own and end with the run.
set -u
program=${1:-./bench/bench-marker}
shift
dir=$(mktemp -d "${TMPDIR:-/tmp}/weft-bench.XXXXXX")
export WEFT_RUNDIR=$dir/weft
daemon=
finish() {
	if [ -n "$daemon" ]; then
		lttng destroy bench >/dev/null 2>&1
		kill "$daemon" 2>/dev/null
		wait "$daemon" 2>/dev/null
	fi
	rm -rf "$dir"
}
trap finish EXIT

# As root the daemons use /var/run/lttng for everybody: then the peer runs as nobody's guest there.
export LTTNG_HOME=$dir LTTNG_UST_REGISTER_TIMEOUT=3000 LTTNG_RUNDIR=$dir/lttng
mkdir -p -m 700 "$dir/weft" "$dir/lttng"
if command -v lttng-sessiond >/dev/null; then
	if [ -S /var/run/lttng/lttng-sessiond-9999 ]; then
		echo "# lttng-ust: another session daemon runs; its figures below are of a tracepoint nobody records"
	else
		lttng-sessiond --no-kernel --quiet >/dev/null 2>&1 &
		daemon=$!
		for _ in $(seq 100); do
			lttng list >/dev/null 2>&1 && break
			read -r -t 0.1 <> <(:)
		done
		lttng create bench --output="$dir/trace" >/dev/null &&
			lttng enable-channel -u --num-subbuf=16 --subbuf-size=4M c >/dev/null &&
			lttng enable-event -u -c c 'weft_bench:*' >/dev/null &&
			lttng start >/dev/null || echo "# lttng-ust: no session; its figures below are of a tracepoint nobody records"
	fi
else
	echo "# lttng-ust: lttng-tools is not installed"
fi
"$program" "$@"
status=$?
if [ -n "$daemon" ]; then
	lttng stop >/dev/null 2>&1
	lttng list bench 2>/dev/null | grep -iE 'discarded|lost' | sed 's/^ */# lttng-ust: /'
fi
exit $status

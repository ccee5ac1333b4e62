#!/bin/bash
# SPDX-License-Identifier: MIT
# verify-order.sh [SECONDS] - records a loaded machine, and checks the order of all that was recorded.
#
# Run it in the build directory, or name it in $top_builddir. The load (tests/system/order-load.c) emits
# markers in bursts and around system calls, wakes, and reads the disk; its own count of markers stands
# beside what was checked. The trace is removed afterwards, unless $KEEP names a folder for it.
set -eu
build=$(realpath "${top_builddir:-.}")
seconds=${1:-60}
weft=$build/weft
dir=$(mktemp -d "${TMPDIR:-/tmp}/weft-order.XXXXXX")
trap 'rm -rf "$dir"' EXIT

"$weft" record -o "$dir/trace" -- "$build/tests/system/order-load" --seconds "$seconds" \
	--scratch "$dir" | tee "$dir/load"
grep '^{' "$dir/load" | jq -r '"emitted: \(.markers) markers, \(.around_calls) of them directly around system calls; \(.reads) disk reads"'
status=0
begun=$(date +%s)
"$weft" verify-order "$dir/trace" || status=$?
"$weft" verify-order "$dir/trace" --json >"$dir/json" || true
jq -r '"checks \(.checks), violations \(.violations)", (.margin_ns | to_entries[] | "  smallest margin \(.key): \(.value) ns")' "$dir/json"
echo "trace: $(du -sh "$dir/trace" | cut -f1); verified twice in $(($(date +%s) - begun)) s"
[ -z "${KEEP:-}" ] || mv "$dir/trace" "$KEEP"
exit $status

#!/bin/bash
# SPDX-License-Identifier: MIT
# scripts/demo runs from end to end, and exits 0 only because what it planted was named.
. "${top_srcdir:-.}/tests/tap.sh"
export WEFT_RUNDIR=$tap_dir/run WEFT_BUILD=$top_builddir
mkdir -m 700 "$WEFT_RUNDIR"

[ -x "$WEFT_BUILD/player" ] || skip_all "the player was not built: ffmpeg's libraries are missing"
command -v ffmpeg >/dev/null || skip_all "ffmpeg is not installed"
command -v jq >/dev/null || skip_all "jq is not installed"

# On the disk of the build folder: in memory no frame can be starved by reads.
WEFT_DEMO=$(mktemp -d "$WEFT_BUILD/demo.XXXXXX")
export WEFT_DEMO
trap 'rm -rf "$tap_dir" "$WEFT_DEMO"' EXIT

status=0
"$top_srcdir/scripts/demo" >"$tap_dir/demo" 2>&1 || status=$?
sed 's/^/# /' "$tap_dir/demo"
is "the demo ends with success" $status 0
if grep -q '^demo: kernel events are missing' "$tap_dir/demo"; then
	ok "without kernel events the markers are counted" grep -q 'was recorded 300 times' "$tap_dir/demo"
	skip "every planted cause is named" "kernel events are missing: not root, or no tracefs"
else
	is "no cause is named wrongly" "$(grep 'WRONG$' "$tap_dir/demo")" ""
	is "the lock and the starved queue are named, three times each" \
		"$(grep -E '^(lock|starve) .*ok$' "$tap_dir/demo" | awk '{n[$1]++} END {print (n["lock"] >= 3) (n["starve"] >= 3)}')" 11
fi
done_testing

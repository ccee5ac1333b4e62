#!/bin/bash
# SPDX-License-Identifier: MIT
# Single planted causes, and chains of two, are named as the program that planted them tells.
. "${top_srcdir:-.}/tests/tap.sh"
export WEFT_RUNDIR=$tap_dir/run
mkdir -m 700 "$WEFT_RUNDIR"

command -v jq >/dev/null || skip_all "jq is not installed"
[ "$(id -u)" = 0 ] || skip_all "only root may trace the kernel and run at SCHED_FIFO"
[ -e /sys/kernel/tracing/instances ] || skip_all "no tracefs: mount it on /sys/kernel/tracing"

# The scratch file has to be on a disk: the build folder is more likely to be than /tmp.
scratch=$(mktemp -d "$top_builddir/causes.XXXXXX")
trap 'rm -rf "$tap_dir" "$scratch"' EXIT

status=0
"$WEFT" record -o "$tap_dir/trace" -- "$top_builddir/tests/system/plant" \
	--scratch "$scratch" --truth "$tap_dir/truth" >"$tap_dir/record" 2>&1 || status=$?
sed 's/^/# /' "$tap_dir/record"
[ $status != 77 ] || skip_all "$(grep '^plant:' "$tap_dir/record")"
is "the planting program ends well under the recorder" $status 0

"$WEFT" why "$tap_dir/trace" --marker plant:frame --all --json >"$tap_dir/why" ||
	echo "# weft why failed"
is "every frame is explained, once" "$(jq -s 'length' "$tap_dir/why")" \
	"$(("$(wc -l <"$tap_dir/truth")" * 4))"
is "the segments of each frame add up to its duration" \
	"$(jq -c 'select(([.segments[] | .end_ns - .begin_ns] | add) != .duration_ns) | .instance' "$tap_dir/why")" ""
is "the segments of each frame leave no gap" \
	"$(jq -c 'select([.segments[].begin_ns] != [.begin_ns] + [.segments[:-1][].end_ns]) | .instance' "$tap_dir/why")" ""

jq -r -n --slurpfile truth "$tap_dir/truth" --slurpfile why "$tap_dir/why" \
	-f "$top_srcdir/tests/system/judge-causes.jq" >"$tap_dir/judged"
is "every kind of plant was judged or said to be disturbed" "$(grep -vc '^#' "$tap_dir/judged")" \
	"$(jq -r .kind "$tap_dir/truth" | sort -u | wc -l)"
while read -r kind planted judged named; do
	if [ "$kind" = "#" ]; then
		echo "# $planted $judged $named"
		continue
	fi
	[ "$planted" = "$judged" ] ||
		echo "# $kind: $((planted - judged)) of $planted not judged: foreign threads took over a tenth"
	if [ "$judged" = 0 ]; then
		skip "$kind is named with its culprit" "all $planted were disturbed by foreign threads"
	else
		is "$kind is named with its culprit, each time" "$named of $judged" "$judged of $judged"
	fi
done <"$tap_dir/judged"
done_testing

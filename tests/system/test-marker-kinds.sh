#!/bin/bash
# SPDX-License-Identifier: MIT
# Asynchronous spans, counters, frames and global flows: on a scripted history, whose figures are
# worked out here by hand, and from the header through a recording to every reader.
. "${top_srcdir:-.}/tests/tap.sh"
command -v jq >/dev/null || skip_all "jq is not installed"
export WEFT_RUNDIR=$tap_dir/run

"$top_builddir/tests/script-to-trace" "$top_srcdir/tests/data/kinds.script" "$tap_dir/kinds" || echo "# no trace"
"$WEFT" report "$tap_dir/kinds" markers --json >"$tap_dir/json"
row() { jq -c "select(.report == \"$1\" and ($2)) | [$3]" "$tap_dir/json"; }
why() { "$WEFT" why "$tap_dir/kinds" --marker "$1" --json "${@:3}" | jq -c "[$2]"; }

is "spans are paired by process, name and id, whatever thread ends them" \
	"$(row markers '.marker == "demo:load"' '.kind,.count,.min_ns,.max_ns,.interval_max_ns,.unfinished')" \
	'["async",4,1000000,6000000,null,1]'
is "a counter has its range, its mean over time and its last value" \
	"$(row counters '.counter == "demo:depth"' '.count,.min,.mean,.max,.last')" '[3,-3,-1,9,9]'
is "it may be a fraction" "$(row counters '.counter == "demo:share"' '.min,.mean,.last')" '[0.25,0.25,0.25]'
is "frames have intervals" \
	"$(row markers '.marker == "demo:video"' '.kind,.count,.interval_median_ns,.interval_max_ns')" \
	'["frame",4,16000000,40000000]'
is "the longest span is named, with the fields of both its ends" \
	"$(why demo:load '.instance,.duration_ns,.thread.tid,.fields.id,.fields.size,.fields.ret' --worst 2)" \
	'[2,6000000,201,1,99,7]
[1,4000000,102,1,10,-5]'
is "the longest frame is that which came late" \
	"$(why demo:video '.fields.frame,.duration_ns' --worst 1)" '[4,40000000]'
is "as text: what it ended with" \
	"$("$WEFT" why "$tap_dir/kinds" --marker demo:load --nth 1 | grep -E '^(fields|end):')" \
	"fields: id=1 size=10
end: id=1 ret=-5"
"$WEFT" report "$tap_dir/kinds" markers >"$tap_dir/text"
is "counters have a table of their own" \
	"$(sed -n '/^Counters/,$p' "$tap_dir/text" | tr -s ' ' | cut -d' ' -f1,2,4-)" \
	"Counters:
counter count s min mean max last
demo:depth 3 -3 -1 9 9
demo:share 1 0.25 0.25 0.25 0.25"

# ---- from the header to the readers
cat >"$tap_dir/kinds.c" <<'END'
#include <marker/marker.h>
#include <pthread.h>
static void *load(void *arg)
{
	(void)arg;
	MARKER_ASYNC_END(kinds, load, 7, MARKER_FIELD(ret, -5));
	return 0;
}
int main(void)
{
	pthread_t thread;
	MARKER_ASYNC_BEGIN(kinds, load, 7);
	pthread_create(&thread, 0, load, 0);
	pthread_join(thread, 0);
	for (int i = 3; i >= -1; i--)
		MARKER_COUNTER(kinds, depth, i);
	MARKER_FRAME(kinds, video, 1);
	MARKER_FRAME(kinds, video, 2);
	MARKER(kinds, request, MARKER_FLOW_GLOBAL(x11, 5, 9));
	return 0;
}
END
recorded() {
	${CC:-cc} -I "$top_srcdir/libmarker/include" -pthread -o "$tap_dir/a.out" "$tap_dir/kinds.c" &&
		"$WEFT" record --kernel=none -o "$tap_dir/trace" -m 'kinds:*' -- "$tap_dir/a.out"
}
ok "a program's spans, counters and frames are recorded" recorded
is "weft dump has them by name" \
	"$("$WEFT" dump "$tap_dir/trace" --json | jq -r '.name + " " + (.fields | tostring)' | tr -d '"')" \
	"kinds:load:async_begin {id:7}
kinds:load:async_end {id:7,ret:-5}
kinds:depth {value:3}
kinds:depth {value:2}
kinds:depth {value:1}
kinds:depth {value:0}
kinds:depth {value:-1}
kinds:video {frame:1}
kinds:video {frame:2}
kinds:request {x11:5,x11_2:9}"
is "and the metadata has their kinds and roles" \
	"$(grep -ho 'weft:[a-z_?=0-9&:]*' "$tap_dir/trace/user/metadata" | sort -u)" \
	"weft:async_begin?id=0
weft:async_end?id=0
weft:counter
weft:frame
weft:instant?flow_global=0&flow_global=1&name=1:x11"
is "the reports know them" \
	"$("$WEFT" report "$tap_dir/trace" markers --json | jq -c '[.marker // .counter, .kind, .count, .last]' | tr '\n' ' ')" \
	'["kinds:load","async",1,null] ["kinds:video","frame",2,null] ["kinds:request","instant",1,null] ["kinds:depth",null,5,-1] '
if command -v babeltrace2 >/dev/null; then
	is "babeltrace2 reads the same number of events" "$(babeltrace2 "$tap_dir/trace" | wc -l)" 10
else
	skip "babeltrace2 reads the same number of events" "no babeltrace2"
fi
done_testing

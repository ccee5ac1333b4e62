#!/bin/bash
# SPDX-License-Identifier: MIT
# Asynchronous spans, counters, frames, global flows and messages: on a scripted history, whose figures are
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
	MARKER(kinds, raw, MARKER_FIELD(head, MARKER_BYTES("\1\0\377", 3)));
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
kinds:request {x11:5,x11_2:9}
kinds:raw {head:0100ff}"
is "and the metadata has their kinds and roles" \
	"$(grep -ho 'weft:[a-z_?=0-9&:]*' "$tap_dir/trace/user/metadata" | sort -u)" \
	"weft:async_begin?id=0
weft:async_end?id=0
weft:counter
weft:frame
weft:instant
weft:instant?flow_global=0&flow_global=1&name=1:x11"
is "the reports know them" \
	"$("$WEFT" report "$tap_dir/trace" markers --json | jq -c '[.marker // .counter, .kind, .count, .last]' | tr '\n' ' ')" \
	'["kinds:load","async",1,null] ["kinds:video","frame",2,null] ["kinds:request","instant",1,null] ["kinds:raw","instant",1,null] ["kinds:depth",null,5,-1] '
if command -v babeltrace2 >/dev/null; then
	is "babeltrace2 reads the same number of events" "$(babeltrace2 "$tap_dir/trace" | wc -l)" 11
	ok "and bytes" sh -c 'babeltrace2 "$1" | grep -q "kinds:raw.*\[0\] = 0x1, \[1\] = 0x0, \[2\] = 0xFF"' - "$tap_dir/trace"
else
	skip "babeltrace2 reads the same number of events" "no babeltrace2"
	skip "and bytes" "no babeltrace2"
fi

# ---- messages
cat >"$tap_dir/log.c" <<'END'
#include <marker/marker.h>
#include <inttypes.h>
#include <string.h>
int main(void)
{
	uint64_t bytes = 1ULL << 40;
	const char *name = "clip.mp4";
	char unended[4] = {'a', 'b', 'c', 'd'};
	MARKER_LOG(player, "%d of %s: %.1f%%\n", 3, name, 37.5);
	MARKER_LOG(player, "wrote %" PRIu64 " bytes, \"%s\"", bytes, (char *)0);
	MARKER_LOG_AT(MARKER_LEVEL_DEBUG, player, "only for who debugs");
	MARKER_LOG(player, "%.4s", unended);
	MARKER_LOG(audio, "%x", 255);
	return 0;
}
END
logged() {
	${CC:-cc} -Wall -Werror -I "$top_srcdir/libmarker/include" -o "$tap_dir/log" "$tap_dir/log.c" &&
		"$WEFT" record --kernel=none -o "$tap_dir/logged" "$@" -- "$tap_dir/log"
}
ok "a program's messages are recorded" logged -m 'player:*'
is "they are formatted when they are read" \
	"$("$WEFT" dump "$tap_dir/logged" | grep -o 'player:log.*' | tr -s ' ')" \
	'player:log "3 of clip.mp4: 37.5%\u000a"
player:log "wrote 1099511627776 bytes, \"(null)\""
player:log "only for who debugs"'
is "in JSON with their arguments, each with its type and name" \
	"$("$WEFT" dump "$tap_dir/logged" --json | jq -c '[.message, .fields]')" \
	'["3 of clip.mp4: 37.5%\n",{"arg0":3,"name":"clip.mp4","arg2":37.5}]
["wrote 1099511627776 bytes, \"(null)\"",{"bytes":1099511627776,"arg1":"(null)"}]
["only for who debugs",{}]'
is "weft why shows them" "$("$WEFT" why "$tap_dir/logged" --marker player:log --nth 2 | grep ^fields)" \
	'fields: "wrote 1099511627776 bytes, "(null)""'
is "weft list has their formats" "$("$WEFT" list "$tap_dir/log" 2>/dev/null)" \
	'player:log  log  arg0:s32, name:string, arg2:f64  "%d of %s: %.1f%%\u000a"
player:log  log  bytes:u64, arg1:string  "wrote %lu bytes, \"%s\""
player:log  log  "only for who debugs"
audio:log  log  arg0:s32  "%x"'
is "one that limits a string is refused, for that may have no end, and weft list counts it" \
	"$("$WEFT" list "$tap_dir/log" 2>&1 >/dev/null | grep -o '1 marker.*')" "1 markers have notes that make no sense"
rm -rf "$tap_dir/logged"
ok "they have levels" logged --level=info
is "which are selected as any other's" \
	"$("$WEFT" dump "$tap_dir/logged" --json | jq -r .message | grep -c debugs)" 0
if command -v babeltrace2 >/dev/null; then
	is "babeltrace2 reads their arguments" \
		"$(babeltrace2 "$tap_dir/logged" | grep -o 'player:log.*arg2.*' | grep -o '{ arg0.*')" \
		'{ arg0 = 3, name = "clip.mp4", arg2 = 37.5 }'
else
	skip "babeltrace2 reads their arguments" "no babeltrace2"
fi
refused_by_the_compiler() {
	! echo "$2" | "$1" -Wall -Werror -I "$top_srcdir/libmarker/include" -include marker/marker.h -x "$3" -fsyntax-only - 
}
ok "the compiler checks the format" refused_by_the_compiler gcc 'int main(void) { MARKER_LOG(a, "%s", 1); }' c
ok "in C++ too" refused_by_the_compiler g++ 'int main(void) { MARKER_LOG(a, "%s", 1); }' c++
ok "and that it is a literal" refused_by_the_compiler gcc 'int main(int n, char **v) { MARKER_LOG(a, v[n]); }' c
done_testing

#!/bin/bash
# SPDX-License-Identifier: MIT
# Flows: what belongs together across threads and across processes, on a scripted history whose figures are worked out
# by hand, and from two programs through a recording.
. "${top_srcdir:-.}/tests/tap.sh"
command -v jq >/dev/null || skip_all "jq is not installed"
export WEFT_RUNDIR=$tap_dir/run

"$top_builddir/tests/script-to-trace" "$top_srcdir/tests/data/flows.script" "$tap_dir/flows" || echo "# no trace"
"$WEFT" report "$tap_dir/flows" flows --json >"$tap_dir/json"
row() { jq -c "select(.report == \"$1\" and ($2)) | [$3]" "$tap_dir/json"; }
is "a flow has keys, events, threads, and times from first to last; another process's key is another" \
	"$(row flows '.flow == "packet"' '.scope,.keys,.events,.max_threads,.max_processes,.min_ns,.median_ns,.max_ns')" \
	'["threads",3,6,2,1,0,9000000,13000000]'
is "one that joins processes takes until the other's scope has ended" \
	"$(row flows '.flow == "x11"' '.scope,.keys,.events,.max_threads,.max_processes,.max_ns')" \
	'["processes",1,2,2,2,5000000]'
is "hops are from the end of one to the begin of the next" \
	"$(row hops 'true' '.flow,.from,.to,.count,.min_ns,.max_ns')" \
	'["packet","demo:read","demo:decode",2,2000000,2000000]
["packet","demo:decode","demo:shown",1,4000000,4000000]
["x11","demo:sent","demo:handle",1,2000000,2000000]
["job","demo:upload","demo:upload",1,0,0]'
is "as text" "$("$WEFT" report "$tap_dir/flows" flows | tr -s ' ' | grep -E '^(x11|packet)')" \
	"packet threads 3 6 2 1 0.000 9.000 13.000 13.000
x11 processes 1 2 2 2 5.000 5.000 5.000 5.000
packet demo:read demo:decode 2 2.000 2.000 2.000 2.000
packet demo:decode demo:shown 1 4.000 4.000 4.000 4.000
x11 demo:sent demo:handle 1 2.000 2.000 2.000 2.000"
is "weft why shows where an instance came from and where it went" \
	"$("$WEFT" why "$tap_dir/flows" --marker demo:decode --nth 1 | sed -n '/^flow/,/^typical/p' | grep -v typical | tr -s ' ')" \
	"flow: packet=1
 -4.000 demo:read reader[101]
 +5.000 demo:shown decoder[102]"
is "in JSON with all of them" \
	"$("$WEFT" why "$tap_dir/flows" --marker demo:handle --nth 1 --json | jq -c '.flows[] | [.flow, .global, .base, .key, (.events[] | .marker, .pid, .begin_ns, .end_ns)]')" \
	'["x11",true,0,9,"demo:sent",100,20000000,20000000,"demo:handle",300,22000000,25000000]'
is "a span with such an id ends in whatever process" \
	"$("$WEFT" why "$tap_dir/flows" --marker demo:upload --json | jq -c '[.duration_ns, .fields.ret, .thread.pid]')" \
	'[3000000,7,300]'
is "and one of another id stays open" \
	"$("$WEFT" report "$tap_dir/flows" markers --json | jq -c 'select(.marker == "demo:upload") | [.count, .unfinished]')" '[1,1]'
names() { "$WEFT" dump "$tap_dir/flows" --json --flow "$1" | jq -r '.name + "@" + (.pid | tostring)' | xargs; }
is "weft dump --flow has the events of a flow" "$(names x11)" "demo:sent@100 demo:handle:begin@300"
is "of one key" "$(names packet=2)" "demo:read:begin@100 demo:decode:begin@100"
"$WEFT" dump "$tap_dir/flows" --flow =3 >"$tap_dir/out" 2>&1
is "what is no flow is refused" "$? $(grep -c 'takes NAME' "$tap_dir/out")" "2 1"

# ---- a client and a server, which know each other by a pipe
cat >"$tap_dir/client.c" <<'END'
#include <marker/marker.h>
#include <unistd.h>
int main(void)
{
	unsigned window = 0x5000;
	for (unsigned char number = 1; number <= 3; number++) {
		MARKER(client, request, MARKER_FLOW_GLOBAL(x11, window, number), MARKER_FIELD(what, "draw"));
		MARKER_ASYNC_BEGIN(x, round, MARKER_FLOW_GLOBAL(request, window, number));
		if (write(1, &number, 1) != 1)
			return 1;
	}
	return 0;
}
END
cat >"$tap_dir/server.c" <<'END'
#include <marker/marker.h>
#include <unistd.h>
int main(void)
{
	unsigned char number;
	while (read(0, &number, 1) == 1) {
		MARKER_SCOPE(server, handle, MARKER_FLOW_GLOBAL(x11, 0x5000L, (long)number));
		MARKER_ASYNC_END(x, round, MARKER_FLOW_GLOBAL(request, 0x5000, number), MARKER_FIELD(ret, 0));
	}
	return 0;
}
END
recorded() {
	for program in client server; do
		${CC:-cc} -I "$top_srcdir/libmarker/include" -o "$tap_dir/$program" "$tap_dir/$program.c" || return 1
	done
	"$WEFT" record --kernel=none -o "$tap_dir/two" -- sh -c '"$1/client" | "$1/server"' - "$tap_dir"
}
ok "two programs are recorded" recorded
is "their events are joined, whatever types their keys have" \
	"$("$WEFT" report "$tap_dir/two" flows --json | jq -c 'select(.flow == "x11") | [.scope // .from, .keys // .count, .events // .to, .max_processes]')" \
	'["processes",3,6,2]
["client:request",3,"server:handle",null]'
is "a span that one begins ends in the other" \
	"$("$WEFT" why "$tap_dir/two" --marker x:round --all --json 2>/dev/null | jq -c '[.fields.ret, .thread.comm]' | sort | uniq -c | xargs)" \
	"3 [0,server]"
is "weft dump finds the events of one key" \
	"$("$WEFT" dump "$tap_dir/two" --json --flow x11=0x5000,2 | jq -r '[.name, .comm] | join(" ")' | xargs)" \
	"client:request client server:handle:begin server"
done_testing

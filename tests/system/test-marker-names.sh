#!/bin/bash
# SPDX-License-Identifier: MIT
# Markers of one name with different fields, kinds and levels: in one program, in its libraries, and in several programs
# of one recording. Each event has the fields it was recorded with; patterns and reports take a name's together.
. "${top_srcdir:-.}/tests/tap.sh"
command -v jq >/dev/null || skip_all "jq is not installed"
export WEFT_RUNDIR=$tap_dir/run
cd "$tap_dir" || exit 1
include="-I$top_srcdir/libmarker/include"

cat >library.c <<'END'
#include <marker/marker.h>
void library(int n);
void library(int n)
{
	MARKER(app, step, MARKER_FIELD(where, "library"), n);
	MARKER(app, step, n); /* as the program has it */
	MARKER_SCOPE(app, work, MARKER_FIELD(size, 2.5));
}
END
cat >program.c <<'END'
#include <marker/marker.h>
void library(int n);
int main(void)
{
	int n = 1;
	long wide = 1L << 40;
	const char *name = "x";

	MARKER(app, step, n);
	MARKER(app, step, name);
	MARKER(app, step, MARKER_FIELD(n, wide));
	MARKER(app, step, n, name);
	MARKER_AT(MARKER_LEVEL_ERR, app, step, n);
	MARKER(app, step);
	{
		MARKER_SCOPE(app, work, n);
	}
	{
		MARKER_SCOPE(app, work, MARKER_FLOW(job, wide));
	}
	library(7);
	return 0;
}
END
cat >other.c <<'END'
#include <marker/marker.h>
int main(void)
{
	double n = 0.5;

	MARKER(app, step, n);
	MARKER(app, step, MARKER_FIELD(name, 3), MARKER_FIELD(n, "n is a string here"));
	MARKER_COUNTER(app, step, 9);
	return 0;
}
END
built() {
	${CC:-cc} $include -shared -fPIC library.c -o liblibrary.so && ${CC:-cc} $include other.c -o other &&
		${CC:-cc} $include program.c -L. -llibrary -Wl,-rpath,"$tap_dir" -o program
}
ok "such programs are built" built
ok "and recorded together" "$WEFT" record --kernel=none -o trace -- sh -c './program; ./other; ./program'
of_program='{"n":1}
{"name":"x"}
{"n":1099511627776}
{"n":1,"name":"x"}
{"n":1}
{}
{"where":"library","n":7}
{"n":7}'
is "each event has the fields it was recorded with" \
	"$("$WEFT" dump trace --json | jq -c 'select(.name == "app:step") | .fields')" \
	"$of_program
{\"n\":0.5}
{\"name\":3,\"n\":\"n is a string here\"}
{\"value\":9}
$of_program"
is "scopes too" "$("$WEFT" dump trace --json | jq -c 'select(.name == "app:work:begin") | .fields' | sort | uniq -c | xargs)" \
	"2 {job:1099511627776} 2 {n:1} 2 {size:2.5}"
is "reports take them together" "$("$WEFT" report trace markers --json | jq -c '[.marker, .kind, .count]' | sort | xargs)" \
	"[app:step,instant,18] [app:work,scope,6] [null,null,1]"
is "weft why as well, each with its own" "$("$WEFT" why trace --marker app:work --all --json 2>/dev/null | jq -c .fields | sort | uniq -c | xargs)" \
	"2 {job:1099511627776} 2 {n:1} 2 {size:2.5}"
if command -v babeltrace2 >/dev/null; then
	is "babeltrace2 reads as many" "$(babeltrace2 trace | grep -c app:step)" 19
else
	skip "babeltrace2 reads as many" "no babeltrace2"
fi
rm -rf trace
"$WEFT" record --kernel=none -o trace --level=err -- ./program 2>/dev/null
is "a level is one place's own" "$("$WEFT" dump trace --json | jq -c 'select(.name == "app:step") | .fields')" '{"n":1}'
is "weft list has each" "$("$WEFT" list program | grep -c '^app:step ')" 5
done_testing

#!/bin/bash
# SPDX-License-Identifier: MIT
# Which markers are on: by pattern and by level, in a program that runs already, for one recording
# and for several at once, and when they end.
. "${top_srcdir:-.}/tests/tap.sh"
command -v jq >/dev/null || skip_all "jq is not installed"
export WEFT_RUNDIR=$tap_dir/run
cd "$tap_dir" || exit 1

# Linked with libmarker, so that it is found while it runs. It says on its line which markers are on.
cat >select.c <<'END'
#include <marker/marker.h>
#include <stdio.h>
#include <unistd.h>
int main(void)
{
	int last = -1;
	for (int i = 0; i < 12000; i++) {
		int on = MARKER_ENABLED(player, shown) | MARKER_ENABLED(player, poll) << 1 |
			 MARKER_ENABLED(audio, mixed) << 2;
		MARKER(player, shown, i);
		MARKER_AT(MARKER_LEVEL_DEBUG, player, poll, i);
		MARKER_AT(MARKER_LEVEL_ERR, audio, failed, i);
		MARKER(audio, mixed, i);
		{
			MARKER_SCOPE(audio, callback, i);
			MARKER_RESULT(i);
		}
		if (on != last)
			printf("on %d\n", last = on), fflush(stdout);
		usleep(5000);
	}
	return 0;
}
END
${CC:-cc} -O2 -I "$top_srcdir/libmarker/include" -o select select.c -L"$(dirname "$LIBMARKER")" \
	-Wl,--no-as-needed -lmarker -Wl,-rpath,"$(dirname "$LIBMARKER")" || exit 1
./select >out &
program=$!
trap 'kill $program 2>/dev/null; rm -rf "$tap_dir"' EXIT
until_true grep -q '^on 0$' out

names() { "$WEFT" dump "$1" --json | jq -r .name | sort -u | tr '\n' ' '; }
record() { # NAME OPTIONS
	"$WEFT" record --kernel=none -p $program -o "$1" "${@:2}" 2>"$1.err" &
}
has() { [ -n "$("$WEFT" dump "$1" --name "$2" 2>/dev/null | head -n 1)" ]; }
finished() { kill -INT "$1"; wait "$1"; }

record first -m 'player:*' -m '!player:poll'
first=$!
ok "a pattern turns markers on in a program that runs already" until_true has first 'player:shown'
is "MARKER_ENABLED says so, and of the others that they are off" "$(tail -n 1 out)" "on 1"

record second -m 'audio:*' -m player:poll
second=$!
ok "a second recording has others, at the same time" until_true has second 'audio:mixed'
is "what either wants is on" "$(tail -n 1 out)" "on 7"
record third --level=err
third=$!
ok "a third one wants a level" until_true has third 'audio:failed'
finished $third
finished $second
ok "what only the second wanted is off when it ends" until_true sh -c 'tail -n 1 out | grep -qx "on 1"'
finished $first
ok "and all is off after the last" until_true sh -c 'tail -n 1 out | grep -qx "on 0"'
is "the first has what matches its patterns, and nothing else" "$(names first | sed 's/weft:result //')" "player:shown "
is "so has the second, with scopes and results" "$(names second)" \
	"audio:callback:begin audio:callback:end audio:failed audio:mixed player:poll weft:result "
is "the third has that level and those before it, and results" "$(names third | sed 's/weft:result //')" "audio:failed "
consecutive() {
	"$WEFT" dump "$1" --json --name "$2" |
		jq -es 'map(.fields.i) as $all | $all | length > 0 and . == [range($all[0]; $all[-1] + 1)]'
}
ok "none is missing in between, whatever else was turned on and off" consecutive first player:shown

# ---- levels alone
kill $program
run() { "$WEFT" record --kernel=none -o "$1" "${@:2}" -- ./levels 2>"$1.err"; }
cat >levels.c <<'END'
#define MARKER_LEVEL MARKER_LEVEL_NOTICE
#include <marker/marker.h>
int main(void)
{
	MARKER(levels, notice);
	MARKER_AT(MARKER_LEVEL_DEBUG, levels, debug);
	MARKER_AT(0, levels, emerg);
#undef MARKER_LEVEL
#define MARKER_LEVEL MARKER_LEVEL_WARNING
	{ MARKER_SCOPE(levels, warning); }
	return 0;
}
END
${CC:-cc} -I "$top_srcdir/libmarker/include" -o levels levels.c || exit 1
run all
is "without --level all are recorded" "$(names all)" "levels:debug levels:emerg levels:notice levels:warning:begin levels:warning:end "
run warning --level=warning
is "--level=warning leaves out what is less important" "$(names warning)" "levels:emerg levels:warning:begin levels:warning:end "
run number --level=5 -m 'levels:*' -m '!levels:emerg'
is "a number is a level, too, and patterns hold as well" "$(names number)" "levels:notice levels:warning:begin levels:warning:end "
is "the metadata has each level" "$(grep -ho 'loglevel = [0-9]' all/user/metadata | sort | uniq -c | tr -s ' \n' ' ')" \
	" 1 loglevel = 0 2 loglevel = 4 1 loglevel = 5 1 loglevel = 7 "
run wrong --level=loud
is "what is no level is an error that names them" "$? $(grep -c 'emerg, alert' wrong.err)" "2 1"
done_testing

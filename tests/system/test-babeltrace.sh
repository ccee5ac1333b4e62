#!/bin/bash
# SPDX-License-Identifier: MIT
# babeltrace2 and `weft dump` read the same events out of a trace.
. "${top_srcdir:-.}/tests/tap.sh"

compare=$top_builddir/tests/compare-babeltrace
write=$top_builddir/tests/write-sample-trace
[ -x "$compare" ] || skip_all "built without babeltrace2: install libbabeltrace2-dev"

# Every type of field, more classes than the short event header can tell apart, gaps too long for it,
# stamps shared between streams, discarded events.
ok "a trace of 20,000 made-up events of 100 classes is written" "$write" "$tap_dir/trace"
ok "babeltrace2 and weft dump read the same 20,000 events" "$compare" "$tap_dir/trace" "$WEFT"
is "babeltrace2 has nothing to say about the metadata" \
	"$(babeltrace2 "$tap_dir/trace" 2>&1 >/dev/null | grep -v discarded)" ""
is "weft dump and babeltrace2, as commands, print as many lines" \
	"$("$WEFT" dump "$tap_dir/trace" | wc -l) $(babeltrace2 "$tap_dir/trace" 2>/dev/null | wc -l)" "20000 20000"
is "every line of weft dump --json is an object with the same keys" \
	"$("$WEFT" dump --json "$tap_dir/trace" |
		python3 -c 'import json, sys
for line in sys.stdin: print(all(key in json.loads(line) for key in ("ts", "cpu", "pid", "tid", "comm", "name", "fields")))' |
		sort | uniq -c | tr -s " ")" " 20000 True"

# The comparison itself must be able to fail.
change() { # SED-SCRIPT: a weft that prints something else
	echo "$1" >"$tap_dir/script"
	printf '#!/bin/sh\n"%s" "$@" | sed -f "%s"\n' "$WEFT" "$tap_dir/script" >"$tap_dir/weft"
	chmod +x "$tap_dir/weft"
}
refuses() { ! "$compare" "$tap_dir/trace" "$tap_dir/weft"; }
change '9999d'
ok "an event that weft leaves out is noticed" refuses
change '20000d'
ok "so is the last one" refuses
change '15000s/\(fields.*[^0-9]\)\([0-9]\)/\10\2/'
ok "and a value that differs by a digit" refuses
change '12000,12003s/"\(cpu\|pid\)":\([0-9]\)/"\1":7\2/'
ok "and a wrong CPU or process" refuses
change '700{h;d}; 900{G}'
ok "and one that comes too late" refuses
change 's/x/x/'
ok "while an unchanged one passes" "$compare" "$tap_dir/trace" "$tap_dir/weft"

ok "a trace of one class is written" "$write" "$tap_dir/one" 1000 1
ok "and read the same" "$compare" "$tap_dir/one" "$WEFT"
ok "so are 70,000 events of 3000 classes" "$write" "$tap_dir/many" 70000 3000
ok "which babeltrace2 and weft dump read the same" "$compare" "$tap_dir/many" "$WEFT"
ok "a trace without events is written" "$write" "$tap_dir/none" 0 3
ok "and has none for both" "$compare" "$tap_dir/none" "$WEFT"

# Filters of weft dump.
"$WEFT" dump --json "$tap_dir/trace" >"$tap_dir/all"
first=$(head -n 1 "$tap_dir/all" | sed 's/{"ts":\([0-9]*\).*/\1/')
from=$(sed -n 5000p "$tap_dir/all" | sed 's/{"ts":\([0-9]*\).*/\1/')
to=$(sed -n 6000p "$tap_dir/all" | sed 's/{"ts":\([0-9]*\).*/\1/')
between() { awk -F '[:,]' -v from="$from" -v to="$to" '$2 >= from && $2 <= to' "$tap_dir/all"; }
is "--from and --to take ns" "$("$WEFT" dump --json --from "$from" --to "$to" "$tap_dir/trace" | md5sum)" \
	"$(between | md5sum)"
is "and seconds since the begin, to the ns" \
	"$("$WEFT" dump --json --from="+$(((from - first) / 1000000000)).$(printf %09d $(((from - first) % 1000000000)))" \
		--to="$((to / 1000000000)).$(printf %09d $((to % 1000000000)))" "$tap_dir/trace" | md5sum)" \
	"$(between | md5sum)"
is "--name takes a pattern" "$("$WEFT" dump --json --name 'sample:m1*' "$tap_dir/trace" | md5sum)" \
	"$(grep '"name":"sample:m1' "$tap_dir/all" | md5sum)"
is "--kernel and --user part the events in two" \
	"$("$WEFT" dump --kernel "$tap_dir/trace" | wc -l) $("$WEFT" dump --user "$tap_dir/trace" | wc -l)" \
	"$(grep -c '"name":"sample_k' "$tap_dir/all") $(grep -c '"name":"sample:m' "$tap_dir/all")"
is "--tid takes one thread's" "$("$WEFT" dump --json --tid 33 "$tap_dir/trace" | md5sum)" \
	"$(grep '"tid":33,' "$tap_dir/all" | md5sum)"
is "--pid takes one process's" "$("$WEFT" dump --json --pid 44 "$tap_dir/trace" | md5sum)" \
	"$(grep '"pid":44,' "$tap_dir/all" | md5sum)"

# Errors say what and where, in one line, and exit 2.
fails() { # WANTED-TEXT ARGS...
	wanted=$1
	shift
	"$WEFT" dump "$@" >"$tap_dir/out" 2>"$tap_dir/err"
	status=$?
	cat "$tap_dir/err"
	[ $status = 2 ] && [ "$(wc -l <"$tap_dir/err")" = 1 ] && grep -q -- "$wanted" "$tap_dir/err"
}
ok "a folder that is no trace is refused" fails "no trace" "$tap_dir"
ok "a bad time is refused" fails "takes a time" --from yesterday "$tap_dir/trace"
ok "a bad option is refused" fails "no option" --frmo=3 "$tap_dir/trace"
ok "an option without its argument is refused" fails "argument" "$tap_dir/trace" --from
truncate -s 1500 "$tap_dir/many/kernel/metadata"
ok "damage is told with its place" fails "kernel/" "$tap_dir/many"
done_testing

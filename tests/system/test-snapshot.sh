#!/bin/bash
# SPDX-License-Identifier: MIT
# weft record --snapshot, weft snapshot: the end of a recording that goes on, as a whole trace, again and again.
. "${top_srcdir:-.}/tests/tap.sh"
. "${top_srcdir:-.}/tests/system/numbers.sh"
numbers=$top_builddir/tests/system/record-numbers
compare=$top_builddir/tests/compare-babeltrace
export WEFT_RUNDIR=$tap_dir/run
mkdir "$tap_dir/work"
cd "$tap_dir/work" || exit 1
export WEFT
command -v jq >/dev/null || skip_all "jq is not installed"
elsewhere=$(mktemp -d /dev/shm/weft-test.XXXXXX 2>/dev/null)
program=
end() {
	[ -z "$program" ] || kill "$program" 2>/dev/null
	rm -rf "$elsewhere" "$tap_dir"
}
trap end EXIT

# begin NAME OPTIONS...: records record-numbers in the background; $program is its number.
begin() {
	local name=$1
	shift
	"$WEFT" record --detach -o "$name" "$@" -- "$numbers" -t 2 -p "${pause:-500}" >out 2>err || cat err
	until_true grep -q 'first 1' out
	program=$(sed -n 's/^pid //p' out)
}

finish() {
	"$WEFT" stop "$1" >out 2>err
	kill "$program"
	program=
}

# figure FILE KEY: of what weft snapshot --json said.
figure() { jq "$2" "$1"; }

# up_to TRACE NS FROM: thread 0's numbers from FROM on, stamped by that time.
up_to() {
	"$WEFT" dump --json --name numbers:step "$1" | jq -r --argjson ns "$2" --argjson from "$3" \
		'select(.fields.thread == 0 and .ts <= $ns and .fields.number >= $from) | .fields.number'
}

asked_of() { "$WEFT" report "$1" summary --json | jq .snapshot.ns; }

oldest() { find "$1" -maxdepth 1 -name 'part-*' | sort | sed -n '1s/.*part-0*//p'; }
newest() { find "$1" -maxdepth 1 -name 'part-*' | sort | sed -n '$s/.*part-0*//p'; }
is_beyond() { [ "$(newest "$1")" -gt "$2" ]; }
has_dropped() { [ "$(oldest "$1")" -gt "$2" ]; }

is_closed() {
	local part
	for part in "$1"/part-*; do
		grep -q '"type":"end"' "$part/weft/sidecar" || return 1
	done
}

kernel=none
has_tracefs && kernel=default

# ---- a span of time
begin flight --kernel=$kernel --snapshot=2s
until_true has_dropped flight 2
"$WEFT" snapshot -o one --json >one.json 2>err
is "a snapshot is taken of the only recording" "$? $(cat err)" "0 "
is "it tells where it is and of what" "$(figure one.json '[.dir, .recording] | join(" ")')" "\"$PWD/one $PWD/flight\""
ok "each part of it is closed" is_closed one
ok "it holds the time that was to be kept" jq -e '.seconds >= 2 and .end_ns - .begin_ns >= 2e9' one.json
is "as many events as it says" "$("$WEFT" dump one | wc -l)" "$(figure one.json .events)"
ok "none of one thread is missing" is_consecutive one 0
ok "nor of another one" is_consecutive one 1
ok "its order is exact" sh -c '"$WEFT" verify-order --json one | jq -se "all(.violations == 0)"'
if has_tracefs; then
	ok "kernel events are in it, from its beginning to its end" sh -c \
		'"$WEFT" dump --json --name sched_switch one | jq -r ".ts" |
		awk "NR == 1 { first = \$1 } { last = \$1 } END { exit last - first < 1900000000 }"'
	ok "each part has the state of the machine" sh -c 'for part in one/part-*; do grep -q "\"type\":\"thread\",\"ns\":[0-9]*,\"tid\":1," "$part/weft/sidecar" || exit 1; done'
else
	skip "kernel events are in it, from its beginning to its end" "no tracefs, or not root"
	skip "each part has the state of the machine" "no tracefs, or not root"
fi
if [ -x "$compare" ]; then
	ok "babeltrace2 reads the same events" "$compare" one "$WEFT"
else
	skip "babeltrace2 reads the same events" "built without babeltrace2"
fi
ok "the summary says what it is" grep -q "^snapshot of $PWD/flight, at " <("$WEFT" report one summary)
is "and that nothing is missing" "$("$WEFT" report one summary --json | jq .missing)" '""'
is "the newest trace of the folder is the snapshot" "$("$WEFT" report summary --json | jq .snapshot.ns)" "$(asked_of one)"
at=$(newest flight)
ok "the recording goes on" until_true is_beyond flight "$at"

# ---- again and again
for i in 2 3 4; do
	"$WEFT" snapshot flight -o "nr$i" >said 2>err
	is "again, by the recording's folder ($i)" "$? $(cat err)" "0 "
	ok "it says what it holds ($i)" grep -q "^nr$i: [0-9,]* events, [0-9.]* s, [0-9.]* [kM]B, 0 discarded$" said
	ok "none is missing ($i)" is_consecutive "nr$i"
done
asked=$(asked_of nr2)
from=$(steps nr3 | head -n 1)
is "what was recorded when it was asked for is in it" "$(up_to nr2 "$asked" "$from" | tail -n 1)" "$(up_to nr3 "$asked" "$from" | tail -n 1)"
"$WEFT" snapshot flight -d 500ms -o short --json >short.json
ok "a shorter one holds the time that was asked for" jq -e '.seconds >= 0.5' short.json
ok "but fewer parts" test "$(find short -name 'part-*' | wc -l)" -lt "$(find nr4 -name 'part-*' | wc -l)"
"$WEFT" snapshot flight >said 2>err
is "without a name it has one by the time" "$(sed -n 's/^\(weft-snapshot-[0-9]*-[0-9]*\): .*/\1/p' said)" "$(find . -maxdepth 1 -name 'weft-snapshot-*' -printf '%f\n')"
"$WEFT" snapshot flight -o both1 >said1 2>err1 &
"$WEFT" snapshot flight -o both2 >said2 2>err2
is "two at once: one" "$? $(cat err2)" "0 "
wait $!
is "and the other" "$? $(cat err1)" "0 "
ok "both are whole" sh -c 'for t in both1 both2; do "$WEFT" dump "$t" >dumped && [ -s dumped ] || exit 1; done'
if [ -n "$elsewhere" ] && [ "$(stat -c %d "$elsewhere")" != "$(stat -c %d .)" ]; then
	"$WEFT" snapshot flight -o "$elsewhere/copy" >said 2>err
	is "in another file system it is a copy" "$? $(cat err) $(ls "$elsewhere")" "0  copy"
	ok "which is whole" is_consecutive "$elsewhere/copy"
else
	skip "in another file system it is a copy" "no other file system"
	skip "which is whole" "no other file system"
fi
mkdir empty
ok "a folder that is empty may be there" "$WEFT" snapshot flight -o empty
ok "nothing is left of them in the recording's folder" until_true test ! -e flight/.snapshot

# ---- a client that goes in the middle
daemon=$("$WEFT" status | sed -n 's/^weft-consumerd\[\([0-9]*\)\].*/\1/p')
kill -STOP "$daemon"
"$WEFT" snapshot flight -o never >said 2>err &
sleep 0.2 # wherever it is by then
kill -KILL $!
wait $! 2>/dev/null
kill -CONT "$daemon"
"$WEFT" snapshot flight -o after >said 2>err
is "one that was killed does not keep another from it" "$? $(cat err)" "0 "
ok "nor leaves anything" sh -c 'test ! -e never'
ok "neither in the recording's folder" until_true test ! -e flight/.snapshot

# ---- mistakes
"$WEFT" snapshot flight -o one >said 2>err
is "a folder that is not empty is refused" "$? $(grep -c 'exists and is not empty' err) $(wc -l <err)" "2 1 1"
"$WEFT" snapshot nothing -o other >said 2>err
is "so is a folder that nothing is recorded into" "$? $(grep -c 'nothing is being recorded into' err) $(wc -l <err)" "2 1 1"
"$WEFT" snapshot flight -o no/such/folder >said 2>err
is "and a place that is not there" "$? $(wc -l <err)" "2 1"
ok "which leaves nothing" until_true test ! -e flight/.snapshot
finish flight
ok "the end of the recording itself is kept, and said" grep -q ', the last [0-9.]* s kept$' err
ok "it is whole" is_consecutive flight
ok "older parts are gone" test ! -e flight/part-000001
is "as was wanted: nothing is missing" "$("$WEFT" report flight summary --json | jq .missing)" '""'
ok "the summary says so" grep -q '^flight recorder: only the end was kept' <("$WEFT" report flight summary)
ok "what was taken before is still there" is_consecutive one
"$WEFT" snapshot -o late >said 2>err
is "nothing is recorded any more" "$? $(wc -l <err)" "2 1"

# ---- a size
pause=20 begin small --kernel=none --snapshot=1M
until_true has_dropped small 3
"$WEFT" snapshot small -o part-of-small >said 2>err
is "a snapshot of a span in bytes" "$? $(cat err)" "0 "
ok "is whole" is_consecutive part-of-small
ok "and no larger" test "$(du -sb --apparent-size part-of-small | cut -f 1)" -lt $((1024 * 1024 * 3 / 2))
ok "nor is what is kept" test "$(du -sb --apparent-size small | cut -f 1)" -lt $((1024 * 1024 * 3 / 2))
finish small

# ---- in parts, and whole
begin parts --kernel=none --rotate=200ms
"$WEFT" snapshot parts -o of-parts >said 2>err
is "a recording in parts can be asked, too" "$? $(cat err)" "0 "
ok "and gives all of it" test "$(oldest of-parts)" = 1
finish parts
begin whole --kernel=none
"$WEFT" snapshot whole -o of-whole >said 2>err
is "one that is whole says what it takes" "$? $(grep -c 'record with --snapshot' err) $(wc -l <err)" "2 1 1"
finish whole

for wrong in --snapshot=5 --snapshot=1K --snapshot=10ms --snapshot=x "--snapshot=2s --rotate=1s" "--snapshot --max-size=1G"; do
	# shellcheck disable=SC2086
	"$WEFT" record --kernel=none $wrong -o wrong -- "$numbers" -n 1 >out 2>err
	is "$wrong is refused, in one line" "$? $(wc -l <err)" "2 1"
done
"$WEFT" record --kernel=none --snapshot -o alone -- "$numbers" -n 5 -s 4 >out 2>err
is "--snapshot alone keeps 30 s, of at most 1 GiB" "$? $(grep -o '"keep_ns":[0-9]*,"keep_bytes":[0-9]*' alone/part-000001/weft/sidecar)" '4 "keep_ns":30000000000,"keep_bytes":1073741824'
ok "and all of a short program" is_run alone 0 5
done_testing

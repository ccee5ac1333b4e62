#!/bin/bash
# SPDX-License-Identifier: MIT
# weft record --rotate, --max-size: recordings in parts, read as one and one by one.
. "${top_srcdir:-.}/tests/tap.sh"
. "${top_srcdir:-.}/tests/system/numbers.sh"
numbers=$top_builddir/tests/system/record-numbers
compare=$top_builddir/tests/compare-babeltrace
export WEFT_RUNDIR=$tap_dir/run
cd "$tap_dir" || exit 1
export WEFT
command -v jq >/dev/null || skip_all "jq is not installed"

# Every part ends before the next one begins.
is_in_sequence() {
	local part last=0 first
	for part in "$1"/part-*; do
		"$WEFT" dump --json "$part" >dumped || return 1
		[ -s dumped ] || continue
		first=$(head -n 1 dumped | jq .ts)
		[ "$first" -ge "$last" ] || return 1
		last=$(tail -n 1 dumped | jq .ts)
	done
}

is_closed() {
	local part
	for part in "$1"/part-*; do
		grep -q '"type":"end"' "$part/weft/sidecar" || return 1
	done
}

# names_all PART: every marker's thread has its name, by what the part itself tells.
names_all() {
	"$WEFT" dump --json "$1" | jq -se 'map(select(.name == "numbers:step")) | length == 0 or all(.comm == "record-numbers")'
}

# tells_all PART: what a CPU's event leaves out (FORMAT.md, "Event classes") the part itself has told of that thread.
tells_all() {
	"$WEFT" dump --json "$1" | jq -r 'select(.name | test("^(sched|block)_")) |
		[.cpu, .fields.next_tid // .fields.tid // .tid, (.fields | has("next_comm") or has("comm")), .name] | @tsv' |
		awk '$3 == "true" { told[$1 " " $2] = 1 }
		$3 == "false" && $4 ~ /^sched_(switch|waking|migrate_task)$/ && !(($1 " " $2) in told) { print; bad = 1 }
		END { exit bad }'
}

each_part() {
	local trace=$1 part
	shift
	for part in "$trace"/part-*; do
		"$@" "$part" || return 1
	done
}

is_in_order() {
	"$WEFT" verify-order --json "$1" | jq -se 'all(.violations == 0)'
}

# newest TRACE: the number of its last part.
newest() {
	find "$1" -name 'part-*' | sort | sed -n '$s/.*part-0*//p'
}

kernel=none
has_tracefs && kernel=default

# ---- by time
"$WEFT" record --kernel=$kernel --rotate=200ms -o timed -- "$numbers" -t 2 -p 300 -n 3000 -s 3 >out 2>err
is "the exit status is the program's" $? 3
ok "there are several parts" test -d timed/part-000003
is "and nothing beside them" "$(find timed -mindepth 1 -maxdepth 1 ! -name 'part-[0-9]*' | wc -l)" 0
ok "each is closed" is_closed timed
ok "read as one, all markers of a thread are there" is_run timed 0 3000
ok "of the other one, too" is_run timed 1 3000
ok "no part has anything earlier than the part before" is_in_sequence timed
is "the last line counts all parts" "$(sed -n 's/^timed: \([0-9,]*\) events.*/\1/p' err | tr -d ,)" "$("$WEFT" dump timed | wc -l)"
is "so does the summary" "$("$WEFT" report timed summary --json | jq .events)" "$("$WEFT" dump timed | wc -l)"
ok "by itself, a part knows the names of its threads" each_part timed names_all
ok "the order of all is exact" is_in_order timed
ok "and of each part alone" each_part timed is_in_order
if [ -x "$compare" ]; then
	ok "babeltrace2 reads the same events of all parts" "$compare" timed "$WEFT"
else
	skip "babeltrace2 reads the same events of all parts" "built without babeltrace2"
fi
if has_tracefs; then
	ok "each part has the state of the machine" each_part timed sh -c 'grep -q "\"type\":\"thread\",\"ns\":[0-9]*,\"tid\":1," "$0/weft/sidecar"'
	ok "also for readers that know LTTng's only" each_part timed sh -c '"$WEFT" dump "$0" | grep -q lttng_statedump_process_state'
	ok "and tells itself whatever its events leave out" each_part timed tells_all
	ok "which they do" sh -c '"$WEFT" dump --json timed/part-000003 | grep sched_switch | grep -qv next_comm'
else
	skip "each part has the state of the machine" "no tracefs, or not root"
	skip "also for readers that know LTTng's only" "no tracefs, or not root"
	skip "and tells itself whatever its events leave out" "no tracefs, or not root"
	skip "which they do" "no tracefs, or not root"
fi
rm -r timed/part-000002
"$WEFT" report timed summary >summary
ok "a part that is gone is told as a gap" grep -q '^part 2: .* discarded' summary
ok "the others can be read" test "$("$WEFT" dump timed | wc -l)" -gt 1000
"$WEFT" record --kernel=none --rotate=1s -o timed -- "$numbers" -n 1 >out 2>err
is "a folder that is not empty is refused" "$? $(grep -c 'exists and is not empty' err)" "2 1"

# ---- by size, with a limit
"$WEFT" record --kernel=none --rotate=64K --max-size=512K --detach -o small -- "$numbers" -p 1 >out 2>err
until_true grep -q first out
largest=0
while [ ! -d small/part-000030 ] && [ "$SECONDS" -lt 120 ]; do
	size=$(du -sb --apparent-size small 2>/dev/null | cut -f 1)
	[ "${size:-0}" -gt "$largest" ] && largest=$size
done
"$WEFT" stop small >out2 2>err
is "a recording in parts is stopped like any other" $? 0
kill "$(sed -n 's/^pid //p' out)"
ok "there was never much more than the limit" test "$largest" -lt $((512 * 1024 * 3 / 2))
ok "nor is there in the end" test "$(du -sb --apparent-size small/part-* | awk '{ sum += $1 } END { print sum }')" -lt $((512 * 1024 * 5 / 4))
ok "the oldest parts are gone" test ! -e small/part-000001
ok "the trace says so" grep -q '"type":"deleted_part","ns":[0-9]*,"part":[0-9]' small/part-*/weft/sidecar
ok "and the summary" grep -q '^missing: .*parts 1 to [0-9]* of the recording are not there any more' <("$WEFT" report small summary)
ok "what is left is whole" is_consecutive small
is "no half-deleted part is left" "$(find small -name '.part-*' | wc -l)" 0
ok "the newest trace of a folder may be in parts" sh -c "'$WEFT' dump | grep -q numbers:step"

# ---- killed in the middle
for round in 1 2 3; do
	mkdir -m 700 "other$round"
	WEFT_RUNDIR=$tap_dir/other$round "$CONSUMERD" --foreground 2>err5 &
	daemon=$!
	until_true test -S "other$round/control.sock"
	rm -f out
	rm -f out # what it says of an earlier program
	WEFT_RUNDIR=$tap_dir/other$round "$WEFT" record --kernel=$kernel --rotate=100ms -o "cut$round" -- "$numbers" -p 100 -n 20000 -s 5 >out 2>err &
	record=$!
	until_true grep -q first out # parts may have begun before the program has
	until_true test -d "cut$round/part-$(printf %06d $(($(newest "cut$round") + round + 1)))"
	kill -KILL $daemon
	wait $daemon 2>/dev/null
	wait $record
	is "when weft-consumerd is killed, the program goes on ($round)" $? 5
	ok "all parts read as one, without a gap ($round)" is_consecutive "cut$round"
	ok "each part is a trace ($round)" each_part "cut$round" sh -c '"$WEFT" dump "$0" >dumped2'
	if command -v babeltrace2 >/dev/null; then
		is "and babeltrace2 reads as many events, once weft has cut the tail ($round)" \
			"$(babeltrace2 "cut$round" 2>err6 | wc -l)" "$("$WEFT" dump "cut$round" | wc -l)"
	else
		skip "and babeltrace2 reads as many events, once weft has cut the tail ($round)" "no babeltrace2"
	fi
done

# ---- mistakes
for wrong in --rotate=5 --rotate=1K --rotate=1us --rotate=x --max-size=1K "--rotate=1M --max-size=1M"; do
	# shellcheck disable=SC2086
	"$WEFT" record --kernel=none $wrong -o wrong -- "$numbers" -n 1 >out 2>err
	is "$wrong is refused, in one line" "$? $(wc -l <err)" "2 1"
done
done_testing

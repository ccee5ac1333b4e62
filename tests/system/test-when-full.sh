#!/bin/bash
# SPDX-License-Identifier: MIT
# weft record --when-full: a full ring discards, or the program waits for weft-consumerd, but for nothing else.
. "${top_srcdir:-.}/tests/tap.sh"
program=$top_builddir/tests/system/when-full
counted=$top_builddir/tests/stress/counted
check=$top_builddir/tests/stress/check-counted
export WEFT_RUNDIR=$tap_dir/run
mkdir "$tap_dir/work"
cd "$tap_dir/work" || exit 1
small=--ring-size=64K # which is full in a few thousand markers

discarded_of() { sed -n 's/.* \([0-9,]*\) discarded.*/\1/p' "$1" | tr -d ,; }

# committed FILE: how far thread 0 of counted is (counted.h).
committed() { od -An -t u8 -j 88 -N 8 "$1" | tr -d ' '; }

# Does it go on, or not, while we look? A thread that is only slow has gone on after a while.
goes_on() {
	local before
	before=$(committed "$1")
	until_true sh -c "[ \"\$(od -An -t u8 -j 88 -N 8 '$1' | tr -d ' ')\" != '$before' ]"
}
stands_still() {
	local before
	before=$(committed "$1")
	sleep 0.5
	[ "$before" = "$(committed "$1")" ]
}

# begin NAME OPTIONS... -- PROGRAM: records under a weft-consumerd of its own, $daemon, until counted is well under way.
begin() {
	local name=$1
	shift
	export WEFT_RUNDIR=$tap_dir/run-$name
	mkdir -m 700 "$WEFT_RUNDIR"
	"$CONSUMERD" --foreground 2>daemon-err &
	daemon=$!
	until_true test -S "$WEFT_RUNDIR/control.sock"
	"$WEFT" record --kernel=none -o "$name" "$@" >out 2>err &
	record=$!
	until_true test -s "$name.counted"
	goes_on "$name.counted"
}

"$WEFT" record --kernel=none $small -o discard -- "$program" 3000000 >out 2>err
is "a program without pause ends, where rings are small" $? 0
ok "and discards" test "$(discarded_of err)" -gt 0
is "of which nothing is lost in the count" \
	"$(($(discarded_of err) + $("$WEFT" dump --name 'full:*' discard | wc -l)))" "$((3000000 + $(sed -n 's/^handled //p' out)))"

# lacking MARKER MADE: how many of them are not in the trace.
lacking() { echo $(($2 - $("$WEFT" dump --name "$1" discard | wc -l))); }
if command -v jq >/dev/null; then
	"$WEFT" report discard summary --json >summary
	discarded_of_marker() { jq --arg marker "$1" '[.discarded_markers[] | select(.marker == $marker) | .discarded] | add // 0' summary; }
	is "the summary says how many of one marker" "$(discarded_of_marker full:step)" "$(lacking full:step 3000000)"
	is "and of another one" "$(discarded_of_marker full:handled)" "$(lacking full:handled "$(sed -n 's/^handled //p' out)")"
	ok "each within the recording" jq -e '. as $all | .discarded_markers | all(.begin_ns <= .end_ns and .begin_ns > 0)' summary
	is "the sidecar places them in time" \
		"$(grep '"type":"marker_loss"' discard/weft/sidecar | jq -s '(map(.discarded) | add), all(.end_ns - .begin_ns < 5e9)' | tr '\n' ' ')" \
		"$(discarded_of err) true "
else
	for sentence in "the summary says how many of one marker" "and of another one" "each within the recording" "the sidecar places them in time"; do
		skip "$sentence" "jq is not installed"
	done
fi
ok "record's end says of which markers they are" grep -q '^discard: discarded were [0-9,]* of full:[a-z]*' err
ok "so does the summary for people" grep -q '^full:step: [0-9]* of these, from ' <("$WEFT" report discard summary)

"$WEFT" record --kernel=none $small --when-full=block -o block -- "$program" 3000000 >out 2>err
is "one that may block ends as well" $? 0
is "and discards nothing" "$(discarded_of err)" 0
is "all of its markers are there" "$("$WEFT" dump --name full:step block | wc -l)" 3000000
is "and all of its handler's" "$("$WEFT" dump --name full:handled block | wc -l)" "$(sed -n 's/^handled //p' out)"
ok "in order" sh -c '"$0" verify-order --json block | grep -q "\"violations\":0"' "$WEFT"
ok "discard may be asked for by name" sh -c '"$0" record --kernel=none --when-full=discard -o default -- "$1" 10 2>/dev/null' "$WEFT" "$program"

# ---- weft-consumerd stands still, goes on, ends
begin still $small --when-full=block -- "$counted" -t 1 -s 5 still.counted
kill -STOP $daemon
ok "while weft-consumerd stands still, the program waits" until_true stands_still still.counted
kill -CONT $daemon
ok "it goes on with it" goes_on still.counted
kill -TERM "$(od -An -t u4 -j 4 -N 4 still.counted | tr -d ' ')"
wait $record
is "it ends as it would alone" $? 5
ok "nothing is missing" sh -c '"$0" dump --name counted:step still | "$1" -a still.counted' "$WEFT" "$check"
kill $daemon
wait $daemon 2>/dev/null

begin killed $small --when-full=block -- "$counted" -t 1 -s 5 killed.counted
kill -STOP $daemon
until_true stands_still killed.counted
kill -KILL $daemon
wait $daemon 2>/dev/null
ok "when weft-consumerd is killed, a program that waits goes on" goes_on killed.counted
kill -TERM "$(od -An -t u4 -j 4 -N 4 killed.counted | tr -d ' ')"
wait $record
is "and ends as it would alone" $? 5

begin stopped $small --when-full=block -- "$counted" -t 2 -s 5 stopped.counted
"$WEFT" stop stopped >out2 2>err2
is "a recording is stopped while the program waits over and over" $? 0
ok "and the program goes on" goes_on stopped.counted
kill -TERM "$(od -An -t u4 -j 4 -N 4 stopped.counted | tr -d ' ')"
wait $record
kill $daemon
wait $daemon 2>/dev/null

# ---- real time
if chrt -f 1 true 2>/dev/null; then
	begin realtime $small --when-full=block -- chrt -f 1 "$counted" -t 1 -p 500 -b 1000 -s 5 realtime.counted
	kill -STOP $daemon
	sleep 0.5 # long enough to fill the ring many times
	ok "a real-time thread does not wait" goes_on realtime.counted
	kill -CONT $daemon
	kill -TERM "$(od -An -t u4 -j 4 -N 4 realtime.counted | tr -d ' ')"
	wait $record
	is "it ends as it would alone" $? 5
	ok "what it could not write is counted" test "$(discarded_of err)" -gt 0
	kill $daemon
	wait $daemon 2>/dev/null
else
	skip "a real-time thread does not wait" "real-time priorities are not allowed here"
	skip "it ends as it would alone" "real-time priorities are not allowed here"
	skip "what it could not write is counted" "real-time priorities are not allowed here"
fi

export WEFT_RUNDIR=$tap_dir/run
"$WEFT" record --when-full=wait -o wrong -- true >out 2>err
is "another word is refused, in one line" "$? $(wc -l <err)" "2 1"
done_testing

#!/bin/bash
# SPDX-License-Identifier: MIT
# weft record --detach, weft stop, weft status: recordings that outlive whoever began them.
. "${top_srcdir:-.}/tests/tap.sh"
. "${top_srcdir:-.}/tests/system/numbers.sh"
numbers=$top_builddir/tests/system/record-numbers
export WEFT_RUNDIR=$tap_dir/run
cd "$tap_dir" || exit 1

is_closed() {
	grep -q '"type":"end"' "$1/weft/sidecar"
}

is_idle() {
	"$WEFT" status | grep -q '^nothing is being recorded'
}

"$WEFT" status >out 2>err
is "without a recording, status says so" "$? $(cat out)" "0 nothing is being recorded"
is "also as JSON: by no line" "$("$WEFT" status --json)" ""
"$WEFT" stop >out 2>err
is "and there is nothing to stop" "$? $(cat err)" "2 weft: stop: nothing is being recorded"
"$WEFT" stop --all >out 2>err
is "for --all that is no mistake" "$? $(cat err)" "0 "

# ---- a program in the background
"$WEFT" record --kernel=none --detach -o short -- "$numbers" -n 2000 -s 7 >out 2>err
is "--detach returns when everything is on, with 0" $? 0
is "it says where the trace is and how to end it" "$(cat err)" \
	"short: recording in the background; 'weft stop short' ends it"
ok "the recording ends with its program" until_true is_closed short
is "every marker is there" "$(steps short | wc -l)" 2000
ok "weft-consumerd ends with it" until_true test ! -e "$WEFT_RUNDIR/control.sock"
"$WEFT" record --kernel=none --detach -o none -- ./no-such-program >out 2>err
is "a program that is not there is told at once" $? 127
ok "nothing is left of it" test ! -e none

"$WEFT" record --kernel=none --detach -o long -- "$numbers" -p 1000 >numbers 2>err
until_true grep -q first numbers
program=$(sed -n 's/^pid //p' numbers)
is "the program leads a session of its own: no terminal's end reaches it" \
	"$(ps -o sid= -p "$program" | tr -d ' ')" "$program"
ok "status names the folder" grep -q "^$tap_dir/long$" <("$WEFT" status)
ok "status tells of its markers" until_true sh -c "'$WEFT' status --json | jq -es 'length == 1 and .[0].events > 100 and .[0].detached'"
"$WEFT" stop nowhere >out 2>err
is "stop knows when nothing is recorded into a folder" $? 2
"$WEFT" stop long >out 2>err
is "stop ends it" $? 0
ok "with record's last line" \
	grep -Eq "^$tap_dir/long: [0-9,]+ events, [0-9.]+ s, [0-9.]+ [kMG]B, 0 discarded, clock ±[0-9]+ ns$" err
ok "the trace is written by then" is_closed long
ok "and whole" is_consecutive long
ok "the program goes on" kill -0 "$program"
# The markers of all programs are recorded: one at a time.
kill "$program"
until_true is_ended "$program"

# ---- one that runs already
"$WEFT" record --kernel=none --detach -p 999999999 -o none >out 2>err
is "a process that is not there is told at once" $? 2
LD_PRELOAD=$LIBMARKER "$numbers" -p 1000 >numbers2 2>&1 &
other=$!
until_true grep -q first numbers2
"$WEFT" record --kernel=none --detach -p $other -o joined >out 2>err
is "-p PID goes with --detach" $? 0
until_true sh -c "'$WEFT' status --json | jq -es 'length == 1 and .[0].events > 100'"
kill $other
wait $other 2>/dev/null
ok "it ends with that process" until_true is_closed joined
ok "and has its markers" is_consecutive joined

# ---- by time
"$WEFT" record --kernel=none --detach -d 0.3 -o timed >out 2>err
ok "with -d it ends by itself" until_true is_closed timed
ok "not before its time" jq -se '(.[] | select(.type == "header").begin_ns) as $begin |
	.[] | select(.type == "end").end_ns - $begin >= 3e8' timed/weft/sidecar
ok "nothing is recorded any more" until_true is_idle

# ---- several
"$WEFT" record --kernel=none --detach -o one >out 2>err
"$WEFT" record --kernel=none --detach -o two >out 2>err
"$WEFT" stop >out 2>err
is "of two, stop wants one named" $? 2
is "and lists them" "$(grep -c "^  $tap_dir/" err)" 2
"$WEFT" stop two >out 2>err
is "a name decides" $? 0
ok "the other one goes on" sh -c "'$WEFT' status --json | jq -es '.[0].dir == \"$tap_dir/one\"'"
"$WEFT" stop >out 2>err
is "the only one needs no name" $? 0
"$WEFT" record --kernel=none --detach -o three >out 2>err
"$WEFT" record --kernel=none --detach -o four >out 2>err
"$WEFT" stop --all >out 2>err
is "--all ends all" "$? $(grep -c 'events, ' err)" "0 2"
ok "both are written" sh -c 'grep -q "\"type\":\"end\"" three/weft/sidecar && grep -q "\"type\":\"end\"" four/weft/sidecar'

# ---- in another terminal
"$WEFT" record --kernel=none -o foreign -- "$numbers" -p 1000 >numbers3 2>err3 &
record=$!
until_true grep -q first numbers3
"$WEFT" stop foreign >out 2>err
is "a recording of another terminal can be ended, too" $? 0
wait $record
is "its record then ends with 0" $? 0
ok "and its last line" grep -q '^foreign: .* events, ' err3
ok "it is whole" is_consecutive foreign
ok "its program goes on" kill -0 "$(sed -n 's/^pid //p' numbers3)"
kill "$(sed -n 's/^pid //p' numbers3)"
ok "weft-consumerd is gone" until_true test ! -e "$WEFT_RUNDIR/control.sock"
done_testing

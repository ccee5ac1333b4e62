#!/bin/bash
# SPDX-License-Identifier: MIT
# weft report and weft verify-order on scripted histories; the numbers are worked out by hand from
# the events in the scripts.
. "${top_srcdir:-.}/tests/tap.sh"
command -v jq >/dev/null || skip_all "jq is not installed"

# to_trace NAME [SCRIPT]: the script, or standard input, as $tap_dir/NAME.
to_trace() {
	"$top_builddir/tests/script-to-trace" "${2:-/dev/stdin}" "$tap_dir/$1" || echo "# no trace of $1"
}

to_trace player "$top_srcdir/tests/data/why-starvation.script"
"$WEFT" report "$tap_dir/player" --json >"$tap_dir/report"
thread() {
	jq -c --argjson tid "$1" "select(.report == \"threads\" and .tid == \$tid) | [$2]" "$tap_dir/report"
}
# On CPU from 0.500 to 1.020 and from 21.620 to 21.800 ms; woken once, switched in twice.
is "the presenter ran for 0.700 ms and waited 20.580 ms for the queue" \
	"$(thread 101 .running_ns,.lock_ns,.switches,.wakeups)" "[700000,20580000,2,1]"
# On CPU from 0.100 to 0.200 and from 20.050 to 20.120; on the disk from 0.200 to 20.030.
is "the reader ran for 0.170 ms and waited 19.830 ms for the disk" \
	"$(thread 103 .running_ns,.block_io_ns)" "[170000,19830000]"
is "the frame's scope took 20.700 ms, the decoder's 1.470 ms" \
	"$(jq -c 'select(.report == "markers") | [.marker, .count, .max_ns]' "$tap_dir/report" | tr '\n' ' ')" \
	'["demo:frame",1,20700000] ["demo:decode",1,1470000] '
is "the summary counts every event" \
	"$(jq -c 'select(.report == "summary") | [.kernel_events, .markers, .discarded, .counts.sched_waking]' "$tap_dir/report")" \
	"[$(grep -c ' cpu[01] ' "$top_srcdir/tests/data/why-starvation.script"),4,0,3]"
"$WEFT" report "$tap_dir/player" markers >"$tap_dir/text"
ok "a report by name prints only that one, as text" awk '/^Markers/ { seen = 1 } /^Threads/ { exit 1 } END { exit !seen }' "$tap_dir/text"
"$WEFT" report "$tap_dir/player" nothing >"$tap_dir/text" 2>&1
is "a report that there is not is an error" "$?" 2

to_trace exit "$top_srcdir/tests/data/why-exit.script"
"$WEFT" report "$tap_dir/exit" threads --json >"$tap_dir/report"
# On CPU from 0.500 to 3.015 ms, when it was dead; the trace ends at 4.100.
is "the time after its end is none of a thread's" \
	"$(thread 102 .running_ns,.unknown_ns | head -n 1)" "[2515000,0]"

"$WEFT" verify-order "$tap_dir/player" --json >"$tap_dir/order"
is "an order without contradiction exits with 0" "$? $(jq -c .violations "$tap_dir/order")" "0 0"
# The decoder's scope begins 20 us after its switch in (20.140 after 20.120) and ends 5 us after its
# call (21.610 after 21.605); each of the three wakings came 20 us before its switch in.
is "the margins are those of the closest events" \
	"$(jq -c '[.margin_ns["marker-in-running"], .margin_ns["marker-outside-syscall"],
		.margin_ns["waking-before-switch-in"]]' "$tap_dir/order")" "[20000,5000,20000]"

# As many names as a hostile program may announce. Time on CPU, for others may run: far less than names times names.
many_names() {
	"$top_builddir/tests/write-sample-trace" "$tap_dir/many" 60000 60000 || return 1
	(ulimit -t 10 && exec "$WEFT" report "$tap_dir/many" markers --json) >"$tap_dir/report" &&
		[ "$(jq -r ".marker // .counter" "$tap_dir/report" | sort -u | wc -l)" -gt 5000 ] &&
		[ "$(jq -r ".marker // .counter" "$tap_dir/report" | sort | uniq -d | wc -l)" -eq 0 ]
}
ok "a report on thousands of names takes seconds, and has each once" many_names

to_trace broken <<SCRIPT
standard
class demo:here user n:u32
1000 cpu0 tid=0 sched_switch prev_tid=0 next_tid=101
1200 cpu0 tid=101 syscall_entry_read fd=3
1300 pid=101 tid=101 demo:here n=1
1400 cpu0 tid=101 syscall_exit_read ret=1
1500 cpu0 tid=101 sched_switch prev_tid=101 prev_state=1 next_tid=0
1700 pid=101 tid=101 demo:here n=2
1800 cpu1 tid=0 sched_waking tid=101 target_cpu=0
1900 cpu0 tid=0 sched_switch prev_tid=0 next_tid=101
SCRIPT
"$WEFT" verify-order "$tap_dir/broken" --json >"$tap_dir/order"
is "a marker in a call and one of a thread that slept are two violations, and exit with 1" \
	"$? $(jq -c '[.violations, .by_check["marker-outside-syscall"].violations,
		.by_check["marker-in-running"].violations]' "$tap_dir/order")" "1 [2,1,1]"
"$WEFT" verify-order "$tap_dir/broken" >"$tap_dir/text"
is "the text tells each violation" "$(grep -c '^violation: ' "$tap_dir/text")" 2

"$WEFT" verify-order "$tap_dir/nowhere" >"$tap_dir/text" 2>&1
is "no trace is an error" "$?" 2
done_testing

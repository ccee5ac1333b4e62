#!/bin/bash
# SPDX-License-Identifier: MIT
# weft report sched, irq, io and faults: on a scripted history, whose sums are worked out here by
# hand, without and with discarded events, and on a recording, where sums must agree.
. "${top_srcdir:-.}/tests/tap.sh"
command -v jq >/dev/null || skip_all "jq is not installed"

script=$top_srcdir/tests/data/usage.script
"$top_builddir/tests/script-to-trace" "$script" "$tap_dir/usage" || echo "# no trace"
for name in sched irq io faults; do
	"$WEFT" report "$tap_dir/usage" "$name" --json
done >"$tap_dir/json"
row() { jq -c "select(.report == \"$1\" and ($2)) | [$3]" "$tap_dir/json"; }

# 101: 1.000 to 2.000, 5.000 to 6.000, 7.200 to 8.000. It waits from 2.000 to 5.000 behind 300, and
# from 7.000 to 7.200 for an idle CPU.
is "the victim ran 2.8 ms in three turns, was preempted once and moved once" \
	"$(row sched '.tid == 101' '.running_ns,.switches,.preemptions,.migrations')" "[2800000,3,1,1]"
is "it waited twice for a CPU, 3.0 ms of it behind the hog" \
	"$(row sched '.tid == 101' '.delays,.delay_ns,.delay_p50_ns,.delay_max_ns,.ahead_tid,.ahead_ns')" \
	"[2,3200000,200000,3000000,300,3000000]"
# Of 300's first wait the begin is not known: it is no delay.
is "a wait that began before the trace is no delay" \
	"$(row sched '.tid == 300' '.running_ns,.delays,.delay_max_ns,.preemptions')" "[6000000,1,1000000,1]"
is "the recorded program and its children come first, then the busiest" \
	"$(jq -c 'select(.report == "sched") | .tid' "$tap_dir/json" | tr '\n' ' ')" "101 102 300 "
is "each CPU has its time, its switches and the waits that ended on it" \
	"$(row sched-cpu true '.cpu,.running_ns,.switches,.preemptions,.delays,.delay_max_ns' | tr '\n' ' ')" \
	"[0,8000000,5,2,2,3000000] [1,1800000,3,0,1,200000] "

# Softirq: 40 us on CPU 0, 7 of them the interrupt's that came meanwhile.
is "an interrupt's time is told with its device" \
	"$(row irq '.kind == "irq"' '.number,.name,.pci,.cpu,.count,.total_ns,.max_ns')" \
	'[36,"virtio1-req.0","0000:00:02.0",0,2,12000,7000]'
is "a softirq's time is without what interrupted it" \
	"$(row irq '.kind == "softirq" and .cpu == 0' '.name,.count,.total_ns,.wakings')" '["BLOCK",1,33000,0]'
is "whom a softirq woke is told" \
	"$(row irq '.kind == "softirq" and .cpu == 1' '.total_ns,.wakings,.woken_tid,.woken_count')" "[200000,1,101,1]"

# Reads: bios at 1.100 and 1.110, issued at 1.200, complete at 3.200; from 5.950 to 6.950.
# Write: from 2.500 to 3.020.
is "the disk had four requests, 8 + 4 + 1 KiB, one merged, one flush that did not end" \
	"$(row io '.thread == "all"' '.device,.requests,.reads,.writes,.flushes,.merges,.unfinished,.bytes')" \
	'["vda",4,2,1,1,1,1,13312]'
is "time in the queue and in the device are told apart" \
	"$(row io '.tid == 101' '.requests,.queue_max_ns,.device_max_ns')" "[2,100000,2000000]"
is "a request that was seen in no queue has no time there" \
	"$(row io '.tid == 300' '.requests,.queue_max_ns,.device_p50_ns')" "[2,null,520000]"

# Three in a row, 2 us apart: 3 x 2 us. The last leads to the wait from 6.000 to 7.000.
is "minor faults in a row and a major one have their times, those in calls are apart" \
	"$(row faults '.tid == 101' '.minor,.minor_ns,.major,.major_ns,.kernel')" "[3,6000,1,1100000,1]"
is "the file that most faults lie in is named" \
	"$(row faults '.tid == 101' '.file,.file_count')" '["/usr/lib/libslow.so",2]'
is "with nothing discarded every row is sound" "$(jq -r .sound "$tap_dir/json" | sort -u)" sound

for name in sched irq io faults; do
	"$WEFT" report "$tap_dir/usage" "$name"
done >"$tap_dir/text"
is "the text has every table, and no line of it is longer than 100 columns" \
	"$(grep -cE '^(Scheduling|Interrupts|Requests|Page faults)' "$tap_dir/text") $(awk 'length > 100' "$tap_dir/text")" "4 "
is "threads lists the recorded program first" \
	"$("$WEFT" report "$tap_dir/usage" threads --json | jq -c '[.tid, .recorded]' | tr '\n' ' ')" \
	"[101,true] [102,true] [300,false] "

# with_loss FROM TO: the same history, in which CPU 1 discards events.
with_loss() {
	rm -rf "$tap_dir/loss"
	{ cat "$script"; echo "loss cpu1 count=5 $1 $2"; } >"$tap_dir/loss.script"
	"$top_builddir/tests/script-to-trace" "$tap_dir/loss.script" "$tap_dir/loss" || echo "# no trace"
	for name in sched irq io faults; do
		"$WEFT" report "$tap_dir/loss" "$name" --json
	done >"$tap_dir/json"
}
with_loss 8100000 8200000
is "where a CPU discards, its own row may be too low, and every thread's may; another CPU's is sound" \
	"$(row sched '.tid == 101 or .tid == 300' .sound | tr '\n' ' ')$(row sched-cpu true .sound | tr '\n' ' ')" \
	'["maybe"] ["maybe"] ["sound"] ["maybe"] '
is "so it is with interrupts by CPU, disks and faults" \
	"$(row irq true .cpu,.sound | sort -u | tr '\n' ' ')$(row io '.thread == "all"' .sound)$(row faults true .sound)" \
	'[0,"sound"] [1,"maybe"] ["maybe"]["maybe"]'
"$WEFT" report "$tap_dir/loss" sched >"$tap_dir/text"
ok "the text says how many rows are lower bounds" grep -q 'events were discarded: ' "$tap_dir/text"
with_loss 2000000 7900000
is "where events of half the time are discarded nothing is known" \
	"$(row sched '.tid == 101' .sound)$(row sched-cpu true .sound | tr '\n' ' ')" '["unknown"]["sound"] ["unknown"] '

if [ "$(id -u)" != 0 ] || ! [ -e /sys/kernel/tracing/trace_pipe ]; then
	skip "a recording's sums agree with each other" "needs root and tracefs"
	done_testing
fi
export WEFT_RUNDIR=$tap_dir/run
mkdir -m 700 "$WEFT_RUNDIR"
head -c 4000000 /dev/zero >"$tap_dir/file"
"$WEFT" record -o "$tap_dir/real" -- sh -c "dd if=$tap_dir/file of=$tap_dir/copy bs=64k conv=fsync; sha256sum $tap_dir/copy" \
	>"$tap_dir/out" 2>&1
for name in threads sched irq io faults; do
	"$WEFT" report "$tap_dir/real" "$name" --json
done >"$tap_dir/json"
# Of threads, time on the CPU in which a page or a read was waited for is none of theirs.
is "of a recording, each thread ran at least as long as its tiles say" "$(jq -s -c '
	[.[] | select(.report == "threads") | {key: "\(.tid) \(.comm)", value: .running_ns}] as $tiles |
	[.[] | select(.report == "sched" and .sound == "sound" and .recorded)] as $rows |
	[$rows | length > 0,
	 ($rows | all(. as $row | any($tiles[]; (.key | startswith("\($row.tid) ")) and .value <= $row.running_ns)))]' \
	"$tap_dir/json")" "[true,true]"
is "as many waits for a CPU are told of threads as of CPUs" "$(jq -s -c '
	([.[] | select(.report == "sched") | .delays] | add) == ([.[] | select(.report == "sched-cpu") | .delays] | add)' \
	"$tap_dir/json")" true
is "as many faults are told as threads had" "$(jq -s -c '
	([.[] | select(.report == "threads") | .faults] | add) ==
	([.[] | select(.report == "faults") | .minor + .major + .kernel] | add)' "$tap_dir/json")" true
is "a disk's requests are those of the threads that asked" "$(jq -s -c '
	[.[] | select(.report == "io")] | group_by(.device) | all(
		([.[] | select(.thread == "all") | .requests] | add) ==
		([.[] | select(.thread != "all") | .requests] | add))' "$tap_dir/json")" true
is "interrupts and softirqs were seen" "$(jq -s -c '[.[] | select(.report == "irq") | .count] | add > 0' "$tap_dir/json")" true
done_testing

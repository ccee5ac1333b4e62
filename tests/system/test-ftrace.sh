#!/bin/bash
# SPDX-License-Identifier: MIT
# The ftrace backend against programs that do a known amount of work.
. "${top_srcdir:-.}/tests/tap.sh"
. "${top_srcdir:-.}/tests/system/instances.sh"
record=$top_builddir/tests/bridge-record
work=$top_builddir/tests/system/ftrace-work
export WEFT_BRIDGE=$top_builddir/weft-bridge

[ "$(id -u)" = 0 ] || skip_all "tracefs is root's: run as root"
[ "$(stat -f -c %T /sys/kernel/tracing 2>/dev/null)" = tracefs ] ||
	skip_all "no tracefs: mount -t tracefs tracefs /sys/kernel/tracing"
[ -w $instances ] || skip_all "no instance can be made in $instances"

# run OPTIONS... -- COMMAND...: its output in $tap_dir/out, a value of it by `value KEY`.
run() {
	"$record" "$@" >"$tap_dir/out" 2>"$tap_dir/err"
}
value() {
	sed -n "s/^$1=//p" "$tap_dir/out"
}
# A value that the work told.
told() {
	sed -n "s/^$1=//p" "$tap_dir/err"
}
counted() {
	sed -n "s/^count $1 //p" "$tap_dir/out"
}
# Everything written is accounted for, and in order.
sound() {
	is "$1: nothing is out of order" "$(value order)" 0
	is "$1: what is read and what is discarded is what was written" \
		"$(($(value read) + $(value discarded)))" "$(value written)"
}

ok "a recording of system calls runs" run -s syscall -- "$work" getppid 12345
is "each of 12345 calls is entered once" "$(counted syscall_entry_getppid)" 12345
is "and left once" "$(counted syscall_exit_getppid)" 12345
is "nothing is discarded" "$(value discarded)" 0
is "no event comes below a floor that was told" "$(value floor)" 0
sound "system calls"

run -s syscall -- "$work" fork 2345
is "the calls of a child are recorded" "$(counted syscall_entry_getppid)" 2345
run -s syscall -- "$work" thread 3456
is "those of a second thread as well" "$(counted syscall_entry_getppid)" 3456
while [ ! -e "$tap_dir/enough" ]; do "$work" getppid 100; done &
run -s syscall -- sleep 0.3
touch "$tap_dir/enough"
wait $!
is "those of a program that is not attached are not" \
	"$(counted syscall_entry_getppid) $(counted syscall_exit_exit_group)$(counted syscall_entry_exit_group)" " 1"

run -a -s syscall -i 5 -- "$work" getppid 1111
is "with everybody's recorded, they are there too" \
	"$([ "$(counted syscall_entry_getppid)" -ge 1111 ] && echo yes)" yes
run -a -t -s syscall -i 5 -- "$work" getppid 1000
ok "system calls of many are recorded" [ "$(value events)" -gt 100 ]
is "but never the tracer's own" "$(grep -c " tid=$(sed -n 's/^self=//p' "$tap_dir/out") " "$tap_dir/out")" 0

run -t -s sched -- "$work" pingpong 500
tid=$(told tid)
switched_in=$(grep -cE " sched_switch .* next_tid=$tid( |$)" "$tap_dir/out")
switched_out=$(grep -c " sched_switch .* prev_tid=$tid " "$tap_dir/out")
woken=$(grep -cE " sched_waking (comm=\"[^\"]*\" )?tid=$tid " "$tap_dir/out")
is "a thread that waits 500 times is woken for most of them" "$([ "$woken" -gt 250 ] && echo yes)" yes
# Once more in than out, or as often, by where the recording begins and ends; some kernels leave a few out.
is "and leaves the CPU as often as it enters it" \
	"$([ "$switched_in" -gt 250 ] && [ $((switched_in - switched_out)) -le 5 ] && [ $((switched_out - switched_in)) -le 5 ] && echo yes)" yes
sound "scheduling"

run -t -s fault -- "$work" faults 777
begin=$(($(told begin))) end=$(($(told end)))
touched=$(grep -o ' x86_exceptions_page_fault_user address=0x[0-9a-f]*' "$tap_dir/out" | cut -d= -f2 |
	while read -r address; do
		[ $((address)) -ge $begin ] && [ $((address)) -lt $end ] && echo "$address"
	done | wc -l)
is "each of 777 pages faults once, at its address" "$touched" 777

head -c 4096 /dev/urandom >"$tap_dir/data" && sync "$tap_dir/data"
woken_by_interrupt() { grep -Eq " ctx=(8|10|18) sched_waking (comm=\"[^\"]*\" )?tid=$tid " "$tap_dir/out"; }
# A fast disk may have answered before the thread slept: then it is not woken, and reads again.
for _ in $(seq 20); do
	run -t -s sched,block,irq,softirq -- "$work" read "$tap_dir/data"
	tid=$(told tid)
	! woken_by_interrupt || break
done
if [ "$(value status)" != 0 ] || ! grep -q "tid=$tid .* block_bio_queue" "$tap_dir/out"; then
	skip "a read past the cache is issued and completed" "this file system has no disk below it"
	skip "the thread is woken in interrupt context" "likewise"
else
	read -r dev sector < <(sed -n "s/.* block_rq_issue dev=\([0-9]*\) sector=\([0-9]*\) .*/\1 \2/p" "$tap_dir/out" | head -n 1) # the last one may still be under way
	ok "a read past the cache is issued and completed" \
		grep -q " block_rq_complete dev=$dev sector=$sector .*error=0" "$tap_dir/out"
	ok "the thread is woken in interrupt context" woken_by_interrupt
fi

# A program of 32 bits, without a library: exit(3) by i386's number 1, which is write for 64 bits. It sleeps before,
# for which table a program uses is seen only while it lives.
cat >"$tap_dir/small.c" <<'END'
static const int a_while[2] = {0, 200000000};
void _start(void)
{
	int result;
	__asm__ volatile("int $0x80" : "=a"(result) : "a"(20));
	__asm__ volatile("int $0x80" : "=a"(result) : "a"(162), "b"(a_while), "c"(0) : "memory");
	__asm__ volatile("int $0x80" : "=a"(result) : "a"(1), "b"(3));
}
END
if ${CC:-cc} -m32 -nostdlib -static -o "$tap_dir/small" "$tap_dir/small.c" 2>/dev/null && { "$tap_dir/small"; [ $? = 3 ]; }; then
	run -s syscall -- "$tap_dir/small"
	is "calls of a 32-bit program have its own names" \
		"$(counted compat_syscall_entry_getpid) $(counted compat_syscall_exit_getpid) $(counted compat_syscall_entry_exit)" "1 1 1"
	is "and only they" "$(counted syscall_entry_write)$(counted syscall_entry_writev)" ""
else
	skip "calls of a 32-bit program have its own names" "none can be built or run here"
	skip "and only they" "likewise"
fi

# A buffer of a few pages, drained rarely: most is overwritten.
run -k 16 -i 200 -s syscall -- "$work" getppid 200000
is "a tiny buffer discards events" "$([ "$(value discarded)" -gt 0 ] && echo yes)" yes
sound "tiny buffers"
run -k 64 -i 1 -s syscall -- "$work" getppid 200000
sound "small buffers drained often"
run -c mono -s syscall -- "$work" getppid 10
is "the kernel's monotonic clock will do" "$(counted syscall_entry_getppid)" 10

event=$(ls /sys/kernel/tracing/events/sched/sched_wakeup/format 2>/dev/null)
if [ -n "$event" ]; then
	run -s sched -e sched:sched_wakeup -d 0.2
	ok "an event asked for by name is recorded" [ -n "$(counted sched_wakeup)" ]
else
	skip "an event asked for by name is recorded" "this kernel has no sched:sched_wakeup"
fi
ok "an event that there is not is refused by name" \
	sh -c "! '$record' -e 'nonesuch:*' -d 0.1 2>'$tap_dir/err' && grep -q \"'nonesuch:\\*'\" '$tap_dir/err'"

find_watcher() {
	watcher=$(watcher_of "$bridge")
	[ -n "$watcher" ]
}
# hold: begins a recording that only waits; its pid in $holder, its bridge's in $bridge, and that one's
# watcher's in $watcher.
hold() {
	"$record" -h >"$tap_dir/held" &
	holder=$!
	until_true grep -q ready "$tap_dir/held"
	bridge=$(pgrep -P $holder -x weft-bridge)
	until_true find_watcher # it names itself, and puts its ends in order, once it runs
}
is_over() { [ ! -d "/proc/$1" ] || [ "$(ps -o stat= -p "$1" | cut -c1)" = Z ]; }
# ended PID...: they run no more, within 2 s.
ended() {
	local pid
	for pid; do
		within 2 is_over "$pid" || return 1
	done
}
hold
is "a recording has two instances, its bridge's" "$(left "$bridge")" 2
ok "and a watcher" [ -n "$watcher" ]
is "which holds nothing but its two ends and /dev/null" \
	"$(find "/proc/$watcher/fd" -type l -printf '%l\n' 2>/dev/null | sed 's/:.*//' | sort -u | tr '\n' ' ')" \
	"/dev/null anon_inode pipe "
is "in a session of its own" "$(ps -o sid= -p "$watcher" | tr -d ' ')" "$watcher"
is "the bridge has no capabilities, and can get none" \
	"$(sed -nE 's/^(CapPrm|CapEff|CapBnd|CapAmb|NoNewPrivs):\t//p' "/proc/$bridge/status" | tr '\n' ' ')" \
	"0000000000000000 0000000000000000 0000000000000000 0000000000000000 1 "
is "nor does it hold a buffer open to read" \
	"$(find "/proc/$bridge/fd" -type l -printf '%l\n' | grep -c trace_pipe_raw)" 0
kill -9 $holder
wait $holder 2>/dev/null
ok "a killed client's instances are gone within 2 s" within 2 is_removed "$bridge"
ok "and so are its bridge and the watcher" ended "$bridge" "$watcher"

hold
kill -9 "$bridge" $holder
wait $holder 2>/dev/null
ok "killed together with its bridge, likewise" within 2 is_removed "$bridge"
ok "and the watcher has ended" ended "$watcher"

# Without its watcher, what a killed bridge leaves is removed by the next start.
hold
kill -9 "$watcher" "$bridge" $holder
wait $holder 2>/dev/null
ended "$bridge"
is "killed together with the watcher it leaves them" "$(left "$bridge")" 2
is "but they record nothing any more" "$(cat $instances/weft-"$bridge"-*/tracing_on | sort -u)" 0
run -s sched -d 0.1
is "and the next start removes them" "$(left "$bridge")" 0
"$record" -s sched -d 0.5 >"$tap_dir/out" &
holder=$!
until bridge=$(pgrep -P $holder -x weft-bridge) && [ "$(left "$bridge")" = 1 ] || ended $holder; do :; done
wait $holder
is "a recording that ends leaves nothing" "$(left "$bridge")" 0
done_testing

#!/bin/bash
# SPDX-License-Identifier: MIT
# weft record, end to end: programs that end well, badly, or early; users; full disks.
. "${top_srcdir:-.}/tests/tap.sh"
. "${top_srcdir:-.}/tests/system/numbers.sh"
. "${top_srcdir:-.}/tests/system/instances.sh"
numbers=$top_builddir/tests/system/record-numbers
export WEFT_RUNDIR=$tap_dir/run
cd "$tap_dir" || exit 1

# ---- a program that ends by itself
"$WEFT" record --kernel=none -o plain -- "$numbers" -n 5000 -s 7 >out 2>err
is "the exit status is the program's" $? 7
ok "every marker is in the trace, in order" is_run plain 0 5000
ok "the last line says what was recorded" \
	grep -Eq '^plain: [0-9,]+ events, [0-9.]+ s, [0-9.]+ [kMG]B, 0 discarded, clock ±[0-9]+ ns$' err
is "nothing else is said in a pipe" "$(wc -l <err)" 1
ok "weft-consumerd ends with the last recording" until_true test ! -e "$WEFT_RUNDIR/control.sock"
ok "the thread has the name it gave itself" grep -q '"name":"numbers-main"' plain/weft/sidecar

"$WEFT" record --kernel=none -o threads -- "$numbers" -t 4 -n 20000 >out 2>err
every=0
for thread in 0 1 2 3; do
	is_run threads $thread 20000 && every=$((every + 1))
done
is "each of four threads is recorded in full and in order" $every 4
if command -v babeltrace2 >/dev/null; then
	is "babeltrace2 reads the same number of events" "$(babeltrace2 threads | wc -l)" \
		"$("$WEFT" dump threads | wc -l)"
else
	skip "babeltrace2 reads the same number of events" "no babeltrace2"
fi

"$WEFT" record --kernel=none -- "$numbers" -n 10 >out 2>err
ok "without -o the folder is named by date and time" test -d weft-[0-9]*-[0-9]*
"$WEFT" record --kernel=none -o chosen -m 'other:*' -- "$numbers" -n 10 >out 2>err
is "a marker that no pattern matches is not recorded" "$(steps chosen 0 | wc -l)" 0
is "a pattern that no marker matches is named, before the last line" \
	"$(sed -n 1p err)" "weft: record: no marker was recorded that matches 'other:*'"
"$WEFT" record --kernel=none -o unmatched -m 'numbers:*' -m numbers -m '!numbers:other' -- "$numbers" -n 10 >out 2>err
is "one without a provider is told what it may be, those that match or forbid are not named" \
	"$(sed -n 1p err)" "weft: record: no marker was recorded that matches 'numbers'; names are provider:name, so it may be 'numbers:*'"

# ---- one that is ended
# A name has several classes where its fields differ.
cat >results.c <<SOURCE
#include <marker/marker.h>
int main(void)
{
	{ MARKER_SCOPE(two, scope); MARKER_RESULT(MARKER_FIELD(first, 1)); }
	{ MARKER_SCOPE(two, scope); MARKER_RESULT(MARKER_FIELD(second, 2)); }
	return 0;
}
SOURCE
${CC:-cc} -I "$top_srcdir/libmarker/include" -o results results.c
"$WEFT" record --kernel=none -o results.trace -- ./results 2>err
is "the summary counts events by name, whatever their fields" \
	"$("$WEFT" report results.trace summary --json | jq -cS '[.events, .counts]')" \
	'[6,{"two:scope:begin":2,"two:scope:end":2,"weft:result":2}]'

"$WEFT" record --kernel=none -o killed -- "$numbers" -n 3000 -k >out 2>err
is "128 + 9 says that SIGKILL ended the program" $? 137
ok "all it had recorded by then is there" is_run killed 0 3000

# A shell starts what it puts in the background with ^C ignored.
rm -f out # what it says of an earlier program
env --default-signal=INT "$WEFT" record --kernel=none -o interrupted -- "$numbers" -p 1000 >out 2>err &
record=$!
until_true grep -q first out
kill -INT $record
wait $record
is "^C ends the program, and then the recording" $? 130
ok "what was recorded by then is written" is_consecutive interrupted 0
ok "and the last line is said" grep -q '^interrupted: ' err

"$WEFT" record --kernel=none -d 0.5 -o timed -- "$numbers" -p 1000 >out 2>err
is "when the time is up, record ends with 0" $? 0
program=$(sed -n 's/^pid //p' out)
ok "the program goes on without it" kill -0 "$program"
kill "$program"
ok "the recording is whole" is_run timed 0 "$(steps timed 0 | wc -l)"

"$WEFT" record --kernel=none -o words sh -c 'echo "$1"' sh --help >out 2>err
is "without -- too, a program has its own --help" "$(cat out)" "--help"

# ---- programs that cannot be preloaded, or have nothing to say
"$WEFT" record --kernel=none -o silent -- sh -c 'exit 3' >out 2>err
is "a program without markers is recorded too" $? 3
echo 'int main(void) { return 4; }' >still.c
if $CC -static -o still still.c 2>/dev/null; then
	"$WEFT" record --kernel=none -o static -- ./still >out 2>err
	is "a static program runs as always" $? 4
else
	skip "a static program runs as always" "$CC -static does not link"
fi
"$WEFT" record --kernel=none -o preload -- sh -c 'echo "$LD_PRELOAD"' >out 2>err
is "libmarker is preloaded" "$(cat out)" "$LIBMARKER"
LD_PRELOAD=/nowhere/other.so "$WEFT" record --kernel=none -o preload2 -- sh -c 'echo "$LD_PRELOAD"' >out 2>err
is "what was preloaded before stays, behind it" "$(cat out)" "$LIBMARKER:/nowhere/other.so"

# As if the program were of another architecture: ld.so would print that it cannot preload.
cp "$LIBMARKER" foreign.so
printf '\3\0' | dd of=foreign.so bs=1 seek=18 conv=notrunc 2>dd
printf '#!/bin/sh\necho "<$LD_PRELOAD>"\n' >script.sh
chmod +x script.sh
WEFT_LIBMARKER=$tap_dir/foreign.so "$WEFT" record --kernel=none -o foreign -- ./script.sh >out 2>err
is "of another architecture, it is not preloaded, nor into a script" "$(cat out)" "<>"
is "and that is said" "$(grep -c 'is not preloaded into .* another architecture' err)" 1

# ---- programs started without stdin, stdout or stderr
"$WEFT" record --kernel=none -o closed -- sh -c 'ls /proc/self/fd >fds; exit 5' <&- >&- 2>&-
is "without stdin, stdout and stderr all goes as always" $? 5
sh -c 'ls /proc/self/fd >fds2' <&- >&- 2>&-
is "and the program does not have them either" "$(cat fds)" "$(cat fds2)"
ok "the trace is whole" grep -q '"type":"end"' closed/weft/sidecar

# ---- a weft-consumerd that cannot start
mkdir -m 700 locked locked/consumerd.lock
WEFT_RUNDIR=$tap_dir/locked "$WEFT" record --kernel=none -o unstarted -- "$numbers" -n 1 >out 2>err
is "where weft-consumerd cannot start, the program is not run" "$?$(cat out)" 2
is "and one line says why" "$(wc -l <err) $(grep -c 'cannot lock .*: Is a directory' err)" "1 1"

# ---- a program that closes all descriptors, ours too, as daemons do
"$WEFT" record --kernel=none -o closing -- "$top_builddir/tests/system/marker-life" closing-all >out 2>err
is "a program that closes our connection is recorded on, with threads made later" \
	"$("$WEFT" dump closing --name life:around | wc -l)" 600
is "in full" "$(grep -c ', 0 discarded' err)" 1
"$WEFT" record --kernel=none -o becoming -- "$top_builddir/tests/system/marker-life" becoming 20 >out 2>err
is "one that becomes another program leaves nothing that keeps later ones out" \
	"$("$WEFT" dump becoming --name life:around | wc -l)" 210

# ---- a folder to meet in that is not ours
mkdir -m 755 open
for command in record status stop; do
	WEFT_RUNDIR=$tap_dir/open "$WEFT" $command >out 2>err
	is "$command does not meet weft-consumerd where others may enter" \
		"$? $(cat err)" "2 weft: $command: cannot meet weft-consumerd in $tap_dir/open: it is no folder of this user's alone; set WEFT_RUNDIR to a folder of yours, mode 0700"
done

# ---- a folder that goes while it is recorded into
for rotate in "" --rotate=100ms; do
	rm -rf taken
	"$WEFT" record --kernel=none $rotate -o taken -- "$numbers" -n 100 -p 5000 -s 9 >out 2>err &
	recorder=$!
	until_true test -e taken/part-000002 -o -e taken/user/metadata
	mv taken away
	mkdir taken
	wait $recorder
	is "a folder replaced while it is recorded into does not disturb the program${rotate:+, with $rotate}" $? 9
	is "it is said" "$(grep -c 'taken: its folder was removed or replaced' err)" 1
	is "nothing is written into the other one" "$(ls taken)" ""
	ok "what is in the first one can be read" test "$("$WEFT" dump away | wc -l)" -gt 0
	rm -rf away
done

# ---- mistakes
"$WEFT" record --kernel=none -o missing -- ./no-such-program >out 2>err
is "127 says that there is no such program" $? 127
is "in one line" "$(wc -l <err)" 1
"$WEFT" record --kernel=none -o missing -- ./still.c >out 2>err
is "126 says that it cannot be run" $? 126
mkfifo -m 755 fifo
timeout 20 "$WEFT" record --kernel=none -o not-a-file -- ./fifo >out 2>err
is "a FIFO is not waited for: it cannot be run" $? 126
"$WEFT" record --kernel=none -o plain -- "$numbers" -n 1 >out 2>err
is "a folder that is not empty is refused" $? 2
ok "and the line says what to do" grep -q 'plain exists and is not empty; name another' err
is "the program was not run then" "$(cat out)" ""
"$WEFT" record -o /sys/trace -- echo ran >out 2>err
ok "of a folder that cannot be made the reason is told" grep -Eq 'cannot create /sys/trace: .*(not permitted|denied|Read-only)' err
"$WEFT" record --kernel=nonsense -o missing -- "$numbers" -n 1 >out 2>err
is "a kind of events that does not exist is refused" $? 2
"$WEFT" record --backend=nonsense -o missing -- "$numbers" -n 1 >out 2>err
is "a backend that does not exist is refused" $? 2
"$WEFT" record --kernel=none -o missing -m $'\xff' -- "$numbers" -n 1 >out 2>err
is "a pattern that is not UTF-8 is refused" $? 2
"$WEFT" record --kernel=none -o missing -p 4294967297 -d 0.1 >out 2>err
is "so is a process number that is none" $? 2
"$WEFT" record --kernel=none -o missing -- '' >out 2>err
is "127 says that no program is named" $? 127
ok "nothing is left behind of those" test ! -e missing

# ---- a program that was there first
rm -f out2 # what it says of an earlier program
LD_PRELOAD=$LIBMARKER "$numbers" -t 2 -p 500 >out2 2>err2 &
program=$!
until_true grep -q 'first 1' out2
"$WEFT" record --kernel=none -d 0.5 -o joined >out 2>err
is "a recording of the whole machine ends by its time" $? 0
is "it tells when it has begun, and how to end it" "$(sed -n 1p err)" \
	"joined: recording; ^C or 'weft stop joined' ends it"
ok "a program that ran already is picked up" is_consecutive joined 0
ok "with all its threads" is_consecutive joined 1

# ---- two recordings at once
"$WEFT" record --kernel=none -d 2 -o first >out 2>err &
one=$!
until_true test -d first
"$WEFT" record --kernel=none -d 0.3 -m 'numbers:*' -o second >out3 2>err3
"$WEFT" record --kernel=none -p $program -d 0.3 -o third >out4 2>err4
wait $one
is "of two recordings at once, each has its own end" "$(grep -c ' events, ' err3)" 1
ok "the longer one is whole" is_consecutive first 0
ok "the shorter one inside it too" is_consecutive second 0
ok "and a third that came later" is_consecutive third 1
is "of a program with libmarker, nothing is said to be missing" "$(wc -l <err4)" 1
kill $program
wait $program 2>/dev/null
sleep 30 &
program=$!
"$WEFT" record --kernel=none -p $program -d 0.1 -o unlinked >out 2>err
is "of one without, it is said that markers are missing, and why" "$(grep -c "no markers of process $program: it has no libmarker" err)" 1
kill $program
wait $program 2>/dev/null

# ---- weft-consumerd killed
mkdir -m 700 other
WEFT_RUNDIR=$tap_dir/other "$CONSUMERD" --foreground 2>err5 &
daemon=$!
until_true test -S other/control.sock
kernel=none
has_tracefs && kernel=default
rm -f out # what it says of an earlier program
WEFT_RUNDIR=$tap_dir/other "$WEFT" record --kernel=$kernel -o cut -- "$numbers" -p 100 -n 30000 -s 5 >out 2>err &
record=$!
until_true grep -q first out
bridge=$(pgrep -P $record -x weft-bridge)
sleep 1.5
kill -KILL $daemon
wait $daemon 2>/dev/null
wait $record
is "when weft-consumerd is killed, the program goes on to its own end" $? 5
ok "record says so" grep -q 'weft-consumerd has ended' err
ok "the trace opens, with what is older than a second" is_consecutive cut 0
if has_tracefs; then
	ok "nothing stays in tracefs" until_true is_removed "${bridge:?}"
else
	skip "nothing stays in tracefs" "no tracefs, or not root"
fi
# ---- weft-consumerd stopped, as one whose disk stalls
export WEFT_RUNDIR=$tap_dir/stalled-run
"$WEFT" record --kernel=none -o stalled -- "$numbers" -n 100000 -p 1000 >out 2>err &
recorder=$!
until_true test -s stalled/user/markers_0
daemon=$(sed 's/ .*//' "$WEFT_RUNDIR/consumerd.lock")
kill -STOP "$daemon"
program=$(pgrep -P $recorder -x record-numbers)
sleep 0.7 # record has asked for the figures by now
kill "$program"
ok "the program's end is noticed while weft-consumerd does not answer" until_true is_ended "$program"
kill -INT $recorder
wait $recorder
is "^C ends the wait for it, with the program's status" $? 143
is "which is said" "$(tail -n 1 err)" "weft: record: weft-consumerd does not answer; what it wrote is in stalled"
kill -CONT "$daemon"
ok "once it can, it ends the recording" until_true grep -q '"type":"end"' stalled/weft/sidecar
ok "which is whole" is_consecutive stalled 0
export WEFT_RUNDIR=$tap_dir/run

# Stopped meanwhile, record hears of both ends in one round.
WEFT_RUNDIR=$tap_dir/other "$CONSUMERD" --foreground 2>err5 &
daemon=$!
until_true sh -c "WEFT_RUNDIR='$tap_dir/other' '$WEFT' status"
rm -f out # what it says of an earlier program
WEFT_RUNDIR=$tap_dir/other timeout -s KILL 30 "$WEFT" record --kernel=none -o both -- sh -c 'echo $PPID $$; exec sleep 60' >out 2>err &
record=$!
until_true grep -q . out
read -r stopped program <out
sleep 0.2
kill -STOP $stopped
kill $program
kill -KILL $daemon
wait $daemon 2>/dev/null
kill -CONT $stopped
wait $record
is "record ends when its program and weft-consumerd end at once" $? 143
WEFT_RUNDIR=$tap_dir/other "$WEFT" record --kernel=none -o again -- "$numbers" -n 100 >out 2>err
is "the next recording starts another one" "$(steps again 0 | wc -l)" 100

# ---- with the kernel
cat >script <<'END'
standard
class test:scripted user value:u32
1000000 cpu0 tid=5 sched_switch prev_comm="a" prev_tid=5 next_comm="b" next_tid=6
2000000 pid=5 tid=6 test:scripted value=17
3000000 cpu0 tid=6 sched_switch prev_comm="b" prev_tid=6 next_comm="a" next_tid=5
END
"$WEFT" record --backend=fake:script -o scripted -- "$numbers" -n 100 >out 2>err
is "scripted kernel events are recorded" "$("$WEFT" dump scripted | grep -c sched_switch)" 2
is "and scripted markers" "$("$WEFT" dump scripted | grep -c 'test:scripted')" 1
ok "and the program's, by the same clock" is_run scripted 0 100

if has_tracefs; then
	"$WEFT" record -o kernel -- "$numbers" -t 2 -n 2000 -p 100 >out 2>err
	is "with ftrace the exit status is the program's" $? 0
	ok "all markers are there" is_run kernel 1 2000
	tid=$("$WEFT" dump --json kernel | jq -r 'select(.name == "numbers:step" and .fields.thread == 1) | .tid' | head -n 1)
	# Some kernels do not tell of each switch out of idle: away from it they do.
	ok "so is the thread's scheduling" \
		test "$("$WEFT" dump --json kernel | jq -r --argjson tid "$tid" \
			'select(.name == "sched_switch" and (.fields.next_tid == $tid or .fields.prev_tid == $tid)) | .ts' | wc -l)" -gt 100
	ok "and its system calls" \
		test "$("$WEFT" dump --json kernel | jq -r --argjson tid "$tid" \
			'select((.name | startswith("syscall_entry_clock_nanosleep")) and .tid == $tid) | .ts' | wc -l)" -gt 100
	ok "interrupts have names and PCI addresses" grep -q '"type":"irq".*"pci":"' kernel/weft/sidecar
	ok "the state of the machine at the start is there" grep -q '"type":"thread","ns":[0-9]*,"tid":1,' kernel/weft/sidecar
	rm -f out2 # what it says of an earlier program
	LD_PRELOAD=$LIBMARKER "$numbers" -p 1000 >out2 2>err2 &
	program=$!
	until_true grep -q first out2
	"$WEFT" record -d 1 -o machine >out 2>err &
	record=$!
	"$WEFT" record -d 0.3 --kernel=sched -o beside >out3 2>err3
	is "two recordings at once may both have kernel events" $? 0
	wait $record
	kill $program
	wait $program 2>/dev/null
	ok "each has its own" test "$("$WEFT" dump beside | grep -c sched_switch)" -gt 0
	ok "a program that was picked up is traced as well" \
		test "$("$WEFT" dump machine | grep -c syscall_entry_clock_nanosleep)" -gt 100
	ok "babeltrace2 reads the same number of events" \
		test "$(babeltrace2 kernel 2>/dev/null | wc -l)" = "$("$WEFT" dump kernel | wc -l)"
else
	for sentence in "with ftrace the exit status is the program's" "all markers are there" \
		"so is the thread's scheduling" "and its system calls" "interrupts have names and PCI addresses" \
		"the state of the machine at the start is there" \
		"two recordings at once may both have kernel events" "each has its own" \
		"a program that was picked up is traced as well" "babeltrace2 reads the same number of events"; do
		skip "$sentence" "no tracefs, or not root"
	done
fi

# ---- an ordinary user
if [ "$(id -u)" = 0 ] && setpriv --reuid=65534 --regid=65534 --clear-groups test -x "$WEFT" 2>/dev/null &&
	setpriv --reuid=65534 --regid=65534 --clear-groups test -r "$LIBMARKER"; then
	chmod 711 "$tap_dir"
	mkdir -m 755 user && chown 65534:65534 user
	user="setpriv --reuid=65534 --regid=65534 --clear-groups env WEFT_RUNDIR=$tap_dir/user/run"
	mkdir -m 700 user/run && chown 65534:65534 user/run
elif [ "$(id -u)" != 0 ]; then
	mkdir -p user
	user="env WEFT_RUNDIR=$tap_dir/run"
fi
if [ -n "${user:-}" ]; then
	$user "$WEFT" record -o "$tap_dir/user/trace" -- "$numbers" -n 500 -s 6 >out 2>err
	is "an ordinary user records, too" $? 6
	ok "the markers" is_run user/trace 0 500
	ok "and one line says what is missing and what to do" test "$(grep -c 'no kernel events: ' err)" = 1
else
	skip "an ordinary user records, too" "nobody cannot enter $top_builddir"
	skip "the markers" "nobody cannot enter $top_builddir"
	skip "and one line says what is missing and what to do" "nobody cannot enter $top_builddir"
fi

# ---- files that may not grow any more
# limited KIB ARGUMENT...: records under such a limit
limited() {
	(
		ulimit -f "$1"
		shift
		WEFT_RUNDIR=$tap_dir/limit-run "$WEFT" record --kernel=none "$@" -- "$numbers" -p 1 -n 20000 -s 9 >out 2>err
	)
}
limited 100 -o ringless
is "a program whose files may not be as large as a ring runs on without one" $? 9
is "that its markers are missing is said" "$(grep -c "ringless: a program's limits .* leave no room for its markers" err)" 1
# What a sanitizer has to say of the trial itself is no finding: it goes to the trial's own stderr.
if (unset ASAN_OPTIONS; ulimit -v 24000; "$numbers" -t 2 -n 100 -s 9) >/dev/null 2>&1; [ $? = 9 ]; then
	"$WEFT" record --kernel=none -o narrow -- bash -c 'ulimit -v 24000; exec "$@"' sh "$numbers" -t 2 -n 100 -s 9 >out 2>err
	is "of little address space the program finds most left" "$? $(grep -c 'leave no room for its markers' err)" "9 1"
else
	skip "of little address space the program finds most left" "built with a sanitizer it needs more by itself"
fi
limited 300 --ring-size=64K -o limited
is "a limit on the size of the trace's files does not disturb the program" $? 9
ok "what could not be written for it is counted" grep -Eq '^limited: .* [1-9][0-9,]* of them not written' err
"$WEFT" dump limited >dumped
ok "what was written before can be read" test "$(wc -l <dumped)" -gt 100

# A small stack, as what is recorded may be tested with. The kernel takes up to 8 KiB of it for randomness, the dynamic
# loader 7 more, before anything of ours runs; sanitizers need more by themselves.
if ! nm -D "$LIBMARKER" | grep -q '__asan_init\|__tsan_init'; then
	(ulimit -S -s 32; "$WEFT" record --kernel=none -o stack -- "$numbers" -n 10 -s 9) >out 2>err
	is "weft has stack enough where the program is to have little" "$? $(grep -c '^stack: 11 events' err)" "9 1"
	(ulimit -S -s 32; "$WEFT" record --kernel=none -o stack2 -- cat /proc/self/limits) >out 2>err
	is "and hands on the limit that it was given" "$(awk '/^Max stack size/ { print $4 }' out)" 32768
	(ulimit -s 32; "$WEFT" record --kernel=none -o stack3 -- true) >out 2>err
	is "where it may not have more, it works or says so in a line" "$(wc -l <err) $(grep -c ' events, \|the stack is too small' err)" "1 1"
else
	skip "weft has stack enough where the program is to have little" "built with a sanitizer it needs more by itself"
fi
if command -v prlimit >/dev/null; then
	LD_PRELOAD=$LIBMARKER "$numbers" -p 1000 >out &
	program=$!
	until_true grep -q libmarker /proc/$program/maps
	prlimit --nofile=0:0 --pid $program
	"$WEFT" record --kernel=none -p $program -d 0.2 -o fileless >out 2>err
	is "of a program that may have no descriptor, markers are said to be missing" "$(grep -c "no markers of process $program: its limit on open files" err)" 1
	kill $program
	wait $program 2>/dev/null
else
	skip "of a program that may have no descriptor, markers are said to be missing" "no prlimit"
fi
for files in 16 18 20 22; do
	(ulimit -n $files && WEFT_RUNDIR=$tap_dir/few-run$files "$WEFT" record -o few$files -- true) 2>&1
done >err
is "without a descriptor for the kernel's buffers, that is what is said" "$(grep -c 'Protocol error' err)" 0

# ---- a full disk
if [ "$(id -u)" = 0 ] && unshare -m true 2>/dev/null; then
	mkdir small
	unshare -m sh -c "mount -t tmpfs -o size=600k none small &&
		WEFT_RUNDIR=$tap_dir/full-run '$WEFT' record --kernel=none -o small/trace -- '$numbers' -n 100000 -s 9 >out 2>err
		status=\$?
		'$WEFT' dump small/trace >dumped
		cp small/trace/weft/sidecar full-sidecar
		exit \$status"
	is "a full disk does not disturb the program" $? 9
	is "it is said once" "$(grep -c 'No space left' err)" 1
	ok "what could not be written is counted" grep -Eq '^small/trace: .* [1-9][0-9,]* discarded' err
	ok "from when to when that was is said" grep -Eq '[1-9][0-9,]* of them not written from [0-9.]+ s to [0-9.]+ s' err
	ok "and told in the trace, with its end" sh -c 'grep -q "\"source\":\"markers_0\"" full-sidecar && tail -n 1 full-sidecar | grep -q "\"type\":\"end\""'
	ok "what was written before can be read" test "$(wc -l <dumped)" -gt 100
else
	for sentence in "a full disk does not disturb the program" "it is said once" \
		"what could not be written is counted" "from when to when that was is said" \
		"and told in the trace, with its end" "what was written before can be read"; do
		skip "$sentence" "needs root and mount namespaces"
	done
fi
done_testing

#!/bin/bash
# SPDX-License-Identifier: MIT
# weft-consumerd by itself: standing alone, its folder, its end, and what it is told on its socket.
. "${top_srcdir:-.}/tests/tap.sh"
numbers=$top_builddir/tests/system/record-numbers
export WEFT_RUNDIR=$tap_dir/run
cd "$tap_dir" || exit 1

# steps TRACE: how many numbered markers it holds.
steps() {
	"$WEFT" dump "$1" | grep -c 'numbers:step'
}

generation() {
	od -A n -t u4 -N 4 "$WEFT_RUNDIR/control" | tr -d ' '
}

mkdir -m 700 broken
: >broken/control
WEFT_RUNDIR=$tap_dir/broken "$CONSUMERD" --foreground 2>err
is "of a folder that it cannot use it says what to do" "$? $(grep -c 'cannot use .*/broken: .*; remove it' err)" "1 1"
ok "--help tells the options" sh -c "'$CONSUMERD' --help | grep -q -- --exit-when-idle"
"$CONSUMERD" --nonsense >/dev/null 2>&1
is "an option that does not exist is a mistake" $? 2

mkdir -m 755 open
WEFT_RUNDIR=$tap_dir/open "$CONSUMERD" >out 2>err
is "a folder that others may enter is refused" $? 1
is "in one line" "$(wc -l <err)" 1

"$CONSUMERD" --foreground 2>err &
daemon=$!
ok "it makes its folder and listens there" until_true test -S run/control.sock
is "the folder is its user's alone" "$(stat -c %a run)" 700
"$CONSUMERD" --foreground 2>err2
is "a second one in the same folder gives up" $? 1
ok "and says why" grep -q 'another weft-consumerd is running' err2
is "nothing records yet" "$(generation)" 0

"$WEFT" record --kernel=none -o one -- "$numbers" -n 100 >out 2>&1
"$WEFT" record --kernel=none -o two -- "$numbers" -n 100 >out 2>&1
is "it serves one recording after the other" "$(steps one) $(steps two)" "100 100"
ok "and stays" kill -0 $daemon
is "nothing records any more" "$(generation)" 0

# ---- children, exec
"$WEFT" record --kernel=none -o children -- sh -c "'$numbers' -n 50; exec '$numbers' -n 70" >out 2>&1
is "programs that the program starts, or becomes, are recorded" "$(steps children)" 120

# ---- whoever asked for a recording dies
rm -f out
rm -f out # what it says of an earlier program
"$WEFT" record --kernel=none -o orphan -- "$numbers" -p 1000 >out 2>err3 &
record=$!
until_true grep -q first out
kill -KILL $record
wait $record 2>/dev/null
ok "a recording ends with the one who asked for it" until_true grep -q '"type":"end"' orphan/weft/sidecar
ok "and is whole" test "$(steps orphan)" -gt 0
kill "$(sed -n 's/^pid //p' out)"

# ---- what it is told
if command -v python3 >/dev/null; then
	cat >talk.py <<-'END'
		import json, os, resource, socket, sys, time
		def ask(line):
		    s = socket.socket(socket.AF_UNIX)
		    s.connect(os.environ["WEFT_RUNDIR"] + "/control.sock")
		    s.settimeout(20)
		    try:
		        s.sendall(line)
		        return s.makefile("rb").readline()
		    except ConnectionError:
		        return b""
		bad = [b"\n", b"{\n", b"[]\n", b"{}\n", b"17\n", b'{"command":1}\n', b'{"command":"nonsense"}\n', b"\xff\xfe\n",
		    b'{"command":"stop","session":99}\n', b'{"command":"start"}\n', b'{"command":"start","dir":"relative"}\n',
		    b'{"command":"start","dir":"/tmp/x","pid":-1}\n', b'{"command":"start","dir":"/tmp/x","markers":[1]}\n',
		    b'{"command":"start","dir":"/tmp/x","markers":"a"}\n', b'{"command":"start","dir":"/tmp/x","ring_size":99999999999}\n',
		    b'{"command":"start","dir":"/proc/no","kernel":"none"}\n', b"[" * 5000 + b"\n"]
		answers = [ask(line) for line in bad]
		refused = sum(1 for a in answers if a and json.loads(a)["ok"] is False)
		print(refused == len(bad))
		print(ask(b"x" * 200000) == b"")
		daemon = int(sys.argv[1])
		print(json.loads(ask(b'{"command":"list"}\n'))["pid"] == daemon)
		# ---- without a descriptor for who comes
		limits = resource.prlimit(daemon, resource.RLIMIT_NOFILE)
		resource.prlimit(daemon, resource.RLIMIT_NOFILE, (8, limits[1]))
		crowd = [socket.socket(socket.AF_UNIX) for i in range(8)]
		for s in crowd:
		    s.connect("run/control.sock")
		def ticks():
		    return sum(map(int, open(f"/proc/{daemon}/stat").read().split(") ")[1].split()[11:13]))
		time.sleep(0.2)
		before = ticks()
		time.sleep(1)
		print(ticks() - before < os.sysconf("SC_CLK_TCK") // 4)
		resource.prlimit(daemon, resource.RLIMIT_NOFILE, limits)
		crowd[-1].sendall(b'{"command":"list"}\n')
		print(json.loads(crowd[-1].makefile("rb").readline())["pid"] == daemon)
	END
	python3 talk.py $daemon >talked 2>&1
	is "each request that makes no sense is refused with a sentence" "$(sed -n 1p talked)" True
	is "a line without end loses its connection" "$(sed -n 2p talked)" True
	is "it still answers afterwards" "$(sed -n 3p talked)" True
	is "without a descriptor for those who come, it waits and does not spin" "$(sed -n 4p talked)" True
	is "and takes them in once it has one" "$(sed -n 5p talked)" True
else
	skip "each request that makes no sense is refused with a sentence" "no python3"
	skip "a line without end loses its connection" "no python3"
	skip "it still answers afterwards" "no python3"
	skip "without a descriptor for those who come, it waits and does not spin" "no python3"
	skip "and takes them in once it has one" "no python3"
fi

# ---- its own end
rm -f out # what it says of an earlier program
"$WEFT" record --kernel=none -o ended -- "$numbers" -p 500 -n 4000 -s 8 >out 2>err3 &
record=$!
until_true grep -q first out
kill -TERM $daemon
wait $daemon
is "SIGTERM ends it well" $? 0
ok "with all recordings written to their end" grep -q '"type":"end"' ended/weft/sidecar
is "the sockets are gone" "$(find run -name '*.sock')" ""
is "and all markers are off" "$(generation)" 0
wait $record
is "the program goes on to its own end" $? 8
is "it said nothing" "$(cat err)" ""

# ---- in the background
if [ "$(id -u)" = 0 ] && [ "$(cat /proc/sys/kernel/sched_autogroup_enabled 2>/dev/null)" = 1 ] && [ -e /proc/self/autogroup ]; then
	"$CONSUMERD" --background
	for pid in $(pgrep -f "$CONSUMERD --background"); do
		grep -qz "^WEFT_RUNDIR=$WEFT_RUNDIR\$" "/proc/$pid/environ" && daemon=$pid
	done
	is "root's session of its own stands above busy ones" "$(sed 's/.* nice //' "/proc/$daemon/autogroup")" -10
	kill "$daemon"
else
	skip "root's session of its own stands above busy ones" "not root, or a kernel without autogroups"
fi
done_testing

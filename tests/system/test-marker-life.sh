#!/bin/bash
# SPDX-License-Identifier: MIT
# Programs with markers that are interrupted, jump, fork, exec, end, are killed, are met while they run: what they
# committed is recorded, nothing is torn.
. "${top_srcdir:-.}/tests/tap.sh"
export WEFT_RUNDIR=$tap_dir/run
mkdir -m 700 "$WEFT_RUNDIR"
sink=$top_builddir/tests/marker-sink
life=$top_builddir/tests/system/marker-life
life_real=$life

# run MODE ARGS [-- SINK-OPTIONS]: records into $tap_dir/got, what the program did into $tap_dir/did.
run() {
	local args=() options=()
	while [ $# -gt 0 ] && [ "$1" != -- ]; do args+=("$1"); shift; done
	[ $# -gt 0 ] && shift && options=("$@")
	timeout 60 "$sink" "${options[@]}" -- "$life_real" "${args[@]}" >"$tap_dir/got" 2>"$tap_dir/did"
	status=$?
	grep -E '^#' "$tap_dir/got" | sed 's/^/# /'
}
did() { sed -n "s/^did $1 //p" "$tap_dir/did" | head -n 1; }
# How many records of that name.
nr() { awk -v n="$1" '$5 == n {c++} END {print c + 0}' "$tap_dir/got"; }
total() { sed -n "s/^#.* $1=\([0-9]*\).*/\1/p" "$tap_dir/got"; }
# Is the field of these records 0, 1, 2, ... in each thread?
in_order() { # NAME FIELD
	# Lanes are read one after the other; a stamp decides.
	sort -s -n -k1,1 "$tap_dir/got" | awk -v n="$1" -v f="$2" '
		$5 == n { split($6, kv, "="); id = $2 " " $3
			if (kv[1] != f || kv[2] != next_[id] + 0) bad = "not in sequence: " $0; next_[id] = kv[2] + 1; seen++ }
		END { if (bad || !seen) { print bad, seen + 0, "seen"; exit 1 } }'
}

never_back() {
	awk '/^[0-9]/ { lane = $2 " " $3 " " $4; if ($1 < last[lane]) { print; exit 1 } last[lane] = $1; n++ } END { if (!n) exit 1 }' "$tap_dir/got"
}

run plain 100000
is "a plain program's markers are all recorded" "$(nr life:plain) $(total discarded) $(total bad)" "100000 0 0"
ok "in order" in_order life:plain i

for mode in interrupted altstack; do
	run $mode 300000 -- --ring-size=33554432
	echo "# $(did handler) signals, $(awk '$5 == "life:handler" && $4 > 0 {c++} END {print c + 0}' "$tap_dir/got") of them inside a marker"
	is "$mode: every marker of program and handler is recorded" "$(nr life:main) $(nr life:handler) $(total bad)" \
		"$(did main) $(did handler) 0"
	ok "$mode: the program's are in order" in_order life:main i
	ok "$mode: the handler's are in order" in_order life:handler in_handler
	is "$mode: every text is whole" "$(grep -c 'text="some text of the main program"' "$tap_dir/got") $(grep -c 'text="from a handler"' "$tap_dir/got")" \
		"$(did main) $(did handler)"
	ok "$mode: some signals came inside a marker, or the test tests nothing" \
		[ "$(awk '$5 == "life:handler" && $4 > 0 {c++} END {print c + 0}' "$tap_dir/got")" -gt 0 ]
	ok "$mode: no stamp steps back in its lane" never_back
	is "$mode: errno stays" "$(did errno-changed)" 0
done

for mode in jumping jumping-altstack; do
	run $mode 200000 -- --ring-size=33554432
	echo "# $(did jumps) jumps out of handlers"
	ok "$mode: there were jumps, or the test tests nothing" [ "$(did jumps)" -gt 50 ]
	# A jump may come after the commit and before the program counts: then the number comes twice.
	is "$mode: every completed marker is recorded" \
		"$(awk '$5 == "life:jumped" {split($6, kv, "="); if (kv[2] >= 0) seen[kv[2]] = 1} END {for (i in seen) c++; print c + 0}' "$tap_dir/got") $(total bad) $(total discarded)" \
		"$(did completed) 0 0"
	ok "$mode: what was jumped out of is recovered: all later markers are in the first lane" \
		[ "$(awk '$5 == "life:after" && $4 == 0 {c++} END {print c + 0}' "$tap_dir/got")" = 1000 ]
done

run forking
is "fork: parent and child are recorded apart" "$(nr life:child) $(nr life:grandchild) $(nr life:parent) $(total bad)" "50 1 100 0"
is "by their own process numbers" "$(awk '$5 ~ /^life:(child|grandchild|cloned|parent)$/ {p[$2]=1} END {for (i in p) c++; print c}' "$tap_dir/got")" 4
is "a child past the library's fork is recorded too" "$(nr life:cloned) $(did cloned-status)" "20 0"
is "vfork: the child's marker is its parent's thread's" "$(nr life:vforked) $(did vforked-status)" "1 0"

run forked-threaded
is "a child's other thread may have its first marker" "$(nr life:child_thread) $(nr life:child_main) $(did child-status)" "1 20 0"

run forked-inside
is "a fork inside a marker tears nothing in the parent" "$(nr life:inside) $(total bad)" "$(nr life:inside) 0"
ok "and loses nothing" [ "$(awk -v p="$(did inside-pid)" '$5 == "life:inside" && $2 == p {c++} END {print c + 0}' "$tap_dir/got")" = "$(did inside)" ]
is "its children live" "$(did bad-children)" 0

run threads 8
is "threads that end: all their markers are recorded" "$(nr life:thread) $(total discarded) $(total bad)" "$(did thread) 0 0"
is "and those of their keys' destructors" "$(nr life:destructor)" "$(did destructor)"
ok "in order" in_order life:thread i
is "with their names" "$(grep -c 'weft:thread name="worker"' "$tap_dir/got")" 32

run killed 50000
is "SIGKILL: all that was committed is recorded" "$(nr life:plain) $status" "50000 137"
run executing 1000
is "exec: what was recorded before and after it" "$(nr life:plain)" 1007

run realtime
if [ -n "$(did not-permitted)" ]; then
	skip "a real-time thread gets a ring of the pool" "SCHED_FIFO is not permitted here"
else
	is "a real-time thread gets a ring of the pool" "$(nr life:realtime) $(total discarded)" "100 0"
fi
run realtime -- --pool=0
if [ -n "$(did not-permitted)" ]; then
	skip "without a pool it discards and counts" "SCHED_FIFO is not permitted here"
else
	is "without a pool it discards and counts" $(($(nr life:realtime) + $(total discarded))) 100
fi

run flood 3000000 -- --ring-size=65536 --slow
is "a full ring: recorded and discarded are what was written" $(($(nr life:flood) + $(total discarded))) 3000000
ok "there were some of both, or the test tests nothing" [ "$(nr life:flood)" -gt 0 -a "$(total discarded)" -gt 0 ]
ok "losses are told in the order of time" awk '{ if ($1 < last) exit 1; last = $1 } $5 == "DISCARDED" {seen = 1} END {exit !seen}' "$tap_dir/got"

# Where they begin depends on what the harness has open.
first=$("$life" closing "$tap_dir/file" 2>&1 | sed -n 's/^did first-descriptor //p')
run closing "$tap_dir/file"
is "a program's descriptors begin where they would without us" "$(did first-descriptor)" "$first"
is "one that closes ours is not written into" "$(did written-to-others)" 0
is "and is recorded on, over a new connection" "$(nr life:after_close) $(nr life:after_close_too) $(total programs)" "1 1 2"

gcc -std=gnu11 -O2 -fPIC -shared -I"$top_srcdir/libmarker/include" "$top_srcdir/tests/system/marker-plugin.c" -o "$tap_dir/plugin.so"
run plugin "$tap_dir/plugin.so"
is "dlopen, dlclose, five times: each is recorded" "$(nr plugin:run:begin) $(nr plugin:event) $(nr plugin:run:end) $(total bad)" "5 5 5 0"
run forked-busy "$tap_dir/plugin.so" -- --ring-size=65536
sed -n 's/^child /# child /p' "$tap_dir/did"
is "children of a process that is busy setting up are recorded, and do not wait for it" "$(nr life:busy_child) $(did bad-children)" "50 0"
(ulimit -n 64 && run closing "$tap_dir/file" && did first-descriptor >"$tap_dir/first")
is "nor do descriptors move where few are allowed" "$(cat "$tap_dir/first")" "$first"
if [ -x "$WEFT" ]; then
	LD_PRELOAD=$LIBMARKER "$life" lasting 2>/dev/null &
	pid=$!
	until [ "$("$WEFT" list $pid | grep -c life:lasting)" = 1 ] || ! kill -0 $pid; do read -r -t 0.05 <> <(:); done
	is "weft list finds the markers of a process" "$("$WEFT" list $pid | grep life:lasting)" "life:lasting  instant  i:s64"
	kill $pid
	wait $pid
else
	skip "weft list finds the markers of a process" "weft is not built"
fi
cat >"$tap_dir/host.c" <<'END'
#include <dlfcn.h>
int main(int argc, char **argv)
{
	for (int i = 0; i < 5; i++) {
		void *handle = dlopen(argv[argc - 1], RTLD_NOW), (*run)(int);
		*(void **)&run = dlsym(handle, "plugin_run");
		run(i);
		dlclose(handle);
	}
	return 0;
}
END
for linking in -pie -no-pie; do
	gcc -w $linking "$tap_dir/host.c" -o "$tap_dir/host"
	life_real=$tap_dir/host
	run "$tap_dir/plugin.so"
	life_real=$life
	is "a library with markers in a program without, $linking" "$(nr plugin:event) $status" "5 0"
done

# Met while it runs, by one consumer and then by another.
: >"$tap_dir/lasting"
LD_PRELOAD=$LIBMARKER "$life" lasting 2>"$tap_dir/lasting" &
lasting=$!
until grep -q started "$tap_dir/lasting"; do read -r -t 0.05 <> <(:); done
for consumer in first second; do
	"$sink" >"$tap_dir/got" 2>"$tap_dir/err" &
	pid=$!
	for _ in $(seq 200); do
		[ "$(grep -c life:lasting "$tap_dir/got")" -gt 0 ] && break
		read -r -t 0.05 <> <(:)
	done
	kill "$pid"
	wait "$pid"
	ok "a program that runs already is recorded by the $consumer consumer" [ "$(nr life:lasting)" -gt 0 ]
done
kill "$lasting"
wait "$lasting"
is "and ends as it would" $? 0

mkdir -m 700 "$tap_dir/empty"
WEFT_RUNDIR=$tap_dir/empty LD_PRELOAD=$LIBMARKER /bin/true
is "a program without markers makes nothing" "$(ls -A "$tap_dir/empty")" ""
needed=$(readelf -d "$LIBMARKER" | sed -n 's/.*NEEDED.*\[\(.*\)\]/\1/p' | grep -v '^ld-linux')
is "libmarker needs libc and nothing else" "$needed" "libc.so.6"
is "and exports its versioned symbols, and the two calls that it wraps" \
	"$(readelf -W --dyn-syms "$LIBMARKER" | awk '$5 == "GLOBAL" && $7 != "UND" && $4 != "OBJECT" {print $8}' | sort | xargs)" \
	"prctl syscall $(sed -n "s/^\t\(weft_.*\);/\1@@WEFT_1/p" "$top_srcdir/libmarker/libmarker.map" | xargs)"
is "in a static library all its other names begin with weft_" \
	"$(nm -g --defined-only "$top_builddir/.libs/libmarker.a" 2>/dev/null | awk 'NF == 3 && $3 !~ /^(weft_.*|prctl|syscall)$/ {print $3}')" ""
done_testing

#!/bin/bash
# SPDX-License-Identifier: MIT
# Programs that confine themselves by seccomp, give up the counter, or leave the folder behind where they meet consumerd, go
# on as they would alone: what has a ring by then, or still finds a way, is recorded; what is not is counted or said.
. "${top_srcdir:-.}/tests/tap.sh"
export WEFT_RUNDIR=$tap_dir/run
mkdir -m 700 "$WEFT_RUNDIR"
confined=$top_builddir/tests/system/marker-confined
grep -q '^Seccomp:' /proc/self/status || skip_all "this kernel has no seccomp"

# record POOL MODE: recorded and discarded, and the program's status.
record() {
	timeout 60 "$top_builddir/tests/marker-sink" --pool="$1" -- "$confined" "$2" >"$tap_dir/got" 2>"$tap_dir/err"
	status=$?
	echo "$(awk '$5 ~ /^confined:/ {c++} END {print c + 0}' "$tap_dir/got")" \
		"$(sed -n 's/^#.* discarded=\([0-9]*\).*/\1/p' "$tap_dir/got") $status"
}

# case_of SENTENCE POOL MODE RECORDED DISCARDED: where the program alone can do it.
case_of() {
	local alone
	timeout 60 "$confined" "$3" >"$tap_dir/alone" 2>&1
	alone=$?
	# SIGSYS: this libc, or a sanitizer in it, makes a call that the filter does not know.
	if [ $alone = 77 ] || [ $alone = 159 ]; then
		skip "$1" "the program alone ends with $alone here"
	else
		is "$1" "$(record "$2" "$3")" "$4 $5 0"
	fi
}

case_of "prctl and syscall do what libc's do" 1 wrapped 0 0
case_of "a filter by prctl: the thread goes on, and a thread that is new has a ring of the pool" 4 prctl 3000 0
case_of "a filter by syscall" 4 syscall 3000 0
case_of "a filter before the first marker" 4 first 2000 0
case_of "without a pool a new thread's markers are counted" 0 syscall 2000 1000
case_of "twenty threads under a filter: of those that find no ring all is counted" 5 many-threads 6000 16000
case_of "a filter for all threads: each goes on in its ring" 1 all 8000 0
case_of "a child of a filtered process: its markers are counted" 1 forked 2000 1000
case_of "a handler's marker inside a marker, under a filter" 1 interrupted 4000 0
case_of "a filter that the kernel refuses changes nothing" 0 refused 3000 0
if [ "$(uname -m)" = x86_64 ]; then
	case_of "strict mode takes the counter away: what follows is counted" 1 strict 1000 1000
	case_of "and when it comes before the first marker" 1 strict-first 0 1000
	case_of "a program that gives up the counter: what follows is counted, of new threads too" 1 without-counter 1000 2000
else
	skip "strict mode takes the counter away" "of x86 only"
fi
case_of "a program that is started under a filter that weft is not under records nothing" 1 executed 1000 0

# under_record MODE: what weft record says at the end, and the program's status.
under_record() {
	rm -rf "$tap_dir/trace"
	timeout 60 "$WEFT" record -o "$tap_dir/trace" --kernel=none -- sh -c '"$0" "$1" && sleep 0.3' "$confined" "$1" >"$tap_dir/out" 2>"$tap_dir/err"
	echo "$(sed -n 's/.*: \([0-9,]*\) events.*, \([0-9,]*\) discarded.*/\1 \2/p' "$tap_dir/err") $?"
}
if [ ! -x "$WEFT" ]; then
	skip "children that find no way to consumerd" "weft is not built"
elif [ "$(id -u)" != 0 ]; then
	skip "children that find no way to consumerd" "another user or root takes root"
else
	is "children of one that became another user are recorded" "$(under_record other-user)" "4,000 0 0"
	is "children in another root are recorded" "$(under_record other-root)" "4,000 0 0"
	is "a child that becomes another user after its parent has gone is recorded" "$(under_record daemon)" "2,000 0 0"
	is "children that may have no descriptor run on" "$(under_record no-descriptors)" "2,000 0 0"
	ok "and it is said that their markers are missing" grep -q "limits on memory, files or descriptors" "$tap_dir/err"
fi
done_testing

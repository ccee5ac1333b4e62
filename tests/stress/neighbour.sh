#!/bin/bash
# SPDX-License-Identifier: MIT
# neighbour.sh [SECONDS [ATTACK...]] - a program records numbered markers beside others that mean harm (hostile.c).
#
# The program's events are complete: none missing, twice, or discarded. weft-consumerd lives, takes no more memory than it
# may, and keeps no descriptors of programs that are gone; weft and, from 10 s on, babeltrace2 read the trace. SECONDS: 60.
# SEED: of the attacks (1). KEEP: a folder to keep a failed run in. Prints a line; exits 1 when something failed.
. "$(dirname "$0")/stress.sh"
seconds=${1:-60}
shift
max_kb=1000000 # the queues' limit of 256 MiB, and what may wait to be written
failures=
run=$stress_dir/run
mkdir -m 700 "$run"
trap 'rm -rf "$stress_dir"' EXIT

kb_of() {
	awk '/^(RssAnon|RssShmem)/ { kb += $2 } END { print kb + 0 }' "/proc/$1/status" 2>/dev/null
}

# Those of programs: the trace's own files come and go with what is late.
nr_fds_of() {
	find "/proc/$1/fd" -type l ! -lname "$stress_dir/trace*" | wc -l
}

# Until the attacks are over; the most memory it took.
watch_daemon() {
	local kb most=0
	while kill -0 "$attackers" 2>/dev/null; do
		kb=$(kb_of "$daemon")
		[ "${kb:-0}" -le $most ] || most=$kb
		sleep 0.1
	done
	echo $most
}

has_few_fds() {
	[ "$(nr_fds_of "$daemon")" -le $((nr_fds + 2)) ]
}

{
	WEFT_RUNDIR=$run "$WEFT" record --kernel=none -o "$stress_dir/trace" -- \
		"$COUNTED" -t 2 -p 1000 -b 10 "$stress_dir/counted" >"$stress_dir/out" 2>"$stress_dir/err"
	echo $? >"$stress_dir/status"
} &
until_true 20 test -s "$stress_dir/counted" || fail "no recording: $(head -n 1 "$stress_dir/err")"
daemon=$(pids_named "$run" weft-consumerd)
program=$(pids_named "$run" counted)
nr_fds=$(nr_fds_of "$daemon")
"$top_builddir/tests/stress/hostile" -s "${SEED:-1}" "$seconds" "$run" "$@" >"$stress_dir/attacks" &
attackers=$!
most=$(watch_daemon)
kill -0 "$daemon" 2>/dev/null || fail "weft-consumerd died"
until_true 10 has_few_fds || fail "$(nr_fds_of "$daemon") descriptors, before $nr_fds"
[ "$most" -le $max_kb ] || fail "too much memory"
kill "$program"
until_true 60 test -s "$stress_dir/status" || fail "weft record hangs"
[ "$(cat "$stress_dir/status")" = 0 ] || fail "status $(cat "$stress_dir/status"): $(head -n 1 "$stress_dir/err")"
timeout 600 "$WEFT" dump --name counted:step "$stress_dir/trace" 2>"$stress_dir/dump-err" |
	"$CHECK_COUNTED" -a "$stress_dir/counted" >"$stress_dir/check" || fail "markers"
[ ! -s "$stress_dir/dump-err" ] || fail "dump: $(head -n 1 "$stress_dir/dump-err")"
counted=$(jq -r "select(.type == \"thread\" and .pid == $program).tid" "$stress_dir/trace/weft/sidecar" | sort -u)
for tid in $counted; do
	! grep -q "\"source\":\"thread $tid\"" "$stress_dir/trace/weft/sidecar" || fail "discarded of thread $tid"
done
timeout 600 "$WEFT" report "$stress_dir/trace" summary >"$stress_dir/report" 2>&1 || fail "report: $(head -n 1 "$stress_dir/report")"
if [ "$seconds" -ge 10 ] && command -v babeltrace2 >/dev/null; then # it takes minutes
	timeout 600 babeltrace2 "$stress_dir/trace" 2>"$stress_dir/bt-err" | grep -c counted:step >"$stress_dir/bt"
	[ "$(cat "$stress_dir/bt")" = "$(sed -n 's/.*recorded \([0-9]*\).*/\1/p' "$stress_dir/check")" ] ||
		fail "babeltrace2: $(cat "$stress_dir/bt") events: $(grep -v WARNING "$stress_dir/bt-err" | head -n 1)"
fi
until_true 15 nobody_of "$run" || fail "left running"
echo "$seconds s: $(cat "$stress_dir/check"); consumerd at most $((most / 1024)) MiB; $(tail -n 1 "$stress_dir/err" | sed 's/.*: //');" \
	"attacks: $(tr '\n' ',' <"$stress_dir/attacks") ${failures:-ok}"
[ -n "$failures" ] || exit 0
[ -z "${KEEP:-}" ] || cp -a "$stress_dir" "$KEEP/"
exit 1

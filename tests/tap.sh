# SPDX-License-Identifier: MIT
# tap.sh - the harness for shell tests: source it, call ok/is/skip, end with done_testing.
#
#	ok "sentence" command args...       passes when the command succeeds; its output is shown when it fails
#	is "sentence" "$got" "$want"        passes when the two are equal
#	skip "sentence" "why"               printed and counted as skipped
#	skip_all "why"                      nothing of this file can run here; exits
#	done_testing                        the plan; exits 1 when something failed
#	until_true command args...          waits for a condition, 20 s at most
#	within seconds command args...      the same, where the time is a promise and not only a patience
#	is_ended pid                        it is there no more, not even as a zombie
#	has_tracefs                         may instances be made here?
#
# $top_builddir and $top_srcdir come from make check, and are absolute from here on: a test may cd. $WEFT, $CONSUMERD,
# $LIBMARKER name what was built.

tap_nr=0
tap_failed=0
top_builddir=$(realpath "${top_builddir:-.}")
top_srcdir=$(realpath "${top_srcdir:-.}")
WEFT=$top_builddir/weft
CONSUMERD=$top_builddir/weft-consumerd
LIBMARKER=$top_builddir/.libs/libmarker.so
export WEFT_CONSUMERD=$CONSUMERD WEFT_LIBMARKER=$LIBMARKER
tap_dir=$(mktemp -d "${TMPDIR:-/tmp}/weft-test.XXXXXX")
trap 'rm -rf "$tap_dir"' EXIT

ok() {
	tap_nr=$((tap_nr + 1))
	tap_sentence=$1
	shift
	if "$@" >"$tap_dir/output" 2>&1; then
		echo "ok $tap_nr - $tap_sentence"
	else
		echo "not ok $tap_nr - $tap_sentence"
		sed 's/^/# /' "$tap_dir/output" | tail -n 20
		tap_failed=$((tap_failed + 1))
	fi
}

is() {
	tap_nr=$((tap_nr + 1))
	if [ "$2" = "$3" ]; then
		echo "ok $tap_nr - $1"
	else
		echo "not ok $tap_nr - $1"
		printf 'got:  %s\nwant: %s\n' "$2" "$3" | sed 's/^/# /' | head -n 40
		tap_failed=$((tap_failed + 1))
	fi
}

skip() {
	tap_nr=$((tap_nr + 1))
	echo "ok $tap_nr - $1 # SKIP $2"
}

skip_all() {
	echo "1..0 # SKIP $1"
	exit 0
}

within() {
	local rounds=$(($1 * 20))
	shift
	for _ in $(seq $rounds); do
		if "$@" >/dev/null 2>&1; then
			return 0
		fi
		sleep 0.05
	done
	return 1
}

until_true() { within 20 "$@"; }

is_ended() { ! kill -0 "$1" 2>/dev/null; }

has_tracefs() { [ "$(id -u)" = 0 ] && [ -w /sys/kernel/tracing/instances ]; }

done_testing() {
	echo "1..$tap_nr"
	[ "$tap_failed" = 0 ]
	exit
}

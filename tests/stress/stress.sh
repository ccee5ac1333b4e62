# SPDX-License-Identifier: MIT
# stress.sh - what the campaigns share: source it.
#
#	$WEFT, $CONSUMERD, $LIBMARKER, $COUNTED, $CHECK_COUNTED   what was built
#	$stress_dir                                              a folder that goes with us, unless kept
#	until_true SECONDS COMMAND...                            waits for a condition
#	now_ms                                                   CLOCK_MONOTONIC, rounded down to 10 ms
#	pids_of RUN                                              the processes of a run folder
#	run_parallel JOBS FUNCTION COUNT                         FUNCTION 1..COUNT, so many at once
#	fail WORDS...                                            one more of $failures, which the campaign prints

top_builddir=$(realpath "${top_builddir:-.}")
top_srcdir=$(realpath "${top_srcdir:-.}")
export WEFT=${WEFT:-$top_builddir/weft}
export WEFT_CONSUMERD=${CONSUMERD:-$top_builddir/weft-consumerd}
export WEFT_LIBMARKER=${LIBMARKER:-$top_builddir/.libs/libmarker.so}
COUNTED=$top_builddir/tests/stress/counted
CHECK_COUNTED=$top_builddir/tests/stress/check-counted
stress_tracefs=/sys/kernel/tracing
stress_dir=$(mktemp -d "${TMPDIR:-/tmp}/weft-stress.XXXXXX")

until_true() {
	local end=$((SECONDS + $1))
	shift
	until "$@" >/dev/null 2>&1; do
		[ $SECONDS -le $end ] || return 1
		sleep 0.01
	done
}

fail() {
	failures="$failures${failures:+; }$*"
}

now_ms() {
	local up
	read -r up _ </proc/uptime
	echo $((10#${up/./} * 10))
}

has_tracefs() {
	[ "$(id -u)" = 0 ] && [ -w $stress_tracefs/instances ]
}

# Everything of a recording inherits the folder's name.
pids_of() {
	grep -lzsx "WEFT_RUNDIR=$1" /proc/[0-9]*/environ | sed 's|/proc/||; s|/environ||'
}

# pids_named RUN NAME: those of them with that name.
pids_named() {
	local pid name
	for pid in $(pids_of "$1"); do
		read -r name <"/proc/$pid/comm" && [ "$name" = "$2" ] && echo "$pid"
	done 2>/dev/null
}

# instances_of PID...: tracefs instances that these made.
instances_of() {
	local pid
	for pid in "$@"; do
		compgen -G "$stress_tracefs/instances/weft-$pid-*"
	done
}

no_instances_of() {
	[ -z "$(instances_of "$@")" ]
}

nobody_of() {
	[ -z "$(pids_of "$1")" ]
}

run_parallel() {
	local jobs=$1 function=$2 count=$3 i
	for i in $(seq "$count"); do
		while [ "$(jobs -rp | wc -l)" -ge "$jobs" ]; do
			wait -n
		done
		"$function" "$i" &
	done
	wait
}

#!/bin/bash
# SPDX-License-Identifier: MIT
# A few points of faults.sh: calls of a recording that fail.
. "${top_srcdir:-.}/tests/tap.sh"
export top_builddir top_srcdir

for target in weft-consumerd weft-bridge weft; do
	kernel=none
	[ $target = weft-bridge ] && has_tracefs && kernel=default
	KERNELS=$kernel bash "$top_srcdir/tests/stress/faults.sh" -j 2 -q $target >"$tap_dir/faults" 2>&1
	case $? in
	0) ok "whatever call of $target fails, the program and the trace are sound" true ;;
	77) skip "whatever call of $target fails, the program and the trace are sound" "it makes none without tracefs" ;;
	*) ok "whatever call of $target fails, the program and the trace are sound" \
		sh -c "grep -v '^weft' '$tap_dir/faults'; false" ;;
	esac
done

# is_survived SENTENCE POINT: a point that once was not.
is_survived() {
	ok "$1" bash "$top_srcdir/tests/stress/faults.sh" -p "$2"
}

is_survived "who cannot read what wakes it does its work nevertheless" "weft-consumerd none read 0 1 0 EIO"
done_testing

#!/bin/bash
# SPDX-License-Identifier: MIT
# A few of each kind of kill.sh: what is left when a part of a recording is killed.
. "${top_srcdir:-.}/tests/tap.sh"
export top_builddir top_srcdir
export CLEAN_MS=10000 # other work may keep the CPUs; how fast it is, kill.sh tells of many runs
seed=$RANDOM

# survives KIND SENTENCE
survives() {
	bash "$top_srcdir/tests/stress/kill.sh" -j 2 -s $seed "$1" 2 >"$tap_dir/killed" 2>&1
	case $? in
	0) ok "$2" true ;;
	77) skip "$2" "$(sed -n 's/.*: skipped, //p' "$tap_dir/killed")" ;;
	*) ok "$2" sh -c "cat '$tap_dir/killed'; false" ;;
	esac
}

survives program "all that a killed program has committed is recorded"
survives consumerd "of a killed weft-consumerd, what is older than a second is there; the program is picked up by the next"
survives bridge "of a killed weft-bridge, the markers are complete, and tracefs is as before"
survives watcher "of a killed watcher, nothing is noticed"
survives consumerd+bridge "of both killed, what is older than a second is there, and tracefs is as before"
survives everything "of everything killed, what is older than a second is there; the next recording cleans up"
done_testing

#!/bin/bash
# SPDX-License-Identifier: MIT
# A short run of snapshots.sh: a flight recorder of which a snapshot is taken over and over.
. "${top_srcdir:-.}/tests/tap.sh"
export top_builddir top_srcdir

ok "a snapshot each second, and memory stays as it is" \
	bash "$top_srcdir/tests/stress/snapshots.sh" -t 9 -i 1 -p 200 -S 1s -f "$tap_dir"
done_testing

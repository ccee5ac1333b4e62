#!/bin/bash
# SPDX-License-Identifier: MIT
# Two of conserve.sh's recordings: with heavy loss, and with none to speak of.
. "${top_srcdir:-.}/tests/tap.sh"
export top_builddir top_srcdir

for scale in 0 7; do
	ok "what is produced is recorded or told to be discarded, buffers of size $scale" \
		bash "$top_srcdir/tests/stress/conserve.sh" -n 30000 $scale
done
done_testing

#!/bin/bash
# SPDX-License-Identifier: MIT
# Beside programs that mean harm a recording is complete; neighbour.sh does it for longer.
. "${top_srcdir:-.}/tests/tap.sh"
export top_builddir top_srcdir

ok "beside hostile programs every marker of another program is recorded" \
	timeout 200 bash "$top_srcdir/tests/stress/neighbour.sh" 3
done_testing

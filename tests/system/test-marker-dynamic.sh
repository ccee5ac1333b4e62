#!/bin/bash
# SPDX-License-Identifier: MIT
# Markers made at run time (marker/dynamic.h): what is refused, what is recorded, by several threads and in a child.
. "${top_srcdir:-.}/tests/tap.sh"
[ -x "$WEFT" ] || skip_all "weft is not built"
export WEFT_RUNDIR=$tap_dir/run
mkdir -m 700 "$WEFT_RUNDIR"
cd "$tap_dir" || exit 1
include="-I$top_srcdir/libmarker/include"

built() {
	${CC:-cc} -Wall -Wextra -Werror -pthread $include "$top_srcdir/tests/system/marker-dynamic.c" \
		-L"$top_builddir/.libs" -Wl,-rpath,"$top_builddir/.libs" -lmarker -o dynamic
}
ok "a program that is linked with libmarker is built" built
header() { echo '#include <marker/dynamic.h>' | $1 -Wall -Wextra -Wpedantic -Werror $include -fsyntax-only -x $2 -; }
ok "the header is complete in itself" header "${CC:-cc}" c
ok "in C++ too" header "${CXX:-c++}" c++

refused='no name: 0
a field too few: 0
a code that is none: 0
17 fields: 0
an endless text: 0
no kind: 0
no level: 0
a message without a format: 0
one whose format is no literal: 0
one that limits a string: 0'
is "while nobody records nothing is, and what makes no sense is refused" "$(./dynamic)" \
	"recorded: 0 0
first: 0
too large: 0
unwanted: 0 0
errno: 5
$refused
there is an end: 1
afterwards: 0"
is "a recording takes what it wants" "$("$WEFT" record --kernel=none -m 'dynamic:*' -o trace -- ./dynamic 2>err)" \
	"recorded: 1 1
first: 1
too large: 0
unwanted: 0 0
errno: 5
$refused
there is an end: 1
afterwards: 1"
ok "nothing is discarded" grep -q ' 0 discarded' err
"$WEFT" dump trace >dump
is "before the child, in it, and after it" "$(grep -o 'dynamic:first .*\|dynamic:child.*' dump | tr -s ' ')" \
	'dynamic:first number=7 text="seven"
dynamic:first number=7 text="seven"
dynamic:child
dynamic:first number=7 text="seven"'
is "every event of every thread is there, in order" \
	"$(grep -o 'thread=.* number=.*' dump | tr -c '0-9\n' ' ' | awk '$2 != next_of[$1]++ { bad++ } END { for (i in next_of) print i, next_of[i]; print bad + 0 }' | sort | xargs)" \
	"0 0 1000 1 1000 2 1000 3 1000"
is "the thread has its name" "$(grep -c 'weft:thread.*"dynamic"' dump)" 2
done_testing

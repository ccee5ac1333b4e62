#!/bin/bash
# SPDX-License-Identifier: MIT
# marker.h: what it refuses, what it leaves behind when it is off, what it says without anybody to record it, and what
# weft list reads. That it records the same however it is built: test-header-matrix.sh.
. "${top_srcdir:-.}/tests/tap.sh"
export WEFT_RUNDIR=$tap_dir/run
mkdir -m 700 "$WEFT_RUNDIR"
src=$top_srcdir/tests/system
include="-I$top_srcdir/libmarker/include"

off() {
	local compiler language
	for pair in gcc:c clang:c g++:c++ clang++:c++; do
		compiler=${pair%:*} language=${pair#*:}
		command -v $compiler >/dev/null || continue
		$compiler -x $language -O2 -Wall -Wextra -Werror -DMARKER_OFF $include "$src/marker-types.c" \
			"$src/marker-types-other.c" -o "$tap_dir/types-off" || return 1
		"$tap_dir/types-off" || return 1
		! readelf -SW "$tap_dir/types-off" | grep weft || return 1
	done
}
ok "MARKER_OFF leaves nothing behind, and evaluates nothing" off

checked_when_off() {
	cat >"$tap_dir/wrong.c" <<-END
		#include <marker/marker.h>
		int main(void) { MARKER(a, b, not_declared); }
	END
	! gcc -DMARKER_OFF $include "$tap_dir/wrong.c" -o "$tap_dir/wrong" && ! gcc $include "$tap_dir/wrong.c" -o "$tap_dir/wrong"
}
ok "MARKER_OFF still checks the fields" checked_when_off

no_short_names() {
	cat >"$tap_dir/names.c" <<-END
		#define MARKER_NO_SHORT_NAMES
		#include <marker/marker.h>
		int main(void) { WEFT_MARKER(a, b, WEFT_MARKER_FIELD(c, 1)); { WEFT_MARKER_SCOPE(a, d); } WEFT_MARKER_RESULT(WEFT_MARKER_FIELD(e, 1)); return 0; }
	END
	for pair in gcc:c clang:c g++:c++ clang++:c++; do
		command -v ${pair%:*} >/dev/null || continue
		${pair%:*} -x ${pair#*:} -Wall -Wextra -Werror $include "$tap_dir/names.c" -o "$tap_dir/names" &&
			"$tap_dir/names" || return 1
		! ${pair%:*} -x ${pair#*:} $include -dM -E "$tap_dir/names.c" | grep '#define MARKER' |
			grep -vE ' MARKER_(NO_SHORT_NAMES|MARKER_H) ?$' || return 1
	done
}
ok "MARKER_NO_SHORT_NAMES hides the short names" no_short_names

# too_many COMPILER LANGUAGE
too_many() {
	echo "int main(void) { MARKER(demo, many, $(seq -s, 17)); return 0; }" |
		"$1" -x "$2" -include marker/marker.h $include -fsyntax-only - 2>&1 | grep -q a_marker_has_at_most_16_fields
}
ok "a marker with 17 fields is refused, and the error says why" too_many gcc c
ok "in C++ too" too_many g++ c++

# without_key COMPILER LANGUAGE
without_key() {
	local off
	for off in "" -DMARKER_OFF; do
		echo "int main(void) { MARKER_COUNTER(demo, depth); return 0; }" |
			"$1" -x "$2" $off -include marker/marker.h $include -fsyntax-only - 2>&1 | grep -q 'id, value or number is missing' || return 1
	done
}
ok "a counter without a value is refused, and the error says why" without_key gcc c
ok "in C++ too" without_key g++ c++

# strict COMPILER LANGUAGE STANDARD
strict() {
	local off
	for off in "" -DMARKER_OFF; do
		"$1" -x "$2" -std="$3" $off -Wall -Wextra -Wpedantic -Wconversion -Wshadow -Wundef -Werror $include \
			-fsyntax-only "$src/marker-types.c" || return 1
	done
}
for compiler in gcc clang; do
	for standard in c11 gnu11 c17 gnu2x c++17 gnu++17 c++20; do
		language=c sentence="$compiler, -std=$standard: no warning of -Wpedantic, -Wconversion, -Wshadow or -Wundef"
		[ "${standard#*++}" = "$standard" ] || language=c++
		if ! command -v $compiler >/dev/null; then
			skip "$sentence" "$compiler is not installed"
		else
			ok "$sentence" strict $compiler $language $standard
		fi
	done
done

alone() {
	"$tap_dir/types" # no libmarker, no consumer: nothing is evaluated but the last one's count
	local status=$?
	[ $status = 0 ] || { echo "exit $status"; return 1; }
}
gcc -O2 $include "$src/marker-types.c" "$src/marker-types-other.c" -o "$tap_dir/types"
ok "without libmarker a program runs as if it had no markers" alone
ok "and with libmarker while nobody records" env LD_PRELOAD="$LIBMARKER" "$tap_dir/types"

if [ -x "$WEFT" ]; then
	"$WEFT" list "$tap_dir/types" >"$tap_dir/list" 2>&1
	is "weft list reads names, kinds and types from the file" "$(grep -E '^(linux:unix|types:(outer|integers|strings|flow|span|depth|video)) ' "$tap_dir/list" | LC_ALL=C sort)" \
"linux:unix  instant  errno:s32, pts:s64, pts:s64, sum:s64, arg4:s32, last:s32
types:depth  counter  value:s64
types:flow  instant  x11:s32:flow_global, x11:s32:flow_global
types:integers  instant  s8:s8, u8:u8, s16:s16, u16:u16, s32:s32, u32:u32, s64:s64, u64:u64, yes:u8, color:u32, fixed:s32
types:outer  begin  due_ns:u64:due, frames:s32
types:outer  end
types:span  async_begin  id:u64:id, number:s32
types:span  async_end  id:u64:id, ret:s32
types:strings  instant  nothing:string, empty:string, name:string, literal:string
types:video  frame  frame:s32, due_ns:u64:due"
	levels() { "$WEFT" list "$tap_dir/types" --json | grep -E "\"types:($1)\"" | grep -o '"level":[0-9]' | sort | tr '\n' ' '; }
	is "each marker has its level" "$(levels 'detail|failure|warned|floats')" '"level":3 "level":4 "level":6 "level":7 '
	list_json() {
		"$WEFT" list "$tap_dir/types" --json | jq -es '[.[] | select(.name == "linux:unix")] | length == 1 and .[0].fields[0].name == "errno"'
	}
	if command -v jq >/dev/null; then
		ok "weft list --json is JSON" list_json
	else
		skip "weft list --json is JSON" "jq is not installed"
	fi
	ok "weft list on what is no program says so and exits 2" sh -c '"$1" list /etc/passwd 2>&1 | grep -q "no ELF"; "$1" list /etc/passwd 2>/dev/null; [ $? = 2 ]' - "$WEFT"
else
	skip "weft list reads names, kinds and types from the file" "weft is not built"
fi
done_testing

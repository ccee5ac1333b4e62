#!/bin/bash
# SPDX-License-Identifier: MIT
# marker.h: gcc and clang, C and C++, PIE, no-PIE, static, shared, -O0 and -O2: each build records the same,
# and weft list reads the same from the file.
. "${top_srcdir:-.}/tests/tap.sh"
export WEFT_RUNDIR=$tap_dir/run
mkdir -m 700 "$WEFT_RUNDIR"
sink=$top_builddir/tests/marker-sink
src=$top_srcdir/tests/system
include="-I$top_srcdir/libmarker/include"
longest=$(printf 'a%.0s' {1..255})
longer=$(printf 'b%.0s' {1..251})…

# Written by hand: what marker-types.c says.
cat >"$tap_dir/want" <<END
weft:thread name="types"
types:integers s8=-8 u8=200 s16=-1600 u16=60000 s32=-2147483648 u32=4294967295 s64=-9223372036854775808 u64=18446744073709551615 yes=1 color=7 fixed=5
types:floats f32=1.5 f64=-2.25 f80=4.5
types:strings nothing="(null)" empty="" name="comm-of-16-byte" literal="100%d, ("x")"
types:longest longest="$longest"
types:longer longer="$longer"
types:pointers pointer=0x1234 null=0x0
types:bits wide=549755813888 negative=-3 is_key=1
types:small_bits small=17
linux:unix errno=3 pts=98112 pts=8 sum=98113 arg4=3 last=9
types:long_name
types:by_hand:begin frames=3
types:by_hand:end ret=-1
types:outer:begin due_ns=123456789 frames=3
types:inner:begin packet=3
weft:result frames=3 twice=6
types:inner:end
types:loop:begin i=0
types:loop:end
types:loop:begin i=1
types:loop:end
types:outer:end
types:flow x11=3 x11=8
types:span:async_begin id=1099511627776 number=3
types:span:async_end id=1099511627776 ret=0
types:pointer_span:async_begin id=0x1234
types:depth value=98112
types:load value=0.5
types:video frame=3 due_ns=5
types:audio period=3
types:detail number=3
types:failure
types:warned number=3
types:flow2 x11=3 x11=9 number=3
types:in_inline value=1
types:in_inline value=2
CXX1
types:in_other_file
CXX2
types:keeps_errno five=5
types:evaluated once=1
types:enabled
END
cxx1='types:in_shared value=6'
cxx2='types:in_template value=4
types:template_scope:begin value=4
types:template_scope:end
types:in_template value="four"
types:template_scope:begin value="four"
types:template_scope:end
types:in_template value=1
types:template_scope:begin value=1
types:template_scope:end
types:in_shared value=5'

# record PROGRAM LANGUAGE: runs it and compares; LIBMARKER preloaded unless it is static.
recorded_as_wanted() {
	if [ "$2" = c++ ]; then
		awk -v a="$cxx1" -v b="$cxx2" '$0 == "CXX1" {print a; next} $0 == "CXX2" {print b; next} 1' "$tap_dir/want"
	else
		grep -v CXX "$tap_dir/want"
	fi >"$tap_dir/want.now"
	"$sink" --marker='!unwanted:*' -- "$1" >"$tap_dir/got" 2>"$tap_dir/err" || {
		echo "exit status $?"
		cat "$tap_dir/err"
		return 1
	}
	grep -v '^#' "$tap_dir/got" | cut -d' ' -f5- | sed 's/ $//' >"$tap_dir/got.now"
	diff "$tap_dir/want.now" "$tap_dir/got.now" && tail -n 1 "$tap_dir/got" | grep -q 'discarded=0 bad=0'
}

built_and_recorded() { # COMPILER LANGUAGE LINKING OPTIMISATION
	local std=gnu11 extra=()
	[ "$2" = c++ ] && std=gnu++17
	case $3 in
	pie) extra=(-fPIE -pie) ;;
	no-pie) extra=(-fno-PIE -no-pie) ;;
	static) extra=(-static -Wl,-u,weft_marker_object_v1) ;;
	lto) extra=(-flto) ;;
	esac
	"$1" -x "$2" -std=$std -Wall -Wextra -Werror "$4" "${extra[@]}" $include "$src/marker-types.c" \
		"$src/marker-types-other.c" -x none $([ "$3" = static ] && echo "$top_builddir/.libs/libmarker.a") \
		-o "$tap_dir/types" || return 1
	if [ "$3" = static ]; then
		WEFT_LIBMARKER= recorded_as_wanted "$tap_dir/types" "$2"
	else
		recorded_as_wanted "$tap_dir/types" "$2"
	fi
}

for pair in gcc:c clang:c g++:c++ clang++:c++; do
	compiler=${pair%:*} language=${pair#*:}
	for linking in pie no-pie static lto; do
		for optimisation in -O0 -O2; do
			sentence="$compiler, $language, $linking, $optimisation records every type and name"
			if ! command -v $compiler >/dev/null; then
				skip "$sentence" "$compiler is not installed"
			elif [ $linking = lto ] && [ "${compiler#clang}" != "$compiler" ]; then
				continue # needs lld or a plugin; gcc's is the one that parts files into units
			else
				ok "$sentence" built_and_recorded $compiler $language $linking $optimisation
			fi
		done
	done
done

# As part of a library: the program itself has no markers.
cat >"$tap_dir/main.c" <<END
int types_main(void);
int main(void) { return types_main(); }
END
in_a_library() {
	gcc -std=gnu11 -O2 -fPIC -shared -Dmain=types_main $include "$src/marker-types.c" "$src/marker-types-other.c" \
		-o "$tap_dir/libtypes.so" &&
		gcc "$tap_dir/main.c" -L"$tap_dir" -ltypes -Wl,-rpath,"$tap_dir" -o "$tap_dir/types" &&
		recorded_as_wanted "$tap_dir/types" c
}
ok "markers in a shared library are recorded" in_a_library

linked() {
	gcc -std=gnu11 -O2 $include "$src/marker-types.c" "$src/marker-types-other.c" -L"$top_builddir/.libs" \
		-Wl,--no-as-needed -lmarker -Wl,-rpath,"$(realpath "$top_builddir/.libs")" -o "$tap_dir/types" &&
		WEFT_LIBMARKER= recorded_as_wanted "$tap_dir/types" c
}
ok "a program linked with libmarker is recorded without a preload" linked

sections() {
	gcc -std=gnu11 -Os -ffunction-sections -fdata-sections -Wl,--gc-sections -fstack-protector-all -fcf-protection \
		-pthread -g $include "$src/marker-types.c" "$src/marker-types-other.c" -o "$tap_dir/types" &&
		recorded_as_wanted "$tap_dir/types" c
}
ok "-Os, sections collected, hardening: records the same" sections

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
		#if defined(MARKER) || defined(MARKER_SCOPE) || defined(MARKER_FIELD) || defined(MARKER_THREAD) || defined(MARKER_BEGIN)
		#error short names
		#endif
		int main(void) { WEFT_MARKER(a, b, WEFT_MARKER_FIELD(c, 1)); { WEFT_MARKER_SCOPE(a, d); } WEFT_MARKER_RESULT(WEFT_MARKER_FIELD(e, 1)); return 0; }
	END
	gcc -Wall -Wextra -Werror $include "$tap_dir/names.c" -o "$tap_dir/names" && "$tap_dir/names"
}
ok "MARKER_NO_SHORT_NAMES hides the short names" no_short_names

pedantic() {
	gcc -std=gnu11 -O2 -Wall -Wextra -Wshadow -Wconversion -Wundef -Wno-conversion -Werror $include -c "$src/marker-types.c" -o "$tap_dir/o.o"
}
ok "the header gives no warnings with -Wshadow and -Wundef" pedantic

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
		"$1" -x "$2" -std="$3" -D_GNU_SOURCE $off -Wall -Wextra -Wpedantic -Werror $include \
			-fsyntax-only "$src/marker-types.c" || return 1
	done
}
for compiler in gcc clang; do
	if ! command -v $compiler >/dev/null; then
		skip "strict C11 and C++17 do not warn: $compiler" "$compiler is not installed"
		continue
	fi
	ok "strict C11 does not warn: $compiler" strict $compiler c c11
	ok "strict C++17 does not warn: $compiler" strict $compiler c++ c++17
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

#!/bin/bash
# SPDX-License-Identifier: MIT
# Markers in C++: strings of all sorts, types with a marker_value(), and scopes that exceptions leave. What is recorded
# is written here by hand.
. "${top_srcdir:-.}/tests/tap.sh"
command -v g++ >/dev/null || skip_all "g++ is not installed"
src=$top_srcdir/tests/system/marker-cxx.cc
include="-I$top_srcdir/libmarker/include"
warnings="-Wall -Wextra -Wconversion -Wshadow -Wundef -Wpedantic -Werror"

cat >"$tap_dir/want" <<END
cxx:strings name="name" fixed="fixed" empty="" made="rvalue, made" owned="owned"
cxx:views view="part" none="" bytes="abc" two="xy" cut="ab"
cxx:longest longest="$(printf 'a%.0s' {1..255})"
cxx:longer longer="$(printf 'b%.0s' {1..252})…"
cxx:nul nul="up to"
cxx:told state="playing" player="idle" source="source clip.mp4" at=2.5 heat=36.5
cxx:heat value=-2
cxx:numbers color=-3 tiny=255 yes=1 f32=0.5 byte=7 pointer=0x1234 nothing=0x0 reference=-5 letter=65
cxx:atomics counted=-4 state="playing" flag=1
cxx:durations elapsed=1500000000 seconds=250000000 hours=93600000000000 negative=-3000 at=5007
cxx:due due_ns=5007
cxx:due due_ns=12
cxx:put:begin item="text"
cxx:in_lambda depth=0 item="text"
cxx:in_lambda depth="1" item="text"
cxx:put:end
cxx:put:begin item="idle"
cxx:in_lambda depth=0 item="idle"
cxx:in_lambda depth="1" item="idle"
cxx:put:end
cxx:outer:begin
cxx:throwing:begin depth=1
cxx:throwing:begin depth=0
cxx:destroyed
cxx:throwing:end
cxx:destroyed
cxx:throwing:end
cxx:caught what="unwound"
cxx:out_of_range
cxx:outer:end
END

# recorded COMPILER FLAGS...
recorded() {
	"$@" $warnings $include "$src" -o "$tap_dir/cxx" || return 1
	rm -rf "$tap_dir/run"
	mkdir -m 700 "$tap_dir/run"
	ASAN_OPTIONS=verify_asan_link_order=0 WEFT_RUNDIR=$tap_dir/run "$top_builddir/tests/marker-sink" --marker='!unwanted:*' -- "$tap_dir/cxx" >"$tap_dir/got" || return 1
	grep -v '^#' "$tap_dir/got" | cut -d' ' -f5- | sed 's/ $//' | diff "$tap_dir/want" - &&
		tail -n 1 "$tap_dir/got" | grep -q 'discarded=0 bad=0'
}

off() {
	"$@" $warnings -DMARKER_OFF $include "$src" -o "$tap_dir/off" && "$tap_dir/off" && ! readelf -SW "$tap_dir/off" | grep weft
}

for compiler in g++ clang++; do
	for flags in "-O0 -std=c++17" "-O2 -std=c++17" "-O2 -std=c++20" "-O1 -std=c++17 -fsanitize=address,undefined"; do
		sentence="$compiler $flags: every field, every scope's end"
		if ! echo 'int main() {}' | $compiler $flags -x c++ - -o "$tap_dir/nothing" 2>/dev/null; then
			skip "$sentence" "$compiler cannot do it here"
		else
			ok "$sentence" recorded $compiler $flags
		fi
	done
	if command -v $compiler >/dev/null; then
		ok "$compiler: MARKER_OFF leaves nothing behind" off $compiler -std=c++17
	else
		skip "$compiler: MARKER_OFF leaves nothing behind" "$compiler is not installed"
	fi
done

# refused OPTIONS: a type that says nothing of itself.
refused() {
	echo 'struct unknown {}; int main() { MARKER(a, b, MARKER_FIELD(c, unknown{})); }' |
		g++ -std=c++17 $1 $include -include marker/marker.h -x c++ -fsyntax-only - 2>&1 | grep -q 'has a marker_value()'
}
ok "a type that has no marker_value() is refused, and the error says what is missing" refused
ok "under MARKER_OFF too" refused -DMARKER_OFF
one_error() {
	[ "$(echo 'struct unknown {}; int main() { MARKER(a, b, MARKER_FIELD(c, unknown{})); }' |
		g++ -std=c++17 $include -include marker/marker.h -x c++ -fsyntax-only - 2>&1 | grep -c error:)" = 1 ]
}
ok "and says nothing else" one_error
wall_clock() {
	echo '#include <chrono>
		int main() { MARKER(a, b, MARKER_DUE(std::chrono::system_clock::now())); }' |
		g++ -std=c++17 $include -include marker/marker.h -x c++ -fsyntax-only - 2>&1 | grep -q 'MARKER_DUE takes a time of std::chrono::steady_clock'
}
ok "a due time of another clock is refused" wall_clock
done_testing

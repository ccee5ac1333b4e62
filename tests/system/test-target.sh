#!/bin/bash
# SPDX-License-Identifier: MIT
# ./configure --enable-target: the recording side alone builds out of tree and records, and a full
# weft reads what it recorded.
. "${top_srcdir:-.}/tests/tap.sh"
[ -x "$top_srcdir/configure" ] || skip_all "the source has no configure: run autogen.sh"
source=$top_srcdir
full_weft=$WEFT
build=$tap_dir/build
mkdir "$build"
cd "$build" || exit 1

configured() { "$source/configure" --enable-target --prefix="$tap_dir/install" CC="${CC:-cc}" CXX="${CXX:-c++}" >configure.log 2>&1 || { tail configure.log; false; }; }
ok "configure --enable-target succeeds" configured
ok "it builds and installs" bash -c 'make -j2 install >make.log 2>&1 || { grep -m 5 error make.log; false; }'
is "what reads traces is not in it" "$(find . -name 'libreport.la' -o -name 'report-*.o' -o -name 'cmd-why*.o'; find "$tap_dir/install" -name 'weft-why*')" ""
# Of libraries that are not libc's or weft's own.
is "it needs three libraries, and what these need" \
	"$(for file in "$tap_dir"/install/bin/weft "$tap_dir"/install/libexec/weft-* "$tap_dir"/install/lib/libmarker.so; do
		objdump -p "$file" | awk '/NEEDED/ { sub(/\.so.*/, "", $2); print $2 }'
	done | grep -vE '^(libc|libm|ld-linux.*|libmarker|libpthread)$' | sed 's/^liburcu-.*/liburcu/' | sort -u | tr '\n' ' ')" \
	"libelf libjansson liburcu "

WEFT=$tap_dir/install/bin/weft
unset WEFT_CONSUMERD WEFT_LIBMARKER
export WEFT_RUNDIR=$tap_dir/run
mkdir -m 700 "$WEFT_RUNDIR"
is "weft has its recording commands and no others" \
	"$("$WEFT" --help | awk '/^  [a-z]/ && !/Records/ { print $1 }' | grep -vE '^(bridge|setup)$' | tr '\n' ' ')" \
	"record status snapshot stop list doctor mark "
"$WEFT" record --kernel=none -o "$tap_dir/trace" -- \
	"$(dirname "$CONSUMERD")/tests/system/record-numbers" -n 1000 >"$tap_dir/out" 2>&1
is "it records markers" "$?" 0
is "a full weft reads all of them" "$("$full_weft" dump "$tap_dir/trace" --name numbers:step | wc -l)" 1000
done_testing

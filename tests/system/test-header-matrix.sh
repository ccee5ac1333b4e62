#!/bin/bash
# SPDX-License-Identifier: MIT
# marker.h however a program may be built: compilers x languages x optimisation x ways to link, and what else people
# compile with. Each is built without a warning, weft list reads all its markers from the file, and a run of it records
# every event, whole and in order.
. "${top_srcdir:-.}/tests/tap.sh"
. "$top_srcdir/tests/system/marker-types.sh"
[ -x "$WEFT" ] || skip_all "weft is not built"
libs=$top_builddir/.libs
warnings="-Wall -Wextra -Wconversion -Wshadow -Wundef -Wpedantic -Werror -Wno-unused-command-line-argument"

# All of a program's markers are in a library. Markers in C and in C++ alike: names of both are tried.
cat >"$tap_dir/needs.c" <<END
int types_main(void);
int main(void) { return types_main(); }
END
cat >"$tap_dir/needs.cc" <<END
int types_main();
int main() { return types_main(); }
END
cat >"$tap_dir/opens.c" <<END
#include <dlfcn.h>
#include <stdio.h>
int main(int argc, char **argv)
{
	void *library = argc > 1 ? dlopen(argv[1], RTLD_NOW) : 0;
	int (*types_main)(void) = 0;
	if (!library) {
		fprintf(stderr, "%s\n", dlerror());
		return 99;
	}
	*(void **)&types_main = dlsym(library, "types_main");
	if (!types_main)
		*(void **)&types_main = dlsym(library, "_Z10types_mainv");
	return types_main ? types_main() : 98;
}
END
gcc "$tap_dir/opens.c" -ldl -o "$tap_dir/opens" || skip_all "gcc does not build a program here"

# compile DIR COMPILER LANGUAGE SUFFIX FLAGS...: both files, into DIR/SUFFIX-*.o
compile() {
	local dir=$1 compiler=$2 language=$3 suffix=$4 std=gnu11
	shift 4
	[ "$language" = c ] || std=gnu++17
	for file in marker-types marker-types-other; do
		"$compiler" -x "$language" -std=$std $warnings "$@" $types_include -c "$types_src/$file.c" \
			-o "$dir/$suffix-$file.o" || return 1
	done
}

# build DIR COMPILER LANGUAGE LINKING FLAGS...: DIR/types, and where the markers are in a library, DIR/libtypes.so
build() {
	local dir=$1 compiler=$2 language=$3 linking=$4 code=pie main=()
	local linked="-L$libs -Wl,--no-as-needed -lmarker -Wl,-rpath,$libs"
	local static="$libs/libmarker.a -Wl,-u,weft_marker_object_v1"
	shift 4
	case $linking in
	no-pie* | static) code=no-pie ;;
	shared* | dlopen*) code=pic ;;
	esac
	if ! [ -e "$dir/$code-marker-types-other.o" ]; then
		case $code in
		pie) compile "$dir" "$compiler" "$language" $code -fPIE "$@" ;;
		no-pie) compile "$dir" "$compiler" "$language" $code -fno-PIE "$@" ;;
		pic) compile "$dir" "$compiler" "$language" $code -fPIC -Dmain=types_main "$@" ;;
		esac || return 1
	fi
	set -- "$@" "$dir/$code-marker-types.o" "$dir/$code-marker-types-other.o"
	case $linking in
	pie) "$compiler" -pie "$@" -o "$dir/types" ;;
	pie-linked) "$compiler" -pie "$@" $linked -o "$dir/types" ;;
	no-pie) "$compiler" -no-pie "$@" -o "$dir/types" ;;
	no-pie-linked) "$compiler" -no-pie "$@" $linked -o "$dir/types" ;;
	static) "$compiler" -static "$@" $static -o "$dir/types" ;;
	static-pie) "$compiler" -static-pie "$@" $static -o "$dir/types" ;;
	shared)
		main=("$tap_dir/needs.c")
		[ "$language" = c ] || main=("$tap_dir/needs.cc")
		"$compiler" -shared "$@" -o "$dir/libtypes.so" &&
			"$compiler" "${main[@]}" -L"$dir" -ltypes -Wl,-rpath,"$dir" -o "$dir/types"
		;;
	dlopen) "$compiler" -shared "$@" -o "$dir/libtypes.so" ;;
	dlopen-linked) "$compiler" -shared "$@" $linked -o "$dir/libtypes.so" ;;
	esac
}

# cell DIR COMPILER LANGUAGE LINKING FLAGS...: built, listed and recorded.
cell() {
	local dir=$1 language=$3 linking=$4 markers=$1/types
	build "$@" || return 1
	case $linking in shared* | dlopen*) markers=$dir/libtypes.so ;; esac
	types_listed "$dir" "$language" "$markers" || return 1
	case $linking in *-linked | static*) export WEFT_LIBMARKER= ;; *) export WEFT_LIBMARKER=$LIBMARKER ;; esac
	case $linking in
	dlopen*) types_recorded "$dir" "$language" "$tap_dir/opens" "$dir/libtypes.so" ;;
	*) types_recorded "$dir" "$language" "$dir/types" ;;
	esac
}

# row NUMBER COMPILER LANGUAGE "LINKINGS" FLAGS...: one compilation, linked in several ways; what came of them goes to
# row NUMBER's folder, for rows run at the same time.
row() {
	local dir=$tap_dir/row-$1 compiler=$2 language=$3 linkings=$4 linking why=
	shift 4
	mkdir "$dir"
	command -v "$compiler" >/dev/null || why="$compiler is not installed"
	# Can it at all? Sanitizers and linkers are packages of their own.
	[ -n "$why" ] || echo 'int main(void) { return 0; }' >"$dir/nothing.c"
	[ -n "$why" ] || { "$compiler" -x "$language" "$@" "$dir/nothing.c" -o "$dir/nothing" && "$dir/nothing"; } \
		>"$dir/log" 2>&1 || why="$compiler cannot do it here: $(tail -n 1 "$dir/log" | cut -c 1-80)"
	for linking in $linkings; do
		if [ -n "$why" ]; then
			echo "$why" >"$dir/$linking.skip"
		elif cell "$dir" "$compiler" "$language" $linking "$@" >"$dir/$linking.log" 2>&1; then
			>"$dir/$linking.ok"
		fi
	done
}

# What a row is, one a line: compiler, language, linkings, flags.
rows() {
	local all="pie pie-linked no-pie no-pie-linked static static-pie shared dlopen dlopen-linked"
	local compiler language flags lto
	for compiler in gcc:c g++:c++ clang:c clang++:c++; do
		language=${compiler#*:} compiler=${compiler%:*} lto="-O2 -flto"
		[ "${compiler#clang}" = "$compiler" ] || lto="-O2 -flto -fuse-ld=lld"
		for flags in -O0 -O2 -Os "$lto"; do
			echo "$compiler;$language;$all;$flags"
		done
		echo "$compiler;$language;pie shared;-O2 -fcf-protection=full -fstack-protector-all -D_FORTIFY_SOURCE=2 -Wl,-z,relro,-z,now"
		echo "$compiler;$language;pie-linked;-O1 -g -fsanitize=address,undefined"
		echo "$compiler;$language;pie-linked;-O1 -g -fsanitize=thread"
		echo "$compiler;$language;pie dlopen;-O3 -g -funroll-loops -ffunction-sections -fdata-sections -Wl,--gc-sections"
		echo "$compiler;$language;pie dlopen;-O2 -g -fuse-ld=lld -ffunction-sections -Wl,--gc-sections,--icf=all"
		echo "$compiler;$language;pie dlopen;-O2 -g -fuse-ld=gold -ffunction-sections -Wl,--gc-sections,--icf=all"
	done
	echo "gcc;c;pie;-O2 -flto -flto-partition=max -fno-plt -fvisibility=hidden"
	echo "g++;c++;pie no-pie;-O2 -fno-plt -fvisibility=hidden -fvisibility-inlines-hidden -fno-exceptions -fno-rtti"
	echo "gcc;c;pie no-pie;-O2 -masm=att -fno-omit-frame-pointer -fno-asynchronous-unwind-tables -mcmodel=medium"
}

jobs=$(nproc)
nr=0
while IFS=';' read -r compiler language linkings flags; do
	nr=$((nr + 1))
	row $nr $compiler $language "$linkings" $flags &
	[ $((nr % jobs)) != 0 ] || wait
done < <(rows)
wait

nr=0
while IFS=';' read -r compiler language linkings flags; do
	nr=$((nr + 1))
	for linking in $linkings; do
		sentence="$compiler $flags, $linking: every event"
		if [ -e "$tap_dir/row-$nr/$linking.skip" ]; then
			skip "$sentence" "$(cat "$tap_dir/row-$nr/$linking.skip")"
		else
			ok "$sentence" sh -c 'cat "$1.log"; [ -e "$1.ok" ]' - "$tap_dir/row-$nr/$linking"
		fi
	done
done < <(rows)

# One schema: types do not depend on how a program is built. A template's place exists as often as its types.
for language in c c++; do
	nr=0
	while IFS=';' read -r compiler of linkings flags; do
		nr=$((nr + 1))
		[ $of = $language ] && [ -s "$tap_dir/row-$nr/list" ] && sort -u "$tap_dir/row-$nr/list" | md5sum
	done < <(rows) | sort -u >"$tap_dir/schemas"
	is "weft list reads the same of every build in $language" "$(wc -l <"$tap_dir/schemas")" 1
done
done_testing

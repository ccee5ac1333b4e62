#!/bin/bash
# SPDX-License-Identifier: MIT
# Programs with markers that are built with sanitizers, or run under a debugger or valgrind: all is recorded, and the tool
# finds nothing that is ours.
. "${top_srcdir:-.}/tests/tap.sh"
[ -x "$WEFT" ] || skip_all "weft is not built"
# A library with a sanitizer of its own goes into programs with the same one only.
nm -D "$LIBMARKER" | grep -q "__asan_init\|__tsan_init\|__ubsan" && skip_all "libmarker is built with a sanitizer itself"
export WEFT_RUNDIR=$tap_dir/run
mkdir -m 700 "$WEFT_RUNDIR"
include=$top_srcdir/libmarker/include
cat >"$tap_dir/tool.c" <<'END'
#include <marker/marker.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
static void *thread(void *arg)
{
	for (long i = 0; i < 1000; i++)
		MARKER(tool, thread, i, MARKER_FIELD(text, "some text"));
	return arg;
}
int main(void)
{
	char *heap = strdup("of the heap");
	pthread_t ids[2];
	for (int i = 0; i < 2; i++)
		pthread_create(&ids[i], NULL, thread, NULL);
	for (long i = 0; i < 1000; i++) {
		MARKER_SCOPE(tool, scope, i);
		MARKER(tool, heap, heap);
	}
	for (int i = 0; i < 2; i++)
		pthread_join(ids[i], NULL);
	free(heap);
	return 7;
}
END

# recorded COMMAND...: how many events, how many discarded, the exit status.
recorded() {
	rm -rf "$tap_dir/trace"
	timeout 100 "$WEFT" record -o "$tap_dir/trace" --kernel=none -- "$@" >"$tap_dir/out" 2>&1 </dev/null
	status=$?
	echo "$(sed -n 's/.*: \([0-9,]*\) events.*, \([0-9,]*\) discarded.*/\1 \2/p' "$tap_dir/out") $status"
	grep -v ' discarded, clock' "$tap_dir/out" | sed 's/^/# /' | head -n 20 >&2
}

for compiler in gcc clang; do
	for sanitizer in address thread undefined memory; do
		sentence="$compiler -fsanitize=$sanitizer"
		if ! $compiler -w -g -O1 -pthread -fsanitize=$sanitizer -I"$include" "$tap_dir/tool.c" -o "$tap_dir/tool" 2>/dev/null; then
			skip "$sentence" "it is not there"
		elif timeout 60 "$tap_dir/tool" >/dev/null 2>&1; [ $? != 7 ]; then
			skip "$sentence" "the program does not run with it here, alone"
		else
			is "$sentence" "$(recorded "$tap_dir/tool")" "5,000 0 7"
		fi
	done
done

gcc -w -g -O1 -pthread -I"$include" "$tap_dir/tool.c" -o "$tap_dir/tool"
if ! command -v valgrind >/dev/null || { timeout 60 valgrind -q "$tap_dir/tool" >/dev/null 2>&1; [ $? != 7 ]; }; then
	skip "valgrind" "it is not there, or does not run here"
else
	is "valgrind" "$(recorded valgrind -q --error-exitcode=9 "$tap_dir/tool")" "5,000 0 7"
fi
if ! command -v gdb >/dev/null || ! gdb -nx -batch -ex run "$tap_dir/tool" 2>&1 </dev/null | grep -q 'exited with code 07'; then
	skip "gdb, with a breakpoint and steps over markers" "it is not there, or does not run here"
else
	is "gdb, with a breakpoint and steps over markers" \
		"$(recorded gdb -nx -batch -ex 'break thread' -ex run -ex next -ex next -ex next -ex delete -ex continue "$tap_dir/tool")" "5,000 0 0"
	ok "where the program ends as it does alone" grep -q 'exited with code 07' "$tap_dir/out"
fi
done_testing

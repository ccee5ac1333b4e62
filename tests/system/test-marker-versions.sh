#!/bin/bash
# SPDX-License-Identifier: MIT
# Several headers in one process: objects compiled with an older one, with this one, and with notes
# as a later one may write them; libraries that come and go; equal names with other fields.
. "${top_srcdir:-.}/tests/tap.sh"
command -v jq >/dev/null || skip_all "jq is not installed"
case $(uname -m) in x86_64 | aarch64) ;; *) skip_all "markers are for x86-64 and aarch64" ;; esac
export WEFT_RUNDIR=$tap_dir/run
cd "$tap_dir" || exit 1
mkdir -p old/marker
cp "$top_srcdir/tests/data/marker-2026-11.h" old/marker/marker.h
new="-I $top_srcdir/libmarker/include"
cc="${CC:-cc} -std=gnu11 -O2 -Wall -Werror"

cat >old.c <<'END'
#include <marker/marker.h>
#ifdef MARKER_COUNTER
#error this is not the old header
#endif
void old_part(int round);
void old_part(int round)
{
	MARKER_SCOPE(versions, scope, round);
	MARKER(versions, same, round, MARKER_FIELD(from, "old"));
	MARKER_RESULT(round);
}
END
cat >new.c <<'END'
#include <marker/marker.h>
void new_part(int round);
void new_part(int round)
{
	MARKER(versions, same, round, MARKER_FIELD(from, "new"));
	MARKER_COUNTER(versions, depth, round);
	MARKER_LOG(versions, "round %d", round);
}
END
# A later header: more behind the codes of a note, a note of another type, a kind and a type of field
# that there are not today. The place records one s32, as the inline code of a header does.
cat >later.c <<'END'
#include <marker/marker.h>
#define LATER(place, name, kind, note_type, code)                                                        \
	__asm__ volatile(".pushsection .rodata.weft,\"a\",%%progbits\n"                                 \
			 "990: .asciz \"versions\"\n.asciz \"" name "\"\n.asciz \"more\"\n.popsection\n"    \
			 ".pushsection .data.weft,\"aw\",%%progbits\n.balign 16\n"                     \
			 "991: .long 0, 0, 0, 992f - .\n.popsection\n"                                 \
			 ".pushsection .note.weft,\"a\",%%note\n.balign 4\n"                           \
			 ".long 5, 994f - 993f, " note_type "\n.asciz \"weft\"\n.balign 4\n992:\n"     \
			 "993: .long 990b - ., 991b - .\n"                                             \
			 ".long weft_marker_page_v1 - ., weft_marker_calls_v1 - .\n"                   \
			 ".byte " kind ", 6, 1, 77, " code "\n.byte 1, 2, 3\n.quad 4, 5, 6\n"          \
			 "994: .balign 4\n.popsection\n"                                              \
			 WEFT_ADDRESS_("991b") : [weft_place] "=r"(place))
#define RECORD(name, kind, note_type, code)                                                              \
	do {                                                                                             \
		struct weft_marker_place *place;                                                         \
		uint32_t generation = weft_marker_generation_();                                         \
		if (generation) {                                                                        \
			LATER(place, name, kind, note_type, code);                                       \
			if (weft_marker_is_wanted_(place, generation)) {                                 \
				struct weft_marker_slot slot =                                           \
					weft_marker_calls_v1.reserve(place, 4, generation);              \
				if (slot.payload) {                                                      \
					__builtin_memcpy(slot.payload, &round, 4);                       \
					weft_marker_commit_(slot.lane, 4);                               \
				}                                                                        \
			}                                                                                \
		}                                                                                        \
	} while (0)
void later_part(int round);
void later_part(int round)
{
	RECORD("later, round", "0", "1", "0x24");
	RECORD("later_kind, round", "42", "1", "0x24");
	RECORD("later_type, round", "0", "1", "0x54");
	struct weft_marker_place *nobodys;
	LATER(nobodys, "later_note, round", "0", "2", "0x24");
	(void)nobodys;
}
END
cat >main.c <<'END'
#include <dlfcn.h>
#include <stdlib.h>
void old_part(int round), new_part(int round);
#define ROUNDS 100
static void open_and_close(const char *path, const char *name, int round)
{
	void *handle = dlopen(path, RTLD_NOW), *function = handle ? dlsym(handle, name) : 0;
	if (!function)
		exit(3);
	((void (*)(int))function)(round);
	dlclose(handle);
}
int main(void)
{
	for (int i = 0; i < ROUNDS; i++) {
		old_part(i);
		new_part(i);
		open_and_close("./old.so", "old_part", i);
		open_and_close("./new.so", "new_part", i);
		open_and_close("./later.so", "later_part", i);
	}
	return 0;
}
END
built() {
	$cc -I old -c old.c -o old.o && $cc $new -c new.c -o new.o && $cc main.c old.o new.o -ldl -o main &&
		$cc -I old -fPIC -shared old.c -o old.so && $cc $new -fPIC -shared new.c -o new.so &&
		$cc $new -fPIC -shared later.c -o later.so
}
ok "objects of an older header, of this and of a later one are built" built
"$WEFT" record --kernel=none -o trace -- ./main 2>err
is "the program runs as ever, and is recorded" "$?" 0
"$WEFT" dump trace --json >dump
nr() { jq -c "select(.name == \"$1\")$2" dump | wc -l; }
is "nothing was discarded" "$(grep -c ' 0 discarded' err)" 1
is "what the older header records is there, from the program and from a library that comes and goes" \
	"$(nr versions:scope:begin) $(nr versions:scope:end) $(nr weft:result) $(nr versions:same ' | select(.fields.from == "old")')" \
	"200 200 200 200"
is "so is what this one records" \
	"$(nr versions:depth) $(nr versions:log) $(nr versions:same ' | select(.fields.from == "new")')" "200 200 200"
is "each round in its order" \
	"$(jq -c 'select(.name == "versions:same") | [.fields.round, .fields.from]' dump | tr -d '\n' | head -c 48)" \
	'[0,"old"][0,"new"][0,"old"][0,"new"][1,"old"][1,'
is "of a later note what is known is read, what is not is skipped" \
	"$(nr versions:later) $(jq -c 'select(.name == "versions:later") | .fields' dump | tail -n 1)" '100 {"round":99}'
is "a later kind, type of field or type of note records nothing, and harms nobody" \
	"$(nr versions:later_kind) $(nr versions:later_type) $(nr versions:later_note)" "0 0 0"
is "weft list reads the old file, and of the later one what it knows" \
	"$("$WEFT" list old.so | wc -l) $("$WEFT" list later.so 2>/dev/null)" "4 versions:later  instant  round:s32"

# ---- libraries that come and go without end: more markers than a program may have kinds of
for i in $(seq 50); do echo "MARKER(many, m$i, round);"; done >many.h
cat >many.c <<'END'
#include <marker/marker.h>
void many_part(int round);
void many_part(int round)
{
#include "many.h"
}
END
sed 's/^#define ROUNDS.*/#define ROUNDS 1500/; /old_part\|new_part\|later_part/d; s/^int main.*/&/' main.c >many-main.c
sed -i 's/		open_and_close.*//; s/^	for (int i = 0.*/&\n		open_and_close(".\/many.so", "many_part", i);/' many-main.c
$cc $new -fPIC -shared many.c -o many.so && $cc many-main.c -ldl -o many
"$WEFT" record --kernel=none --ring-size=16M -o many.trace -- ./many 2>many.err
is "a library that comes 1500 times is recorded each time" \
	"$? $(grep -c ' 0 discarded' many.err) $("$WEFT" dump many.trace --name many:m50 | wc -l) $("$WEFT" dump many.trace --name 'many:*' | wc -l)" \
	"0 1 1500 75000"
is "and named once" "$(grep -c 'many.so' many.trace/weft/sidecar)" 1

# ---- equal names with other fields
cat >equal.c <<'END'
#include <marker/marker.h>
int main(void)
{
	for (int i = 0; i < 3; i++) {
		MARKER(equal, name, i);
		MARKER(equal, name, MARKER_FIELD(i, (double)i + 0.5));
		MARKER(equal, name, MARKER_FIELD(i, "text"), MARKER_FIELD(more, i));
		MARKER(equal, name);
		{ MARKER_SCOPE(equal, scope, i); }
		{ MARKER_SCOPE(equal, scope, MARKER_FIELD(i, "text")); }
		MARKER_COUNTER(equal, count, i);
		MARKER_COUNTER(equal, count, i - 5.5);
	}
	return 0;
}
END
$cc $new equal.c -o equal
"$WEFT" record --kernel=none -o equal.trace -m 'equal:*' -- ./equal 2>err
is "equal names with other fields are recorded, each with its own" \
	"$("$WEFT" dump equal.trace --json | jq -c 'select(.name == "equal:name") | .fields' | tail -n 4 | tr '\n' ' ')" \
	'{"i":2} {"i":2.5} {"i":"text","more":2} {} '
is "as classes of their own" "$(grep -c 'name = "equal:name"' equal.trace/user/metadata)" 4
is "weft why takes them together" "$("$WEFT" why equal.trace --marker equal:scope --all --json | jq -r .instance | tail -n 1)" 6
is "so do the reports" \
	"$("$WEFT" report equal.trace markers --json | jq -c '[.marker // .counter, .count, .min]' | tr '\n' ' ')" \
	'["equal:name",12,null] ["equal:scope",6,null] ["equal:count",6,-5.5] '
done_testing

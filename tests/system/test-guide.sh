#!/bin/bash
# SPDX-License-Identifier: MIT
# doc/MARKERS.md does what it says: its program compiles, without a warning, and its commands work on what is recorded.
. "${top_srcdir:-.}/tests/tap.sh"
command -v g++ >/dev/null || skip_all "g++ is not installed"
command -v jq >/dev/null || skip_all "jq is not installed"
guide=$top_srcdir/doc/MARKERS.md
export WEFT_RUNDIR=$tap_dir/run
cd "$tap_dir" || exit 1
weft() { "$WEFT" "$@"; }

# block LANGUAGE N: the Nth block of code of that language.
block() {
	awk -v want="\`\`\`$1" -v nr="$2" '!fenced && /^```/ { fenced = 1; wanted = $0 == want && ++seen == nr; next }
		/^```$/ { fenced = 0; next } fenced && wanted' "$guide"
}

block c++ 1 >pictures.cc
compiled() { g++ -std=c++17 -O1 -Wall -Wextra -Werror -pthread -I "$top_srcdir/libmarker/include" pictures.cc -o pictures; }
ok "its program compiles without a warning" compiled
is "the guide says how" "$(block "" 1 | grep -c '^g++ -std=c++17 -pthread -I libmarker/include pictures.cc')" 1
ok "weft list reads its markers" sh -c '"$1" list pictures | grep -q "pictures:paint  begin"' - "$WEFT"
ok "it is recorded" weft record --kernel=none -o first -- ./pictures
nr=0
while read -r line; do
	nr=$((nr + 1))
	ok "${line%% *#*}" sh -c "weft() { \"$WEFT\" \"\$@\"; }; ${line%%#*} | grep ."
done < <(block "" 2 | grep '^weft' | grep -v '^weft why')
is "there are commands" "$([ $nr -ge 4 ] && echo yes)" yes
is "every picture is painted and shown" \
	"$(weft report first markers --json | jq -c 'select(.kind) | [.marker, .kind, .count, .unfinished]' | sort | xargs)" \
	"[pictures:log,log,5,0] [pictures:paint,scope,50,0] [pictures:show,scope,50,0] [pictures:shown,instant,50,0]"
is "a flow joins the painter and who shows" \
	"$(weft report first flows --json | jq -c 'select(.report == "flows") | [.flow, .keys, .events, .max_threads]')" '["picture",50,150,2]'
is "a type says itself what it is" "$(weft dump first --json --flow picture=10 | jq -r 'select(.fields.how) | .fields | .how + " " + .name')" "full picture 10"
is "weft dump calls a thread what it calls itself" "$(weft dump first --name pictures:paint:begin | grep -c ' painter\[')" 50
is "weft why knows the instances" "$(weft why first --marker pictures:show --all --json 2>/dev/null | wc -l)" 50
# Each macro that the guide names is one.
is "no macro of the guide is unknown" "$(grep -oE 'MARKER[A-Z_]*\(' "$guide" | sort -u | tr -d '(' |
	while read -r macro; do grep -qE "^#define $macro\(" "$top_srcdir/libmarker/include/marker/marker.h" || echo "$macro"; done)" ""
done_testing

#!/bin/bash
# SPDX-License-Identifier: MIT
# Traces of every format that was ever written are read. tests/data/format-N was written by a weft of that format from
# tests/data/format-N.script; today's trace of the same script says the same, in today's bytes.
. "${top_srcdir:-.}/tests/tap.sh"
src=${top_srcdir:-.}
old=$src/tests/data/format-1
"$top_builddir"/tests/script-to-trace "$src/tests/data/format-1.script" "$tap_dir/new" || exit 1

formats() {
	sed -n 's/.*weft_format = \(.*\);/\1/p' "$old/$1/metadata" "$tap_dir/new/$1/metadata" | tr '\n' ' '
}
is "the old trace has format 1, today's has format 2" "$(formats kernel)$(formats user)" "1 2 1 2 "
is "all of its events are read" "$("$WEFT" dump --json "$old" | wc -l)" 8
is "and say what today's say" "$("$WEFT" dump --json "$old")" "$("$WEFT" dump --json "$tap_dir/new")"
is "the current thread and what its CPU did survive" \
	"$("$WEFT" dump --json "$old" | jq -c 'select(.name == "odd" or .name == "sched_waking") | [.tid, .context]' | tr '\n' ' ')" \
	'[7,8] [7,16] [4194303,null] '
# Bytes of the events of user/, two of them in one packet: content_size, bits, at byte 48.
content_of() {
	echo $(($(od -A n -t u8 -j 48 -N 8 "$1/user/markers_fake") / 8 - 80))
}
if [ -x "$top_builddir/tests/compare-babeltrace" ]; then
	ok "babeltrace2 reads the same of the old trace" "$top_builddir/tests/compare-babeltrace" "$old" "$WEFT"
	ok "and of today's" "$top_builddir/tests/compare-babeltrace" "$tap_dir/new" "$WEFT"
else
	skip "babeltrace2 reads the same" "built without babeltrace2"
fi
ok "kernel events take fewer bytes today" \
	test "$(cat "$tap_dir"/new/kernel/sched_* | wc -c)" -lt "$(cat "$old"/kernel/sched_* | wc -c)"
is "a marker takes 2 bytes less" "$(($(content_of "$old") - $(content_of "$tap_dir/new")))" 4
done_testing

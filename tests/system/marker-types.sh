# SPDX-License-Identifier: MIT
# marker-types.sh - what marker-types.c records, and whether it did: sourced by tests, after tap.sh.
#
#	types_want LANGUAGE                        its records in order, written by hand
#	types_recorded DIR LANGUAGE CMD args...    runs it in a rendezvous of its own in DIR, and compares
#	types_listed DIR LANGUAGE FILE             weft list reads all of them from the file
#
# LANGUAGE is c or c++. Any number may run at once, each in its own DIR.
types_src=$top_srcdir/tests/system
types_include="-I$top_srcdir/libmarker/include"
types_sink=$top_builddir/tests/marker-sink
types_longest=$(printf 'a%.0s' {1..255})
types_longer=$(printf 'b%.0s' {1..251})…

types_want_all() {
	cat <<-END
		weft:thread name="types"
		types:integers s8=-8 u8=200 s16=-1600 u16=60000 s32=-2147483648 u32=4294967295 s64=-9223372036854775808 u64=18446744073709551615 yes=1 color=7 fixed=5
		types:floats f32=1.5 f64=-2.25 f80=4.5
		types:strings nothing="(null)" empty="" name="comm-of-16-byte" literal="100%d, ("x")"
		types:longest longest="$types_longest"
		types:longer longer="$types_longer"
		types:pointers pointer=0x1234 null=0x0
		types:bytes name=636f6d6d none= most=$(printf '62%.0s' {1..251})c3a46262 is_key=1
		types:said pts=1 color=7 literal="text"
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
		types:log number=3 name="comm-of-16-byte" arg2=1099511627776
types:log
types:log arg0=120 arg1=0.5
types:flow2 x11=3 x11=9 number=3
		types:in_inline value=1
		types:in_inline value=2
		c++ types:in_shared value=6
		types:in_other_file
		c++ types:in_template value=4
		c++ types:template_scope:begin value=4
		c++ types:template_scope:end
		c++ types:in_template value="four"
		c++ types:template_scope:begin value="four"
		c++ types:template_scope:end
		c++ types:in_template value=1
		c++ types:template_scope:begin value=1
		c++ types:template_scope:end
		c++ types:in_shared value=5
		types:keeps_errno five=5
		types:evaluated once=1
		types:enabled
	END
}

types_want() {
	if [ "$1" = c++ ]; then
		types_want_all | sed 's/^c++ //'
	else
		types_want_all | grep -v '^c++ '
	fi
}

types_recorded() {
	local dir=$1 language=$2 status=0
	shift 2
	mkdir -p -m 700 "$dir/run"
	WEFT_RUNDIR=$dir/run "$types_sink" --marker='!unwanted:*' -- "$@" >"$dir/got" 2>"$dir/err" || status=$?
	if [ $status != 0 ]; then
		echo "exit status $status"
		cat "$dir/err"
		return 1
	fi
	types_want "$language" >"$dir/want"
	grep -v '^#' "$dir/got" | cut -d' ' -f5- | sed 's/ $//' | diff "$dir/want" - &&
		tail -n 1 "$dir/got" | grep -q 'discarded=0 bad=0'
}

# Of each record "types:span:async_begin id number".
types_listed() {
	local dir=$1 language=$2 file=$3
	"$WEFT" list "$file" >"$dir/list" 2>"$dir/list.err" && ! grep . "$dir/list.err" || { cat "$dir/list.err"; return 1; }
	types_want "$language" | sed -E 's/="[^=]*"( |$)/ /g; s/=[^ ]*//g; s/ +$//' | LC_ALL=C sort -u >"$dir/names"
	sed -E 's/^([^ ]*  log  [^"]*)  ".*/\1/; s/^([^ ]*  log)  ".*/\1/; s/:[^ ,]*(, |$)/ /g
		s/^([^ ]*)  (instant|counter|frame|log|thread|result) */\1 /
		s/^([^ ]*)  (begin|end|async_begin|async_end) */\1:\2 /; s/ +/ /g; s/ +$//' \
		"$dir/list" | LC_ALL=C sort -u >"$dir/listed"
	LC_ALL=C comm -23 "$dir/names" "$dir/listed" >"$dir/unlisted"
	! sed 's/^/not listed: /' "$dir/unlisted" | grep .
}

#!/bin/bash
# SPDX-License-Identifier: MIT
# weft why on scripted histories whose truth stands in the scripts themselves, worked out by hand:
#	#= BEGIN END CLASS CULPRIT ROOT-CLASS ROOT-CULPRIT     one tile, in order; "-" for nobody
#	#sound WORD
#	#jq EXPRESSION VALUE                                   anything else of the answer
. "${top_srcdir:-.}/tests/tap.sh"
command -v jq >/dev/null || skip_all "jq is not installed"
data=$top_srcdir/tests/data
to_trace=$top_builddir/tests/script-to-trace

check_script() {
	local script=$1 name trace answer line expression want
	name=$(basename "$script" .script)
	trace=$tap_dir/$name
	"$to_trace" "$script" "$trace" || echo "# no trace of $name"
	"$WEFT" why "$trace" --marker demo:frame --all --json >"$trace.json"
	answer=$(jq -r '.segments[] | [.begin_ns, .end_ns, .class, .culprit.tid // "-", .root.class,
		.root.culprit.tid // "-"] | map(tostring) | join(" ")' "$trace.json")
	is "$name: every tile has the class, culprit and root that were planted" \
		"$answer" "$(sed -n 's/^#= //p' "$script")"
	is "$name: the tiles cover the interval without gap or overlap, and the totals add up" "$(jq -r '
		[.segments[0].begin_ns == .begin_ns, .segments[-1].end_ns == .end_ns,
		 ([.segments[:-1], .segments[1:]] | transpose | all(.[0].end_ns == .[1].begin_ns)),
		 ([.segments[] | .end_ns - .begin_ns] | add) == .duration_ns,
		 ([.totals[].ns] | add) == .duration_ns] | all' "$trace.json")" true
	while read -r _ want; do
		is "$name: the answer is $want" "$(jq -r .sound "$trace.json")" "$want"
	done < <(grep '^#sound ' "$script")
	while read -r _ line; do
		expression=${line% *}
		want=${line##* }
		is "$name: $expression is $want" "$(jq -c "$expression" "$trace.json")" "$want"
	done < <(grep '^#jq ' "$script")
	"$WEFT" why "$trace" --marker demo:frame >"$trace.text"
	is "$name: the text of the answer has its sum" "$(awk '$1 == "sum" { print $2 }' "$trace.text")" \
		"$(jq -r '.duration_ns / 1e6 * 1000 | round | (. / 1000 | floor | tostring) + "." +
			(. % 1000 + 1000 | tostring | .[1:])' "$trace.json")"
}

nr=0
for script in "$data"/why-*.script; do
	check_script "$script"
	nr=$((nr + 1))
done
is "all scripts were found" "$([ "$nr" -ge 14 ] && echo yes)" yes

trace=$tap_dir/why-lock-convoy
"$WEFT" why "$trace" --marker demo:frame >"$tap_dir/text"
is "no line of the text is longer than 100 columns" "$(awk 'length > 100' "$tap_dir/text")" ""
ok "the text says who held the lock" grep -q "of first\[102\]" "$tap_dir/text"
"$WEFT" why "$trace" --thread 101 --from 31ms --to 32ms --json >"$tap_dir/json"
is "an interval of a thread is explained as well" \
	"$(jq -c '[.duration_ns, .marker, .segments[].culprit.tid]' "$tap_dir/json")" "[1000000,null,103]"
"$WEFT" why "$trace" --thread 101 --from 0.031 --to 0.032 --json >"$tap_dir/printed"
ok "times may be given as they are printed" cmp "$tap_dir/json" "$tap_dir/printed"
"$WEFT" why "$trace" --thread 101 --from 31 --to 32 >"$tap_dir/out" 2>&1
is "an interval outside of the trace is an error" "$? $(grep -c outside "$tap_dir/out")" "2 1"
"$WEFT" why "$trace" --marker demo:nothing >"$tap_dir/out" 2>&1
is "a marker that is not there is an error" "$? $(grep -c 'no instance' "$tap_dir/out")" "2 1"
"$WEFT" why "$trace" --marker demo:frame --nth 2 >"$tap_dir/out" 2>&1
is "an instance that is not there is an error" "$?" 2
"$WEFT" why "$trace" --marker demo:frame --by=late >"$tap_dir/out" 2>&1
is "by late without a due time is an error that names --period" "$? $(grep -c period "$tap_dir/out")" "2 1"
"$WEFT" why "$tap_dir/why-loss" --marker demo:frame --json >"$tap_dir/json"
is "only unknown answers exit with 3" "$?" 3
# ---- clocks that broke
"$to_trace" "$data/why-block-io.script" "$tap_dir/slept"
instance=$("$WEFT" why "$tap_dir/slept" --marker demo:frame --all --json | jq -c '[.begin_ns, .end_ns]' | head -n 1)
break=$(jq -cn --argjson at "$instance" '{type: "clock_break", kind: "suspend", from_ns: ($at[0] + 1),
	to_ns: ($at[1] - 1), amount_ns: 3600000000000}')
cp -r "$tap_dir/slept" "$tap_dir/set"
echo "$break" >>"$tap_dir/slept/weft/sidecar"
echo "${break/suspend/realtime-step}" >>"$tap_dir/set/weft/sidecar"
is "how long something took across a suspend is unknown" \
	"$("$WEFT" why "$tap_dir/slept" --marker demo:frame --all --json | jq -r .sound | head -n 1)" unknown
ok "and its answer says why" \
	grep -q '^clock: the machine slept for 3600.000 s' <("$WEFT" why "$tap_dir/slept" --marker demo:frame)
is "a step of the wall clock makes nothing doubtful" \
	"$("$WEFT" why "$tap_dir/set" --marker demo:frame --all --json | jq -r .sound | head -n 1)" sound
ok "the summary tells of a suspend" \
	grep -q '^clock: the machine slept for 3600.000 s' <("$WEFT" report "$tap_dir/slept" summary)
ok "and of a step" \
	grep -q '^clock: the wall clock was set forward by 3600.000 s' <("$WEFT" report "$tap_dir/set" summary)
is "also as JSON" \
	"$("$WEFT" report "$tap_dir/set" summary --json | jq -r '.clock_breaks[0].kind')" realtime-step
done_testing

# SPDX-License-Identifier: MIT
# judge-causes.jq - what `weft why --json` names for each planted cause, kind by kind.
#
#	jq -r -n --slurpfile truth TRUTH --slurpfile why WHY -f judge-causes.jq
#
# Prints "KIND PLANTED JUDGED NAMED" a line, and "# ..." for each plant that is not named as it should.
# Plants disturbed by foreign threads are not judged (tests/system/plant.c says which).

def largest(key): group_by(key)
	| map({named: (.[0] | key), excess_ns: (map(.excess_ns) | add)})
	| max_by(.excess_ns) | .named;

# A culprit that the truth leaves open may be anybody.
def agrees($named; $class; $tid): $class == null or
	($named[0] == $class and ($tid == null or $named[1] == $tid));

def judge($plant):
	[$why[] | select(.begin_ns <= $plant.begin_ns and .end_ns >= $plant.end_ns)][0]
	| if . == null then {good: false, text: "its instance is missing"}
	  elif .totals == [] then {good: false, text: "nothing named"}
	  else (.totals | largest([.class, .culprit_tid])) as $direct
	     | (.totals | largest([.root_class, .root_tid])) as $root
	     | {good: (agrees($direct; $plant.class; $plant.tid) and
		       agrees($root; $plant.root_class; $plant.root_tid)),
		text: "instance \(.instance): direct \($direct), root \($root), sound \(.sound)"} end;

[$truth[] | . as $plant | . + judge($plant)] | group_by(.kind)[]
	| (map(select(.disturbed | not))) as $judged
	| "\(.[0].kind) \(length) \($judged | length) \([$judged[] | select(.good)] | length)",
	  ($judged[] | select(.good | not)
		| "# \(.kind) planted: \(.class) by \(.tid), root \(.root_class) by \(.root_tid); \(.text)")

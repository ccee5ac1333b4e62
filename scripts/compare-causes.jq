# SPDX-License-Identifier: MIT
# compare-causes.jq - the causes `weft why --json` names, beside what was planted.
#
#	jq -r -n --slurpfile truth TRUTH --slurpfile why WHY -f compare-causes.jq
#
# TRUTH: lines as examples/disturb/truth.h has them. WHY: `weft why --all --by=late --json`. A plant is
# to be named by every frame that was due while it lasted (of a starved queue: once it was empty) and
# came late by at least 10 ms. Named is the class and culprit with the largest excess: for a starved
# queue the root, for all else the direct cause.
# Prints a table; its last column is "ok" or "WRONG" and nothing else.

def ms: . / 1e5 | round / 10;

def largest(key): group_by(key)
	| map({named: (.[0] | key), excess_ns: (map(.excess_ns) | add)})
	| max_by(.excess_ns);

def named($plant): .totals | if $plant.kind == "starve"
	then largest([.root_class // .class, .root_tid])
	else largest([.class, .culprit_tid]) end;

def row($plant): named($plant) as $largest
	| [$plant.kind, "\(.instance)", "\(.late_ns | ms)", "\($plant.class) by \($plant.tid)",
	   "\($largest.named[0]) by \($largest.named[1])", "\($largest.excess_ns | ms)",
	   if $largest.named == [$plant.class, $plant.tid] then "ok" else "WRONG" end];

def rows: $truth[] | select(.class) as $plant
	| [$why[] | select(.due_ns >= ($plant.due_ns // $plant.begin_ns) and .due_ns <= $plant.end_ns and
			   .late_ns >= 10e6) | row($plant)]
	| if length == 0
	  then [$plant.kind, "-", "-", "\($plant.class) by \($plant.tid)", "no frame was late", "-", "WRONG"]
	  else .[] end;

def pad($width): . + " " * ([$width - length, 1] | max);

["planted", "frame", "late ms", "cause planted", "cause named", "excess ms", ""], rows
	| [[., [8, 6, 8, 22, 22, 10, 0]] | transpose[] | . as [$text, $width] | $text | pad($width)]
	| add | sub(" +$"; "")

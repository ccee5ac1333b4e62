# SPDX-License-Identifier: MIT
# compare-causes.jq - the causes `weft why --json` names, beside what was planted.
#
#	jq -r -n --slurpfile truth TRUTH --slurpfile why WHY -f compare-causes.jq
#
# TRUTH: lines as examples/disturb/truth.h has them. WHY: `weft why --all --by=late --json`. A plant is
# to be named by each frame that came late by at least 10 ms and that was due while it lasted (of a
# starved queue: once it was empty). Not judged is what other programs had too large a part in, by the
# kernel's count of the time that the threads concerned waited for a CPU: more than a tenth; and a frame
# that the plant lasted through less than two thirds of. Named is the class and culprit with the largest
# excess: for a starved queue the root, for all else the direct cause.
# Prints a table; its last column is "ok", "WRONG" or, where no frame can be judged, "noise".

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

def duration: .end_ns - .begin_ns;

# What the presenter waited for a CPU with this frame, less what a hog took of it.
def foreign_ns($plant): .due_ns as $due
	| ([$truth[] | select(.kind == "late" and .begin_ns == $due) | .queued_ns][0] // 0)
	- if $plant.kind == "hog" then ($plant | duration) else 0 end;

def is_made_late_by($plant): .late_ns >= 10e6 and .due_ns <= $plant.end_ns
	and .due_ns >= ($plant.due_ns // $plant.begin_ns)
	and 3 * ($plant.end_ns - .due_ns) > 2 * .late_ns
	and 10 * ($plant.queued_ns // 0) < ($plant | duration)
	and 10 * foreign_ns($plant) < .late_ns;

def rows: $truth[] | select(.class) as $plant
	| [$why[] | select(is_made_late_by($plant)) | row($plant)]
	| if length == 0
	  then [$plant.kind, "-", "-", "\($plant.class) by \($plant.tid)", "other programs took more", "-", "noise"]
	  else .[] end;

def pad($width): . + " " * ([$width - length, 1] | max);

["planted", "frame", "late ms", "cause planted", "cause named", "excess ms", ""], rows
	| [[., [8, 6, 8, 22, 22, 10, 0]] | transpose[] | . as [$text, $width] | $text | pad($width)]
	| add | sub(" +$"; "")

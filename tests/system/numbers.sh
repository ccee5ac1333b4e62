# SPDX-License-Identifier: MIT
# numbers.sh - the markers of record-numbers in a trace: source it after tap.sh. Their thread is 0 if not told.
#
#	steps TRACE [THREAD]             their numbers, in the order of the trace
#	is_run TRACE THREAD COUNT        they are 0, 1, 2, ... and as many as said
#	is_consecutive TRACE [THREAD]    there are some, and none between them is missing

steps() {
	"$WEFT" dump --json --name numbers:step "$1" | jq -r --argjson thread "${2:-0}" \
		'select(.fields.thread == $thread) | .fields.number'
}

is_run() {
	steps "$1" "$2" | awk -v count="$3" '$1 != NR - 1 { bad = 1 } END { exit bad || NR != count }'
}

is_consecutive() {
	steps "$1" "${2:-0}" | awk 'NR > 1 && $1 != last + 1 { bad = 1 } { last = $1 } END { exit bad || NR == 0 }'
}

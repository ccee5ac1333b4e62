#!/bin/bash
# SPDX-License-Identifier: MIT
# conserve.sh [-n EVENTS] [SCALE...] - nothing vanishes uncounted: recordings from tiny buffers (heavy loss) to large ones
# (none).
#
# A program of two threads counts the markers that it attempts, and the kernel what it produced (per_cpu/cpuN/stats of the
# instances, which this script keeps alive to read them at the end). In each recording: of each thread and of each CPU,
# produced = recorded + discarded; each missing marker's time lies within an announced loss of its thread; each loss lies
# within the recording; the sum of the losses is what record says.
#
# SCALE: 0 to 9; the ring grows from 64K to 32M, the kernel buffer from 4K to 16M. EVENTS: of each thread
# (150000). KEEP: a folder to keep failed runs in. Prints a line for each recording. Exits 1 when something failed.
. "$(dirname "$0")/stress.sh"
events=150000
while getopts n: option; do
	case $option in
	n) events=$OPTARG ;;
	*) exit 2 ;;
	esac
done
shift $((OPTIND - 1))
scales=${*:-0 1 2 3 4 5 6 7 8 9}
kernel=default
has_tracefs || kernel=none
trap 'rm -rf "$stress_dir"' EXIT

# hold_stats: opens the statistics of all CPUs of our instances as soon as these are there.
hold_stats() {
	local instance file fd
	held=
	[ $kernel != none ] || return
	until_true 20 has_instances || return
	for instance in $(our_instances); do
		for file in "$instance"/per_cpu/cpu*/stats; do
			exec {fd}<"$file" || continue
			held="$held $(basename "$(dirname "$file")"):$fd"
		done
	done
}

our_instances() {
	instances_of $(pids_named "$run" weft-bridge) $(pids_named "$run" weft-consumerd)
}

# Both, and switched on.
has_instances() {
	[ "$(our_instances | wc -l)" -ge 2 ] && [ -s "$dir/counted" ]
}

let_go() {
	local one fd
	for one in $held; do
		fd=${one#*:}
		exec {fd}<&-
	done
}

# "cpuN COUNT" of what the kernel produced, by the statistics held.
produced() {
	local one fd
	for one in $held; do
		fd=${one#*:}
		awk -F: -v cpu="${one%:*}" '$1 ~ /^(entries|overrun|commit overrun|dropped events|read events)$/ { n += $2 }
			END { print cpu, n + 0 }' <&"$fd"
	done | awk '{ n[$1] += $2 } END { for (cpu in n) print cpu, n[cpu] }' | sort
}

# "cpuN COUNT" of what is in the trace, or told to be lost. What record itself told of the start is not the kernel's.
accounted() {
	{
		"$WEFT" dump --json --kernel "$dir/trace" |
			jq -r 'select(.name | startswith("lttng_statedump") | not) | "cpu\(.cpu) 1"'
		jq -r 'select(.type == "loss" and (.source | startswith("thread") | not)) |
			"cpu\(.source | capture("(?<n>[0-9]+)$").n) \(.discarded)"' "$dir/trace/weft/sidecar"
	} | awk '{ n[$1] += $2 } END { for (cpu in n) print cpu, n[cpu] }' | sort
}

check_intervals() {
	jq -es '(map(select(.type == "end"))[0].end_ns) as $last | (map(select(.type == "header"))[0].begin_ns) as $first |
		all(.[] | select(.type == "loss"); .begin_ns >= $first and .begin_ns <= .end_ns and .end_ns <= $last)' \
		"$dir/trace/weft/sidecar" >/dev/null || fail "a loss lies outside of the recording"
	told=$(jq -s 'map(select(.type == "loss").discarded) | add // 0' "$dir/trace/weft/sidecar")
	said=$(sed -n 's/.* \([0-9,]*\) discarded.*/\1/p' "$dir/err" | tr -d ,)
	[ "$told" = "$said" ] || fail "$said discarded on the screen, $told in the trace"
}

run_scale() {
	local ring=$((64 << $1))K buffer=$((4 << $1 * 4 / 3))K
	dir=$stress_dir/$1
	run=$dir/run
	failures=
	mkdir -p "$dir" && mkdir -m 700 "$run"
	{
		WEFT_RUNDIR=$run "$WEFT" record --kernel=$kernel --ring-size=$ring --kernel-buffer=$buffer -o "$dir/trace" -- \
			"$COUNTED" -n "$events" -c -T -w "$dir/go" "$dir/counted" >"$dir/out" 2>"$dir/err"
		echo $? >"$dir/status"
	} &
	hold_stats
	touch "$dir/go"
	until_true 60 test -s "$dir/status" || fail "weft record hangs"
	[ "$(cat "$dir/status")" = 0 ] || fail "status $(cat "$dir/status"): $(head -n 1 "$dir/err")"
	produced >"$dir/produced"
	let_go
	wait
	"$WEFT" dump --name counted:step "$dir/trace" | "$CHECK_COUNTED" -l "$dir/trace/weft/sidecar" "$dir/counted" \
		>"$dir/check" || fail "markers"
	check_intervals
	if [ $kernel != none ]; then
		accounted >"$dir/accounted"
		cmp -s "$dir/produced" "$dir/accounted" ||
			fail "produced $(tr '\n' ' ' <"$dir/produced")accounted $(tr '\n' ' ' <"$dir/accounted")"
	fi
	until_true 15 nobody_of "$run" || fail "left running"
	echo "ring $ring kernel-buffer $buffer: markers: $(cat "$dir/check"); kernel: produced $(awk '{ n += $2 } END { print n + 0 }' \
		"$dir/produced"); discarded in all $said; ${failures:-ok}"
	if [ -n "$failures" ]; then
		status=1
		[ -z "${KEEP:-}" ] || cp -a "$dir" "$KEEP/"
	fi
	rm -rf "$dir"
}

status=0
for scale in $scales; do
	run_scale "$scale"
done
exit $status

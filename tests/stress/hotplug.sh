#!/bin/bash
# SPDX-License-Identifier: MIT
# hotplug.sh - a CPU goes and comes while the kernel is recorded: nothing is lost unsaid.
#
#	tests/stress/hotplug.sh [BUILD-FOLDER]
#
# Needs root and a CPU that can be switched off. It is switched off twice, a second in all. Threads
# bound to it lose that binding for good, which is why this is no part of `make check`.
top_builddir=$(realpath "${1:-.}")
top_srcdir=$(realpath "$(dirname "$0")/../..")
. "$top_srcdir/tests/tap.sh"
record=$top_builddir/tests/bridge-record
export WEFT_BRIDGE=$top_builddir/weft-bridge
switch=$(find /sys/devices/system/cpu/cpu[0-9]*/online 2>/dev/null | tail -1)
[ "$(id -u)" = 0 ] || skip_all "run as root"
[ -w "$switch" ] || skip_all "no CPU can be switched off here"
cpu=$(basename "$(dirname "$switch")" | tr -dc 0-9)
trap 'echo 1 >"$switch"; rm -rf "$tap_dir"' EXIT
value() { sed -n "s/^$1=//p" "$tap_dir/out"; }
# between NAME: what is recorded of the CPU, one stamp a line.
stamps() { awk -v name="sched_$cpu" '$2 == name && $4 ~ /^tid=/ { print $1 }' "$tap_dir/out"; }
sound() {
	is "$1: the recording succeeds" "$(value events | grep -c .)" 1
	is "$1: nothing is out of order" "$(value order) $(value floor)" "0 0"
	is "$1: what is read and what is discarded is what was written" \
		"$(($(value read) + $(value discarded)))" "$(value written)"
}

# It is gone for a while in the middle.
"$record" -t -s sched -i 20 -d 2 >"$tap_dir/out" 2>"$tap_dir/err" &
recording=$!
sleep 0.6
echo 0 >"$switch" && sleep 0.3
echo 1 >"$switch"
wait $recording
sound "a CPU that goes and comes"
stamps >"$tap_dir/stamps"
largest=$(awk 'NR > 1 && $1 - last > gap { gap = $1 - last; at = NR } { last = $1 } END { print at }' "$tap_dir/stamps")
ok "it has events before it went and after it came" [ "${largest:-0}" -gt 10 -a $(($(wc -l <"$tap_dir/stamps") - ${largest:-0})) -gt 10 ]

# It is not there at the beginning.
echo 0 >"$switch"
"$record" -t -s sched -i 20 -d 1.5 >"$tap_dir/out" 2>"$tap_dir/err" &
recording=$!
sleep 0.4
echo 1 >"$switch"
wait $recording
sound "a CPU that comes later"
ok "its events are recorded from then on" [ "$(stamps | wc -l)" -gt 10 ]
done_testing

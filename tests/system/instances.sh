# SPDX-License-Identifier: MIT
# instances.sh - tracefs instances of a weft-bridge, and the process that outlives it: source it after tap.sh.
#
#	left BRIDGE          how many instances of that process are there
#	is_removed BRIDGE    none is
#	watcher_of BRIDGE    its watcher's pid: the process that has a pidfd of it

instances=/sys/kernel/tracing/instances

left() { find $instances -maxdepth 1 -name "weft-$1-*" | wc -l; }

is_removed() { [ "$(left "$1")" = 0 ]; }

watcher_of() {
	local pid
	for pid in $(pgrep -x weft-watcher); do
		grep -qx "Pid:[[:space:]]*$1" "/proc/$pid/fdinfo/4" 2>/dev/null && echo "$pid"
	done
}

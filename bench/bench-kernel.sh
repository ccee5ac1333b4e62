#!/bin/bash
# SPDX-License-Identifier: MIT
# bench-kernel.sh - what recording the kernel costs a program: alone, under weft, trace-cmd and perf with the same
# tracepoints, in turns, so that the machine's mood is the same for all.
#
#	bench/bench-kernel.sh [-b BUILD] [-n ROUNDS] [-w WORKLOADS] [-r RECORDERS] [-s SETS]
#
#	-b BUILD      the build folder (.); -B OTHER: another build of weft beside it, as recorder "weft_other"
#	-n ROUNDS     pairs (alone, recorded) of each recorder and workload (15)
#	-w WORKLOADS  of pipe (perf bench sched pipe; pipe1: both its ends on one CPU, which varies less), dd (4 KiB reads with O_DIRECT), faults (fresh anonymous pages)
#	-r RECORDERS  of weft, trace_cmd, perf, weft_all (weft's default sets)
#	-s SETS       of sched, irq, softirq, block, fault, syscall: for every workload; else sched,irq,softirq,block, and
#	              for faults also fault
#
# A line per workload and recorder:
#	slowdown, q1, q3   median and quartiles, over the rounds, of (time with it / time alone)
#	work_cpu           the same of the work's own CPU time
#	recorder_cpu_ms    user and system, of all the recorder's processes, by wait4() (bench-run.c): median
#	start_cpu_ms       of that, what recording `true` takes too: setting up, and taking away
#	cpu_ns_per_event   the rest, by event
#	bytes_per_event, events, discarded   of the last recording (trace-cmd compresses its file)
# Needs root, tracefs, and each recorder it is asked for.
set -u
export LC_ALL=C
build=. other='' rounds=15 workloads='pipe dd faults' recorders='weft trace_cmd perf' given_sets=''
usage() { sed -n '/^#	bench/,/^# A line/p' "$0" | sed '$d; s/^#//'; exit 2; }
while getopts b:B:n:w:r:s:h option; do
	case $option in
	b) build=$OPTARG ;;
	B)
		# shellcheck disable=SC2034 # recorders.sh
		other=$(realpath "$OPTARG") recorders="$recorders weft_other"
		;;
	n) rounds=$OPTARG ;;
	w) workloads=${OPTARG//,/ } ;;
	r) recorders=${OPTARG//,/ } ;;
	s) given_sets=$OPTARG ;;
	*) usage ;;
	esac
done
. "$(dirname "$0")/recorders.sh"
prepare bench/bench-faults

loops=100000 reads=20000 pages=400000
dd if=/dev/urandom of="$dir/file" bs=1M count=$((reads * 4096 / 1048576 + 1)) conv=fsync status=none

# The work, run by bench-run in the recorder's place for a command; its own time goes to a file.
work() {
	case $1 in
	pipe) echo "perf bench -f simple sched pipe -l $loops" ;;
	pipe1) echo "taskset -c 0 perf bench -f simple sched pipe -l $loops" ;;
	dd) echo "dd if=$dir/file of=/dev/null bs=4096 count=$reads iflag=direct status=none" ;;
	faults) echo "$build/bench/bench-faults $pages" ;;
	true) echo true ;;
	esac
}

sets_of() {
	if [ -n "$given_sets" ]; then
		echo "$given_sets"
	elif [ "$1" = faults ]; then
		echo sched,irq,softirq,block,fault
	else
		echo sched,irq,softirq,block
	fi
}

# RECORDER SETS WORKLOAD: runs it. The time of the work, us, is in $took, its CPU time in $took_cpu, the recorder's in $cpu.
measure() {
	local seconds user system work_user work_system
	rm -f "$dir/cost" "$dir/work"
	# shellcheck disable=SC2046 # words
	"record_$1" "$2" "$run" "$dir/work" $(work "$3") >"$dir/printed" || {
		cat "$dir/printed" "$dir"/said.* >&2
		fail "$1 did not run $3"
	}
	read -r took work_user work_system _ <"$dir/work"
	took_cpu=$((work_user + work_system))
	if [[ $3 = pipe* ]]; then # without perf's own start
		seconds=$(cat "$dir/printed" "$dir"/said.trace_cmd 2>/dev/null | grep -m1 -E '^[0-9]+\.[0-9]+$')
		[ -n "$seconds" ] && took=$(awk "BEGIN { print $seconds * 1e6 }")
	fi
	cpu=0
	if [ "$1" != alone ]; then
		read -r _ user system _ <"$dir/cost"
		cpu=$((user + system - took_cpu))
	fi
}
cpu_name=$(sed -n 's/^model name.*: //p' /proc/cpuinfo | head -1)
for workload in $workloads; do
	sets=$(sets_of "$workload")
	rm -f "$dir"/ratio.* "$dir"/work_cpu.* "$dir"/alone "$dir"/cpu.* "$dir"/start.*
	for recorder in $recorders; do
		for round in 1 2 3; do
			measure "$recorder" "$sets" true
			echo "$cpu" >>"$dir/start.$recorder"
		done
	done
	for round in $(seq "$rounds"); do
		order=$recorders
		[ $((round % 2)) = 0 ] && order=$(echo "$recorders" | tr ' ' '\n' | tac | tr '\n' ' ')
		for recorder in $order; do
			rm -f "$dir"/said.*
			measure alone - "$workload"
			alone=$took alone_cpu=$took_cpu
			measure "$recorder" "$sets" "$workload"
			echo "$alone" >>"$dir/alone"
			awk "BEGIN { print $took_cpu / $alone_cpu }" >>"$dir/work_cpu.$recorder"
			awk "BEGIN { print $took / $alone }" >>"$dir/ratio.$recorder"
			echo $cpu >>"$dir/cpu.$recorder"
			[ "$round" = "$rounds" ] && told "$recorder" >"$dir/told.$recorder"
		done
	done
	for recorder in $recorders; do
		read -r events discarded bytes <"$dir/told.$recorder"
		used=$(quantile 0.5 "$dir/cpu.$recorder")
		start=$(quantile 0.5 "$dir/start.$recorder")
		echo "bench-kernel workload=$workload recorder=$recorder sets=$([ "$recorder" = weft_all ] && echo default || echo "$sets")" \
			"slowdown=$(quantile 0.5 "$dir/ratio.$recorder") q1=$(quantile 0.25 "$dir/ratio.$recorder") q3=$(quantile 0.75 "$dir/ratio.$recorder")" \
			"work_cpu=$(quantile 0.5 "$dir/work_cpu.$recorder")" \
			"recorder_cpu_ms=$(awk "BEGIN { print $used / 1000 }") start_cpu_ms=$(awk "BEGIN { print $start / 1000 }")" \
			"cpu_ns_per_event=$(awk "BEGIN { printf \"%.0f\", ($used - $start) * 1000 / ($events + 0 ? $events : 1) }") events=$events" \
			"bytes_per_event=$(awk "BEGIN { printf \"%.1f\", $bytes / ($events + 0 ? $events : 1) }") discarded=$discarded" \
			"rounds=$rounds alone_ms=$(awk "BEGIN { print $(quantile 0.5 "$dir/alone") / 1000 }") cpus=$(nproc) load=$(cut -d' ' -f1 /proc/loadavg) cpu=\"$cpu_name\""
	done
done

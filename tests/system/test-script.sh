#!/bin/bash
# SPDX-License-Identifier: MIT
# A script becomes a trace that says what the script says.
. "${top_srcdir:-.}/tests/tap.sh"
convert=$top_builddir/tests/script-to-trace
cat >"$tap_dir/script" <<'END'
standard
class player:decode:begin user begin packet:u64:flow
thread tid=812 pid=800 comm="audio-rt" state=S markers=1
irq 36 "virtio1-req.0" pci="0000:00:02.0"
device 254:0 vda
1000000 cpu1 tid=7 ctx=hardirq sched_waking comm="audio-rt" tid=812 prio=-2 target_cpu=0
1500us cpu0 tid=0 sched_switch prev_comm="swapper/0" prev_prio=120 next_comm="audio-rt" next_tid=812
2000000 pid=800 tid=812 player:decode:begin packet=3
+500000 cpu0 tid=812 syscall_exit_read ret=-4
loss cpu0 count=17 3ms 4ms
END
ok "a script is converted" "$convert" "$tap_dir/script" "$tap_dir/trace"
is "every event is there, in order" \
	"$("$WEFT" dump --json "$tap_dir/trace" | jq -r '"\(.ts) \(.name)"')" \
	"$(printf '%s\n' '1000000 sched_waking' '1500000 sched_switch' '2000000 player:decode:begin' '2500000 syscall_exit_read')"
is "with its values" \
	"$("$WEFT" dump --json "$tap_dir/trace" | jq -c 'select(.name == "sched_waking") | [.cpu, .tid, .fields.comm, .fields.tid, .fields.prio]')" \
	'[1,7,"audio-rt",812,-2]'
is "the sidecar knows the irq, the device and the loss" \
	"$(jq -rs '[.[] | select(.type == "irq" or .type == "device" or .type == "loss")] | map(.pci // .name // (.discarded | tostring)) | join(" ")' "$tap_dir/trace/weft/sidecar")" \
	"0000:00:02.0 vda 17"
echo '5 cpu0 nonesuch' >>"$tap_dir/script"
"$convert" "$tap_dir/script" "$tap_dir/other" 2>"$tap_dir/why"
is "a mistake is refused" $? 1
ok "and its line is named" grep -q ":11: no class 'nonesuch'" "$tap_dir/why"
"$convert" "$tap_dir/trace/nothing" "$tap_dir/other" 2>"$tap_dir/why"
is "a missing script is refused" $? 1
done_testing

#!/bin/bash
# SPDX-License-Identifier: MIT
# weft doctor says what works, the same as text and as JSON, and leaves nothing behind.
. "${top_srcdir:-.}/tests/tap.sh"
export WEFT_RUNDIR=$tap_dir/run
mkdir -m 700 "$WEFT_RUNDIR"
can_trace=no
[ "$(id -u)" = 0 ] && [ -w /sys/kernel/tracing/instances ] && can_trace=yes

ok "it succeeds where markers can be recorded" "$WEFT" doctor
ok "its JSON is one object" jq -e 'type == "object"' < <("$WEFT" doctor --json)
"$WEFT" doctor --json >"$tap_dir/json"
is "every backend is named" "$(jq -r '[.backends[].name] | sort | join(" ")' "$tap_dir/json")" "fake ftrace none"
is "one that does not work says why" \
	"$(jq -r '[.backends[] | select(.works | not) | select(.reason == "")] | length' "$tap_dir/json")" 0
is "libmarker is found where it was built" "$(jq -r .libmarker "$tap_dir/json")" "$WEFT_LIBMARKER"
is "the rendezvous folder is the one asked for" "$(jq -r .rendezvous "$tap_dir/json")" "$WEFT_RUNDIR"
if [ $can_trace = yes ]; then
	is "with tracefs and rights, a switch is provoked and seen" \
		"$(jq -r '.backend + " " + (.backends[] | select(.name == "ftrace") | .seen | index("sched") | tostring)' "$tap_dir/json")" "ftrace 0"
	is "all questions can be answered that this kernel has events for" \
		"$(jq -r '[.questions[] | select((.missing | length > 0) == .answer)] | length' "$tap_dir/json")" 0
else
	is "without tracefs or rights there is no kernel backend" "$(jq -r .backend "$tap_dir/json")" none
	is "and no question about the kernel is answered" "$(jq -r '[.questions[] | select(.answer)] | length' "$tap_dir/json")" 0
fi
is "nothing of a probe is left" "$(find /sys/kernel/tracing/instances -maxdepth 1 -name 'weft-*-probe' 2>/dev/null | wc -l)" 0
is "each question says which events it needs" "$(jq -r '[.questions[] | select(.needs | length == 0)] | length' "$tap_dir/json")" 0
is "and, where it cannot be answered, the way to that" \
	"$(jq -r '[.questions[] | select((.answer | not) and .way == "")] | length' "$tap_dir/json")" 0
if [ "$(id -u)" = 0 ] && setpriv --reuid=65534 --regid=65534 --clear-groups test -x "$WEFT" 2>/dev/null; then
	chmod 711 "$tap_dir" && mkdir -m 700 "$tap_dir/nobody" && chown 65534 "$tap_dir/nobody"
	setpriv --reuid=65534 --regid=65534 --clear-groups env WEFT_BRIDGE_SOCKET="$tap_dir/none" WEFT_RUNDIR="$tap_dir/nobody" \
		"$WEFT" doctor --json >"$tap_dir/json"
	is "without rights it is sudo, or setup" "$(jq -r '[.questions[].way] | unique | join("|")' "$tap_dir/json")" \
		"sudo weft record; or for good: sudo weft setup"
	is "what 'sudo weft record' could is told under sudo, as the user" \
		"$(SUDO_UID=65534 SUDO_GID=65534 WEFT_RUNDIR=$tap_dir/nobody "$WEFT" doctor --json | jq -r '"\(.markers) \(.bridge.works)"')" "true true"
else
	skip "without rights it is sudo, or setup" "cannot become another user"
	skip "what 'sudo weft record' could is told under sudo, as the user" "cannot become another user"
fi
WEFT_LIBMARKER=/nonexistent "$WEFT" doctor >"$tap_dir/text"
is "it fails where not even markers can be recorded" $? 1
ok "and names what is missing" grep -q 'libmarker *missing: /nonexistent' "$tap_dir/text"
ok "an unknown option is refused" sh -c "! '$WEFT' doctor --nonsense"
done_testing

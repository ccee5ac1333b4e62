#!/bin/bash
# SPDX-License-Identifier: MIT
# weft setup: what it has the system's tools do. They are played by scripts that write down what they are told.
. "${top_srcdir:-.}/tests/tap.sh"
cd "$tap_dir" || exit 1

"$WEFT" setup nonesuch-user >out 2>err
is "a user that there is not is a mistake" $? 2
"$WEFT" setup one two >out 2>err
is "so are two" $? 2
if [ "$(id -u)" != 0 ]; then
	"$WEFT" setup >out 2>err
	is "without root's rights it says what to run" "$? $(grep -c 'sudo weft setup' err)" "2 1"
	skip "the rest" "run as root"
	done_testing
fi
mkdir tools
for tool in groupadd gpasswd systemctl; do
	printf '#!/bin/sh\necho "%s $*" >>"%s/told"\nexit ${TOOL_STATUS:-0}\n' $tool "$tap_dir" >tools/$tool
done
chmod +x tools/*
export PATH=$tap_dir/tools:$PATH
# The group may be there already, and nobody in it: then those steps are left out.
makes= adds=
getent group tracing >/dev/null || makes="groupadd --system tracing "
getent group tracing | cut -d: -f4 | tr ',' '\n' | grep -qx nobody || adds="gpasswd --add nobody tracing "
on= off=
[ -d /run/systemd/system ] && on="systemctl enable --now weft-bridge.socket " off="systemctl disable --now weft-bridge.socket "

told() {
	tr '\n' ' ' <told 2>/dev/null
	rm -f told
}
SUDO_USER= "$WEFT" setup nobody >out 2>err
is "it makes the group, adds the user, and has systemd listen" "$? $(told)" "0 $makes$adds$on"
SUDO_USER=nobody "$WEFT" setup >out 2>err
is "the user is who called sudo, if no other is named" "$? $(told)" "0 $makes$adds$on"
SUDO_USER= "$WEFT" setup >out 2>err
is "or none" "$? $(told)" "0 $makes$on"
if [ -z "$on" ]; then
	ok "without systemd it says what to start" grep -q 'weft-bridge --listen$' out
else
	skip "without systemd it says what to start" "there is systemd"
fi
"$WEFT" setup --remove >out 2>err
is "--remove ends the listening" "$? $(told)" "0 $off"
if [ -n "$makes$adds" ]; then
	TOOL_STATUS=1 "$WEFT" setup nobody >out 2>err
	is "a tool that fails ends it" "$? $(grep -c 'did not succeed' err)" "2 1"
else
	skip "a tool that fails ends it" "none is needed here"
fi
done_testing

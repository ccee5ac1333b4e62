#!/bin/bash
# SPDX-License-Identifier: MIT
# weft mark: markers of scripts. What is recorded is written here by hand, or said by the script itself.
. "${top_srcdir:-.}/tests/tap.sh"
command -v jq >/dev/null || skip_all "jq is not installed"
export WEFT_RUNDIR=$tap_dir/run
mkdir -m 700 "$WEFT_RUNDIR"
PATH=$(dirname "$WEFT"):$PATH
cd "$tap_dir" || exit 1

# ---- nobody records
is "while nobody records it does nothing, and says nothing" "$(weft mark build:step n=1 2>&1; echo $?)" 0
is "a command runs as without it" "$(weft mark step -- sh -c 'echo out; exit 3' 2>&1; echo $?)" "out
3"
is "without a libmarker too" "$(WEFT_LIBMARKER=/nonexistent weft mark step 2>&1; echo $?)" 0
weft mark --enabled
is "--enabled says no" $? 1
refused() {
	local status
	weft mark "$@" >out 2>&1
	status=$?
	[ "$status $(wc -l <out)" = "2 1" ] || { echo "exit $status"; cat out; return 1; }
}
ok "a name is needed" refused
ok "an option that is none" refused --loud step
ok "or with one dash" refused -x
ok "what could be no marker's name is refused" refused 'a(b'
ok "so is a field without a value" refused step n
ok "a field whose name is none" refused step 1n=1
ok "a counter without a value" refused --counter depth
ok "or with one that is no number" refused --counter depth much
ok "a level that is none" refused --level loud step
ok "a scope without a command" refused step --
ok "two kinds at once" refused --begin --end step
ok "a fifteenth field" refused step a=1 b=1 c=1 d=1 e=1 f=1 g=1 h=1 i=1 j=1 k=1 l=1 m=1 n=1 o=1

# ---- a script that is recorded
cat >script.sh <<'END'
weft mark --enabled && echo recorded
weft mark build:step n=1 negative=-7 share=0.5 big=1e3 hex=0x10 name=clip.mp4 empty= equals=a=b version=1.2.3 zero=007
weft mark step due_ns=123
weft mark "long" text="$(printf 'ä%.0s' {1..200})"
weft mark --level err failed
weft mark --level debug detail
weft mark --counter build:queue 3
weft mark --counter build:queue -0.5 of=main
weft mark compile file=a.c -- sh -c 'weft mark inside; exit 5'
echo "status $?"
weft mark compile -- sh -c 'kill -TERM $$'
echo "status $?"
weft mark compile -- no-such-command 2>/dev/null
echo "status $?"
weft mark --begin upload size=10
weft mark --begin upload --id 7
weft mark --begin --id host-a copy
weft mark --begin --id host-b copy
weft mark --end --id host-a copy ret=1
weft mark --end --id host-b copy ret=2
weft mark --end --id 7 upload
weft mark --end upload ret=0
END
is "a script is recorded, and its commands' statuses are its own" \
	"$(weft record --kernel=none -o trace -- bash script.sh 2>err)" "recorded
status 5
status 143
status 127"
dumped() { weft dump trace --json | jq -c "select(.name | startswith(\"$1\")) | ${2:-.fields}"; }
is "fields are numbers where they are numbers, and else strings" "$(dumped build:step)" \
	'{"n":1,"negative":-7,"share":0.5,"big":1000,"hex":16,"name":"clip.mp4","empty":"","equals":"a=b","version":"1.2.3","zero":7}'
is "a name without a provider is script's" "$(dumped script:step)" '{"due_ns":123}'
is "a long string is cut between characters" "$(dumped script:long '.fields.text | [length, (.[:1] + .[-1:])]')" '[127,"ä…"]'
is "counters have values" "$(dumped build:queue | xargs)" '{value:3} {value:-0.5,of:main}'
is "a command has a scope, with its status, and what is inside lies inside" \
	"$(weft dump trace --json | jq -r 'select(.name | test("compile|inside|result")) | .name + (.fields | tostring)' | head -n 4 | tr -d '"')" \
	"script:compile:begin{file:a.c}
script:inside{}
weft:result{status:5}
script:compile:end{}"
is "each command's scope has ended" "$(weft report trace markers --json | jq -c 'select(.marker == "script:compile") | [.kind, .count, .unfinished]')" '["scope",3,0]'
is "spans are joined by their ids, or by the script that makes them" \
	"$(weft why trace --marker 'script:*o*' --all --json 2>/dev/null | jq -c 'select(.marker | test("upload|copy")) | [.marker, .fields.of, .fields.size, .fields.ret]')" \
	'["script:upload",null,10,0]
["script:upload",null,null,null]
["script:copy","host-a",null,1]
["script:copy","host-b",null,2]'
is "markers have levels" "$(weft record --kernel=none --level=warning -o errors -- bash script.sh >/dev/null 2>&1; weft dump errors --json | jq -r .name | sort -u | xargs)" "script:failed weft:result"
is "weft record chooses by name" "$(weft record --kernel=none -m 'build:*' -o chosen -- bash script.sh >/dev/null 2>&1; weft dump chosen --json | jq -r .name | sort -u | grep -v weft:result | xargs)" "build:queue build:step"

# ---- a recording of the whole machine, from another shell
weft record --kernel=none --detach -o machine 2>/dev/null
ok "a recording that is under way takes markers of programs that weft did not start" weft mark other:shell n=1
for i in {1..50}; do weft mark other:many n=$i; done
weft stop machine 2>/dev/null
is "each of them is there, though each process ended at once" \
	"$(weft dump machine --json | jq -c 'select(.name == "other:many") | .fields.n' | sort -n | xargs)" "$(echo {1..50})"
done_testing

#!/bin/bash
# SPDX-License-Identifier: MIT
# Damaged traces: every command comes to an end, soon, with a status and at most a line on what is wrong.
#
#	test-damage.sh [ROUNDS [SEED]]     by hand, more rounds than in make check
. "${top_srcdir:-.}/tests/tap.sh"
rounds=${1:-6}
seed=${2:-1}
cd "$tap_dir" || exit 1

# Memory that no small trace needs; programs built with a sanitizer reserve more than there is.
limit=2000000
(ulimit -v $limit && "$WEFT" --help) >/dev/null 2>&1 || limit=unlimited

# weft COMMAND...: exit status in $status, a reason why that was no decent end in $why, or "".
run() {
	(ulimit -v $limit; exec timeout 20 "$WEFT" "$@") >out 2>err </dev/null
	status=$?
	why=
	case $status in
	0 | 3) ;;
	1) [ "$1" = verify-order ] || why="exit status 1" ;;
	2) [ -s err ] || why="an error without a word" ;;
	124) why="no end within 20 s" ;;
	*) why="exit status $status" ;;
	esac
	[ "$(wc -l <err)" -le 4 ] || why="${why:-many lines of errors}"
	grep -qiE 'sanitizer|runtime error|out of memory' err && why=$(head -n 1 err)
}

# every_command TRACE: prints what did not end well.
every_command() {
	local args
	for args in "dump $1" "dump --json $1" "report $1" "report --json $1" "verify-order $1" "why --marker * $1" \
		"why --thread 1 --from +0 --to +1s $1"; do
		set -f
		run $args
		set +f
		[ -z "$why" ] || echo "weft $args: $why: $(head -n 1 err)"
	done
}

# ---- by chance
"$top_builddir/tests/script-to-trace" "$top_srcdir/tests/data/why-block-io.script" kernel-trace || exit 1
WEFT_RUNDIR=$tap_dir/run "$WEFT" record --kernel=none -o marker-trace -- "$top_builddir/tests/system/record-numbers" -n 300 >out 2>&1 || exit 1
for trace in kernel-trace marker-trace; do
	is "$trace: whole, every command reads it" "$(every_command $trace)" ""
	bad= killed=0
	for ((i = 0; i < rounds; i++)); do
		rm -rf wounded
		cp -r $trace wounded
		what=$("$top_builddir/tests/system/damage" $((seed + i)) wounded)
		got=$(every_command wounded)
		[ -z "$got" ] || bad+="seed $((seed + i)), $what: $got"$'\n'
	done
	is "$trace: of $rounds wounds none is deadly" "$bad" ""
done

# ---- one by one
wound() {
	rm -rf wounded
	cp -r kernel-trace wounded
}
fails() {
	"$WEFT" "$@" >out 2>err </dev/null && return 1
	[ "$(wc -l <err)" = 1 ]
}

wound
sed -i '2s/^{/[/' wounded/weft/sidecar
"$WEFT" dump wounded >out 2>err
is "a damaged line of the sidecar costs that line" "$?" 0
ok "and is named" grep -q 'weft/sidecar: line 2 ' err
"$WEFT" dump kernel-trace >whole
is "every event is there" "$(wc -l <out)" "$(wc -l <whole)"

wound
echo precious >outside
printf 'no newline' >>outside
mkdir elsewhere
cp outside elsewhere/sched_0.idx
sed -i '$d' wounded/weft/sidecar
printf '{"type":' >>wounded/weft/sidecar
mv wounded/weft/sidecar sidecar-target
ln -s ../../sidecar-target wounded/weft/sidecar
rm -r wounded/kernel/index
ln -s ../../elsewhere wounded/kernel/index
mkdir copies
cp -r outside elsewhere sidecar-target copies
"$WEFT" dump wounded >out 2>err
ok "what links in a trace lead to is left as it is" sh -c 'cmp sidecar-target copies/sidecar-target && diff -r elsewhere copies/elsewhere'

for file in kernel/metadata weft/sidecar; do
	wound
	rm wounded/$file
	mkfifo wounded/$file
	ok "$file that is a fifo is told in a line" fails dump wounded
	ok "by its name" grep -q "$file: not a regular file" err
done

# ---- enormous
{
	cat kernel-trace/kernel/metadata
	awk 'BEGIN { for (i = 100000; i < 200000; i++) printf "event { id = %d; name = \"e%d\"; fields := struct { integer { size = 8; } _a; }; };\n", i, i }'
} >many
wound
cp many wounded/kernel/metadata
is "a hundred thousand event classes are read" "$(every_command wounded)" ""

wound
{
	cat kernel-trace/kernel/metadata
	printf 'event { id = 99999; name = "deep"; fields := '
	awk 'BEGIN { for (i = 0; i < 1000000; i++) printf "struct { "; for (i = 0; i < 1000000; i++) printf "} a; "; print "};" }'
} >wounded/kernel/metadata
ok "types a million deep are refused in a line" fails dump wounded

wound
awk 'BEGIN { for (i = 200000; i > 0; i--) printf "{\"type\":\"loss\",\"source\":\"cpu0\",\"begin_ns\":%d,\"end_ns\":%d,\"discarded\":1}\n", i, i }' \
	>>wounded/weft/sidecar
is "two hundred thousand losses, the last one first, are read" "$(every_command wounded)" ""

printf '\177ELF' >short
mkfifo fifo
for file in short fifo /dev/null "$tap_dir" missing kernel-trace/kernel/metadata; do
	run list "$file"
	is "weft list of ${file##*/} ends with a line" "$status $(wc -l <err) $why" "2 1 "
done
done_testing

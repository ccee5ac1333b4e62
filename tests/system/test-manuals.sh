#!/bin/bash
# SPDX-License-Identifier: MIT
# Every command has --help, a manual page that tells its options, and completion; every command names
# the option it does not know.
. "${top_srcdir:-.}/tests/tap.sh"
man=$top_srcdir/doc/man
data=$top_srcdir/tests/data
commands=$("$WEFT" --help | awk '/^  [a-z]/ { print $1 }')

# The options of a command by its help's usage and its list, one a line.
options_of() {
	"$WEFT" "$1" --help | awk '/^$/ { is_usage_over = 1 }
	!is_usage_over || /^  (    )?-/ {
		if (is_usage_over && match($0, /[a-zA-Z]  +/)) $0 = substr($0, 1, RSTART)
		while (match($0, /(^|[ [|(])--?[a-z][a-z-]*/)) {
			option = substr($0, RSTART, RLENGTH)
			gsub(/[^a-z-]/, "", option)
			print option
			$0 = substr($0, RSTART + RLENGTH)
		}
	}' | sort -u
}

page_of() { ls "$man/weft-$1".[18] 2>/dev/null | head -n 1; }

nr=0
for command in $commands; do
	ok "weft $command --help succeeds" "$WEFT" "$command" --help
	page=$(page_of "$command")
	ok "weft $command has a manual page" test -n "$page"
	[ -n "$page" ] || continue
	sed 's/\\-/-/g; s/\\f.//g' "$page" >"$tap_dir/page"
	is "weft-$command(1) tells every option of --help" \
		"$(for option in $(options_of "$command"); do grep -qE -- "(^|[^a-z-])$option([^a-z-]|\$)" "$tap_dir/page" || echo "$option"; done)" ""
	ok "weft(7) refers to weft-$command" grep -q "weft.*-$command *([18])\|weft-$command([18])" <(sed 's/\\-/-/g; s/" *//g' "$man/weft.7")
	"$WEFT" "$command" --no-such-option >"$tap_dir/out" 2>&1 </dev/null
	is "weft $command names an option that it does not know, in one line, and exits with 2" \
		"$? $(grep -c -- --no-such-option "$tap_dir/out") $(wc -l <"$tap_dir/out")" "2 1 1"
	nr=$((nr + 1))
done
told=$(cat "$man"/*.[1-8])
read_variables=$(grep -rhoE --include=*.c '"WEFT_[A-Z_]+"' "$top_srcdir"/{cli,consumerd,kernel-bridge,libmarker} | tr -d '"' | sort -u)
is "the manual pages tell every variable of the environment that is read" \
	"$(for variable in ${read_variables:?}; do grep -qw "$variable" <<<"$told" || echo "$variable"; done)" ""
is "there are commands" "$([ "$nr" -ge 5 ] && echo yes)" yes

if ! command -v man >/dev/null || ! command -v groff >/dev/null; then
	skip "manual pages are free of warnings" "man or groff is not installed"
else
	is "manual pages are free of warnings" "$(for page in "$man"/*.[1-8]; do
		LC_ALL=C.UTF-8 MANWIDTH=80 man --warnings -E UTF-8 -l -Tutf8 -Z "$page" 2>&1 >/dev/null
	done)" ""
fi

# --- completion, by calling its function as the shell does ---

PATH=$(dirname "$WEFT"):$PATH
. "$top_srcdir/completion/weft.bash"

# complete LINE: what is offered for the last word of a command line, sorted.
complete_line() {
	local line=$1
	COMP_LINE=$line COMP_POINT=${#line} COMP_WORDBREAKS=$' \t\n"\'><=;|&(:'
	read -ra COMP_WORDS <<<"$line"
	[[ $line != *" " ]] || COMP_WORDS+=("")
	COMP_CWORD=$((${#COMP_WORDS[@]} - 1))
	_weft weft "${COMP_WORDS[COMP_CWORD]}" "${COMP_WORDS[COMP_CWORD - 1]}"
	printf '%s\n' "${COMPREPLY[@]}" | sort -u
}

# Lines that are in the first text and not in the second.
missing() { comm -23 <(sort -u <<<"$1") <(sort -u <<<"$2"); }

is "completion offers every command" "$(missing "$commands" "$(complete_line 'weft ')")" ""
for command in $commands; do
	is "completion offers every option of weft $command" \
		"$(missing "$(options_of "$command")" "$(complete_line "weft $command -")")" ""
done
is "a command is completed from its first letters" "$(complete_line 'weft rec')" record
is "an option is completed, and its value" "$(complete_line 'weft why --perio') $(complete_line 'weft why --by=la')" "--period late"

cd "$tap_dir" || exit 1
mkdir other
"$(dirname "$WEFT")/tests/script-to-trace" "$data/why-pipe.script" recorded
is "of folders, those are offered that are traces" "$(complete_line 'weft dump ')" recorded
is "reports and traces are offered" "$(missing $'recorded\nsched\nio' "$(complete_line 'weft report ')")" ""
is "markers of the trace are offered, as the shell splits words" \
	"$(complete_line 'weft why recorded --marker de') $(complete_line 'weft why recorded --marker demo:fr')" \
	"demo:frame frame"
is "weft status takes no trace, and none is offered" "$(complete_line 'weft status ')" ""
export WEFT_RUNDIR=$tap_dir/run
mkdir -m 700 run
is "nor for weft stop, while nothing is recorded" "$(complete_line 'weft stop ')" ""
"$WEFT" record --kernel=none --detach -d 20 -o under-way 2>/dev/null
is "weft stop is offered what is being recorded" "$(complete_line 'weft stop ')" under-way
is "so is weft snapshot" "$(complete_line 'weft snapshot ')" under-way
"$WEFT" stop under-way 2>/dev/null
ok "behind -- programs are offered" grep -qx true <(complete_line 'weft record -- tru')
done_testing

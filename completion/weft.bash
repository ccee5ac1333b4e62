# SPDX-License-Identifier: MIT
# weft.bash - completion for bash: commands, their options, values, traces, markers, programs.
#
# Commands and options come from weft's own --help, so none is missing here and none is too many.

_weft_commands() {
	"$_weft" --help 2>/dev/null | awk '/^  [a-z]/ { print $1 }'
}

_weft_options() {
	"$_weft" "$1" --help 2>/dev/null | awk '
		/^$/ { after_usage = 1 }
		!after_usage || /^  (    )?-/ {
			if (after_usage && match($0, /[a-zA-Z]  +/))
				$0 = substr($0, 1, RSTART)
			while (match($0, /(^|[ [|,])--?[a-z][a-z-]*/)) {
				option = substr($0, RSTART, RLENGTH)
				gsub(/[^a-z-]/, "", option)
				print option
				$0 = substr($0, RSTART + RLENGTH)
			}
		}' | sort -u
	echo --help
}

# Traces among the folders that begin like the word; other folders lead on to some.
_weft_traces() {
	local dir
	while read -r dir; do
		[ ! -e "$dir/weft/sidecar" ] && [ ! -e "$dir/part-000001" ] || printf '%s\n' "$dir"
	done < <(compgen -d -- "$1")
}

# The recordings that are running: their folders as an absolute path, or as the name of one in here.
_weft_recordings() {
	local dir
	while read -r dir; do
		[ "${dir%/*}" != "$PWD" ] || [[ $1 == /* ]] || dir=${dir##*/}
		printf '%s\n' "$dir"
	done < <("$_weft" status --json 2>/dev/null | sed -n 's/.*"dir":"\([^"]*\)".*/\1/p')
}

# The trace or program that the line names already, or nothing: then weft takes the newest trace.
_weft_named() {
	local word
	for word in "${COMP_WORDS[@]:2:COMP_CWORD-2}"; do
		case $1 in
		trace) [ -e "$word/weft/sidecar" ] && printf '%s\n' "$word" && return ;;
		program) [ -f "$word" ] && [ -x "$word" ] && printf '%s\n' "$word" && return ;;
		esac
	done
}

_weft_trace_markers() {
	local trace
	trace=$(_weft_named trace)
	"$_weft" report ${trace:+"$trace"} markers --json 2>/dev/null |
		sed -n 's/.*"marker":"\([^"]*\)".*/\1/p'
}

_weft_program_markers() {
	local program
	program=$(_weft_named program)
	[ -n "$program" ] || return 0
	"$_weft" list "$program" --json 2>/dev/null | sed -n 's/.*"name":"\([^"]*\)".*/\1/p' |
		sed -E 's/:(begin|end)$//' | sort -u
	"$_weft" list "$program" --json 2>/dev/null | sed -n 's/.*"name":"\([^:"]*\):.*/\1:*/p' | sort -u
}

_weft_values() {
	case $1$2 in
	why--by) echo duration late interval ;;
	why--marker) _weft_trace_markers ;;
	dump--name) _weft_trace_markers ;;
	record--marker | record-m) _weft_program_markers ;;
	record--kernel) echo default all none sched irq softirq block timer workqueue signal syscall fault ;;
	record--snapshot) echo 10s 30s 1m 100M 1G ;;
	record--when-full) echo discard block ;;
	record--clock) echo ordered fast ;;
	record--level) echo emerg alert crit err warning notice info debug ;;
	record--backend) echo ftrace fake none ;;
	record--pid | record-p | list*) compgen -A file -- "$3"; ps -eo pid= 2>/dev/null ;;
	record--output | record-o | snapshot--output | snapshot-o) compgen -d -- "$3" ;;
	esac
}

# Options that take no value have no word behind them.
_weft_takes_value() {
	case $2 in
	-o | -p | -e | -m | -d) [ "$1" = record ] || [ "$1" = snapshot ] || [ "$1" = why ] || [ "$1" = dump ] ;;
	--*) "$_weft" "$1" --help 2>/dev/null | grep -qE -- "(^|[ [|])$2[= ][A-Z]" ;;
	*) false ;;
	esac
}

_weft_words() {
	case $1 in
	report)
		echo summary threads markers sched irq io faults flows
		_weft_traces "$2"
		;;
	dump | why | verify-order) _weft_traces "$2" ;;
	snapshot | stop) _weft_recordings "$2" ;;
	setup) compgen -u -- "$2" ;;
	list) _weft_values list "" "$2" ;;
	record) compgen -c -- "$2"; compgen -f -- "$2" ;;
	help) _weft_commands ;;
	esac
}

_weft() {
	local _weft=$1 line=${COMP_LINE:0:COMP_POINT} command=${COMP_WORDS[1]} word before option="" IFS=$'\n'
	word=${line##*[[:space:]]}
	before=${line%"$word"}
	before=${before%"${before##*[![:space:]]}"}
	before=${before##*[[:space:]]}
	COMPREPLY=()

	# Behind that there is a program, and what it takes.
	if [[ $line == *" -- "* ]]; then
		COMPREPLY=($(compgen -c -- "$word"; compgen -f -- "$word"))
		return
	fi
	if [ "$before" = "$_weft" ]; then
		COMPREPLY=($(compgen -W "$(_weft_commands)"$'\n--help\n--version' -- "$word"))
		return
	fi
	if [[ $word == --*=* ]]; then
		option=${word%%=*}
		word=${word#*=}
	elif _weft_takes_value "$command" "$before"; then
		option=$before
	fi
	if [ -n "$option" ]; then
		COMPREPLY=($(compgen -W "$(_weft_values "$command" "$option" "$word" | tr ' ' '\n')" -- "$word"))
	elif [[ $word == -* ]]; then
		COMPREPLY=($(compgen -W "$(_weft_options "$command")" -- "$word"))
	else
		COMPREPLY=($(compgen -W "$(_weft_words "$command" "$word" | tr ' ' '\n')" -- "$word"))
	fi
	# The shell takes what stands behind a colon for a word of its own.
	if [[ $word == *:* && $COMP_WORDBREAKS == *:* ]]; then
		COMPREPLY=("${COMPREPLY[@]#"${word%"${word##*:}"}"}")
	fi
}
complete -F _weft weft

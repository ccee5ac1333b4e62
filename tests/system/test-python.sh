#!/bin/bash
# SPDX-License-Identifier: MIT
# The Python module weft_marker. What is recorded is written here by hand.
. "${top_srcdir:-.}/tests/tap.sh"
command -v python3 >/dev/null || skip_all "python3 is not installed"
command -v jq >/dev/null || skip_all "jq is not installed"
python3 -c 'import ctypes, sys; sys.exit(sys.version_info < (3, 8))' 2>/dev/null || skip_all "python3 is older than 3.8, or has no ctypes"
export WEFT_RUNDIR=$tap_dir/run PYTHONPATH=$top_srcdir/python PYTHONDONTWRITEBYTECODE=1
mkdir -m 700 "$WEFT_RUNDIR"
program=$top_srcdir/tests/system/marker-python.py

is "without libmarker a program runs as if it had no markers" \
	"$(WEFT_LIBMARKER=/nonexistent LD_LIBRARY_PATH= python3 "$program" 2>&1 | sed 's/^True False/False False/')" "False False False False"
is "with it, while nobody records" "$(python3 "$program" 2>&1)" "True False False False"

is "a program is recorded" \
	"$("$WEFT" record --kernel=none -m '!*:unwanted' --level=info -o "$tap_dir/trace" -- python3 "$program" 2>"$tap_dir/err")" "True True True False"
"$WEFT" dump "$tap_dir/trace" --json >"$tap_dir/events"
# Wide numbers are jq's to round: as text.
is "every event is there, with its fields" \
	"$(sed -E 's/,"message":"([^"\\]|\\.)*"//; s/.*"name":"([^"]*)","fields":(\{.*\})\}$/\1 \2/; s/"//g; s/ \{\}//' "$tap_dir/events")" \
	"$(cat <<'END'
weft:thread {name:python-main}
player:plain {number:3,negative:-5,half:0.5,yes:1,text:ä?b,raw:raw}
player:kinds {color:RED,size:7,shape:round,number:42,nothing:None}
player:wide {u64:18446744073709551615,more:1180591620717411303424,s64:-9223372036854775808}
END
printf 'player:long {text:%s…}\n' "$(printf 'x%.0s' {1..252})"
cat <<'END'
player:flows {packet:7,x11:5,x11_2:9,due_ns:1000}
player:odd_name___here_ {a_field:1,_2nd:2}
player:many {f0:0,f1:1,f2:2,f3:3,f4:4,f5:5,f6:6,f7:7,f8:8,f9:9,f10:10,f11:11,f12:12,f13:13,f14:14,f15:15}
player:bare
player:turns {v:1,s:s}
player:turns {v:x,s:s}
player:turns {v:2,s:s}
player:turns {v:1,s:s}
player:turns {v:0.5,s:s}
player:turns {v:3,s:s}
player:turns {v:y,s:s}
player:turns {v:9,s:s}
player:turns {v:z,s:s}
player:turns {v:9223372036854775808,s:s}
player:outer:begin {size:1}
player:decode:begin
weft:result {kept:21}
player:decode:end
weft:result {ret:0}
player:outer:end
player:named:begin {part:x}
weft:result {exception:KeyError}
player:named:end
player:by_hand:begin {n:1}
player:by_hand:end {ret:2}
player:fetch:async_begin {id:1}
player:fetch:async_end {id:1}
player:Clip.open:begin
player:Clip.open:end
player:load:async_begin {id:5,size:9}
player:load:async_end {id:5,ret:1}
player:depth {value:4}
player:depth {value:0.5}
player:video {frame:12}
player:log {arg0:3,arg1:clip,arg2:37.5,arg3:abcdef}
player:log
app.net:log {arg0:disk,arg1:12}
weft:thread {name:python-main}
player:child {of:fork}
END
)"
is "messages are formatted when they are read" \
	"$(jq -r 'select(.message) | .message' "$tap_dir/events")" \
	'3 of clip: 37.5% "abcdef"

no arguments
disk is slow: 12 ms'
is "scopes, spans, counters and frames are what they are" \
	"$("$WEFT" report "$tap_dir/trace" markers --json | jq -c '[.marker // .counter, .kind, .count, .unfinished]' | grep -E 'outer|named|fetch|load|depth|video' | xargs)" \
	"[player:outer,scope,1,0] [player:named,scope,1,0] [player:fetch,async,1,0] [player:load,async,1,0] [player:video,frame,1,0] [player:depth,null,2,null]"
is "flows join" "$("$WEFT" report "$tap_dir/trace" flows --json | jq -r 'select(.report == "flows") | .flow + " " + .scope' | xargs)" "packet threads x11 processes v threads"
if command -v babeltrace2 >/dev/null; then
	is "babeltrace2 reads the same number of events" "$(babeltrace2 "$tap_dir/trace" | wc -l)" "$(wc -l <"$tap_dir/events")"
else
	skip "babeltrace2 reads the same number of events" "no babeltrace2"
fi

# ---- a program that runs already, and goes on after
cat >"$tap_dir/lasting.py" <<'END'
import time, weft_marker
here = weft_marker.Provider("lasting")
print("ready", flush=True)
number = 0
while True:
    here.mark("step", number=number)
    number += 1
    time.sleep(0.002)
END
WEFT_LIBMARKER=$LIBMARKER python3 "$tap_dir/lasting.py" >"$tap_dir/out" &
lasting=$!
until_true grep -q ready "$tap_dir/out"
for round in 1 2; do
	"$WEFT" record --kernel=none -o "$tap_dir/lasting-$round" -p $lasting -d 0.3 2>"$tap_dir/err"
	steps=$("$WEFT" dump "$tap_dir/lasting-$round" --json | jq 'select(.name == "lasting:step") | .fields.number' | awk 'NR > 1 && $1 != last + 1 { gaps++ } { last = $1 } END { print (NR > 5) " " gaps + 0 }')
	is "a program that runs already is recorded, without a gap (recording $round)" "$steps" "1 0"
done
kill $lasting
wait $lasting 2>/dev/null
done_testing

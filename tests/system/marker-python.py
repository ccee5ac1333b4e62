# SPDX-License-Identifier: MIT
"""What the Python module records, for test-python.sh, which knows what must come out."""
import asyncio
import enum
import logging
import os
import sys
import threading

import weft_marker
from weft_marker import flow, flow_global

player = weft_marker.Provider("player")


class Color(enum.Enum):
    RED = 1


class Size(enum.IntEnum):
    LARGE = 7


class Shape:
    def __str__(self):
        return "round"


class Broken:
    def __str__(self):
        raise ValueError("no text")


class Number:
    def __index__(self):
        return 42


@player.traced
def decode(number):
    player.result(kept=number)
    return number * 2


@player.traced("named", part="x")
def other():
    raise KeyError("lost")


@player.traced
async def fetch(name):
    await asyncio.sleep(0)
    return name


class Clip:
    @player.traced
    def open(self):
        return self


def fields():
    player.mark("plain", number=3, negative=-5, half=0.5, yes=True, text="ä\0b", raw=b"raw")
    player.mark("kinds", color=Color.RED, size=Size.LARGE, shape=Shape(), number=Number(), nothing=None)
    player.mark("wide", u64=2**64 - 1, more=2**70, s64=-2**63)
    player.mark("long", text="x" * 300)
    player.mark("flows", level=weft_marker.NOTICE, packet=flow(7), x11=flow_global(5, 9), due_ns=1000)
    player.mark("odd name, (here)", **{"a field": 1, "2nd": 2})
    player.mark("broken", value=Broken())
    player.mark("many", **{"f%d" % i: i for i in range(20)})
    player.mark("bare")
    for value in 1, "x", 2, True, 0.5, 3, "y", flow(9), "z", 2**63:
        player.mark("turns", v=value, s="s")


def scopes():
    with player.scope("outer", size=1) as scope:
        decode(21)
        scope.result(ret=0)
    try:
        other()
    except KeyError:
        pass
    player.begin("by_hand", n=1)
    player.end("by_hand", ret=2)
    assert asyncio.run(fetch("clip")) == "clip"
    assert Clip().open().open.__name__ == "open"


def kinds():
    player.async_begin("load", 5, size=9)
    threading.Thread(target=lambda: player.async_end("load", 5, ret=1)).start()
    player.counter("depth", 4)
    player.counter("depth", 0.5)
    player.frame("video", 12)
    player.log("%d of %s: %.1f%% \"%5.3s\"\n", 3, "clip", 37.5, "abcdef")
    player.log("no arguments")
    player.log("debug only", level=weft_marker.DEBUG)
    log = logging.getLogger("app.net")
    log.addHandler(weft_marker.Handler())
    log.setLevel(logging.DEBUG)
    log.warning("%s is slow: %d ms", "disk", 12)


def main():
    weft_marker.thread("python-main")
    fields()
    scopes()
    kinds()
    pid = os.fork()
    if pid == 0:
        player.mark("child", of="fork")
        os._exit(0)
    os.waitpid(pid, 0)
    print(weft_marker.is_available, weft_marker.enabled(), player.enabled("plain"), player.enabled("unwanted"))
    return 0


if __name__ == "__main__":
    sys.exit(main())

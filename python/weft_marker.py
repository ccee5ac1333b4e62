# SPDX-License-Identifier: MIT
"""Markers for Python: what a program says of itself, recorded by weft in one order with the kernel.

    import weft_marker
    player = weft_marker.Provider("player")

    player.mark("shown", frame=7, pts=0.28)             # an instant
    with player.scope("decode", size=len(data)) as scope:
        scope.result(ret=0)                             # added to the scope
    @player.traced                                      # a scope around each call
    def present(frame): ...
    player.counter("queue_depth", len(queue))
    player.frame("video", number)
    player.log("%d of %s", number, name)                # formatted when it is read
    player.async_begin("load", id(request)); player.async_end("load", id(request), ret=0)

A field is an int, float, bool, str, bytes or enumeration; of anything else str() is recorded. Named
due_ns it is when this should have happened (ns of time.monotonic_ns()). flow(key) and
flow_global(base, sequence) join events of several threads or processes: packet=flow(7).

While nobody records a call looks at one word and returns. Nothing here raises because of weft; where
libmarker is not installed, nothing is recorded (is_available). Manual: man 3 weft_marker.
"""

import ctypes
import enum
import functools
import inspect
import itertools
import logging
import operator
import os
import re
import struct

__all__ = ["Provider", "Handler", "flow", "flow_global", "thread", "enabled", "is_available",
           "EMERG", "ALERT", "CRIT", "ERR", "WARNING", "NOTICE", "INFO", "DEBUG"]

# marker.h's levels, kinds and codes.
EMERG, ALERT, CRIT, ERR, WARNING, NOTICE, INFO, DEBUG = range(8)
(_INSTANT, _BEGIN, _END, _RESULT, _ASYNC_BEGIN, _ASYNC_END, _COUNTER, _FRAME, _LOG) = range(9)
_UINT, _INT, _FLOAT, _STRING = 0x10, 0x20, 0x30, 0x40
_MAX_FIELDS = 16
_MAX_STRING = 255
_MAX_EVENTS = 4096  # what libmarker takes of a process


# ---- libmarker

_FUNCTIONS = {
    "weft_marker_make_v1": (ctypes.c_void_p, [ctypes.c_uint, ctypes.c_uint, ctypes.c_char_p, ctypes.c_char_p,
                                              ctypes.c_char_p, ctypes.c_char_p, ctypes.c_uint]),
    "weft_marker_is_wanted_v1": (ctypes.c_int, [ctypes.c_void_p]),
    "weft_marker_record_v1": (ctypes.c_int, [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_uint32]),
    "weft_marker_generation_v1": (ctypes.c_void_p, []),
    "weft_marker_thread_v1": (None, [ctypes.c_char_p]),
}


def _load():
    """The libmarker that weft record has preloaded, or else the installed one. The functions are so
    short that the interpreter's lock is kept (PyDLL)."""
    for name in (None, os.environ.get("WEFT_LIBMARKER") or "libmarker.so.0"):
        try:
            library = ctypes.PyDLL(name)
            for function, (result, arguments) in _FUNCTIONS.items():
                pointer = getattr(library, function)
                pointer.restype, pointer.argtypes = result, arguments
            return library
        except (OSError, AttributeError):
            continue
    return None


_library = _load()
is_available = _library is not None
if is_available:
    _word = ctypes.c_uint32.from_address(_library.weft_marker_generation_v1())
    _on = memoryview(_word).cast("B").cast("I")  # [0]: 0 while nobody records
    _make, _write = _library.weft_marker_make_v1, _library.weft_marker_record_v1
else:
    _on = (0,)


def enabled():
    """Does anybody record markers now?"""
    return _on[0] != 0


def thread(name):
    """Names this thread in recordings."""
    if is_available:
        _library.weft_marker_thread_v1(str(name).encode("utf-8", "replace"))


# ---- fields

class flow:
    """A field whose name is a flow's: events of this process with an equal key belong together."""
    __slots__ = ("key",)

    def __init__(self, key):
        self.key = key


class flow_global:
    """The same across processes."""
    __slots__ = ("base", "sequence")

    def __init__(self, base, sequence):
        self.base, self.sequence = base, sequence


class _Wide:
    """Stands for the type of an int that needs all of 64 bits without a sign."""


def _string(value):
    data = value if isinstance(value, bytes) else str(value).encode("utf-8", "replace")
    if b"\0" in data:
        data = data.replace(b"\0", b"?")
    if len(data) > _MAX_STRING:
        size = _MAX_STRING - 3
        while size > _MAX_STRING - 6 and data[size] & 0xC0 == 0x80:
            size -= 1
        data = data[:size] + "\u2026".encode()
    return data + b"\0"


def _unsigned(value):
    """A flow's key; of a text its hash (FNV-1a), as elsewhere in weft."""
    if isinstance(value, (str, bytes)):
        number = 14695981039346656037
        for byte in value.encode("utf-8", "replace") if isinstance(value, str) else value:
            number = (number ^ byte) * 1099511628211 & 0xFFFFFFFFFFFFFFFF
        return number
    return operator.index(value) & 0xFFFFFFFFFFFFFFFF


# What struct packs, the code, and what makes the value of it; a struct format of None: bytes.
_PLAIN = {
    bool: ("?", _UINT | 1, None),
    int: ("q", _INT | 8, None),
    float: ("d", _FLOAT | 8, None),
    str: (None, _STRING, _string),
    bytes: (None, _STRING, _string),
    _Wide: ("Q", _UINT | 8, None),
    flow: ("Q", _UINT | 8, lambda value: _unsigned(value.key)),
    flow_global: ("QQ", _UINT | 8, None),
}


def _way_of(kind):
    """How values of a type are recorded."""
    way = _PLAIN.get(kind)
    if way:
        return way
    if issubclass(kind, int):
        return ("q", _INT | 8, int)
    if issubclass(kind, float):
        return ("d", _FLOAT | 8, float)
    if issubclass(kind, enum.Enum):
        return (None, _STRING, lambda value: _string(value.name))
    if hasattr(kind, "__index__"):
        return ("q", _INT | 8, operator.index)
    if hasattr(kind, "__float__"):
        return ("d", _FLOAT | 8, float)
    return (None, _STRING, _string)


def _word_of(text, also="", size=63):
    """A name as a class of events may have it."""
    text = re.sub("[^A-Za-z0-9_%s]" % also, "_", str(text))[:size] or "_"
    return "_" + text[:size - 1] if text[0].isdigit() and not also else text


def _argument(name, kind, is_key):
    """A field as MARKER() has it."""
    name = _word_of(name)
    if kind is flow:
        return "MARKER_FLOW(%s, x)" % name
    if kind is flow_global:
        return "MARKER_FLOW_GLOBAL(%s, x, y)" % name
    if name == "due_ns":
        return "MARKER_DUE(x)"
    return "x" if is_key else "MARKER_FIELD(%s, x)" % name


class _Other(Exception):
    """A value is not of the type that the class has."""


def _pack_text(value):
    if type(value) is not str:
        raise _Other
    data = value.encode()
    return data + b"\0" if len(data) <= _MAX_STRING and b"\0" not in data else _string(value)


def _pack_flag(value):
    if type(value) is not bool:
        raise _Other
    return b"\1" if value else b"\0"


def _pack_flow(value):
    if type(value) is not flow:
        raise _Other
    return _unsigned(value.key).to_bytes(8, "little")


_SPECIAL = {str: _pack_text, bool: _pack_flag, flow: _pack_flow}


def _fast_record(place, kinds):
    """A function of the values that records them, or raises when they are of other types; None for
    types that it does not know."""
    parts, run, size = [], "", 0
    scope = {"write": _library["weft_marker_record_v1"], "place": ctypes.c_void_p(place)}
    scope["write"].restype = None
    for i, kind in enumerate((*kinds, None)):
        if kind in (int, float, _Wide):
            run += {int: "q", float: "d", _Wide: "Q"}[kind]
            continue
        if run:
            scope["pack%d" % i] = struct.Struct("<" + run).pack
            parts.append("pack%d(%s)" % (i, ", ".join("v%d" % j for j in range(i - len(run), i))))
            size += 8 * len(run)
            run = ""
        if kind in _SPECIAL:
            scope["pack_%s" % kind.__name__] = _SPECIAL[kind]
            parts.append("pack_%s(v%d)" % (kind.__name__, i))
            size += {str: 1000, bool: 1, flow: 8}[kind]
        elif kind is not None:
            return None
    exec("def record(%s):\n payload = %s\n write(place, payload, %s)" % (
        ", ".join("v%d" % i for i in range(len(kinds))), " + ".join(parts) or 'b""',
        size if size < 1000 else "len(payload)"), scope)
    return scope["record"]


class _Event:
    """One class of events: a place of libmarker, and how its fields become bytes."""
    __slots__ = ("place", "level", "names", "fast", "converts", "formats")

    def __init__(self, provider, kind, level, name, names, kinds, format):
        ways = [_way_of(k) for k in kinds]
        codes = b"".join(bytes([way[1]]) * (len(way[0] or "s")) for way in ways)
        has_key = kind in (_ASYNC_BEGIN, _ASYNC_END, _COUNTER, _FRAME)
        arguments = [_argument(n, k, has_key and i == 0) for i, (n, k) in enumerate(zip(names, kinds))]
        if kind != _RESULT:
            arguments.insert(0, _word_of(name, ".<>-") if kind != _LOG else '""')
        literal = _literal(format) if kind == _LOG else None
        provider = "weft" if kind == _RESULT else _word_of(provider, ".-")
        self.place = _make(kind, level, provider.encode(), ", ".join(arguments).encode(), literal,
                           codes, len(codes))
        self.level, self.names = level, names
        self.converts = [way[2] for way in ways]
        self.formats = [way[0] for way in ways]
        self.fast = _fast_record(self.place, kinds) if self.place else None

    def payload(self, values):
        parts = []
        for value, convert, format in zip(values, self.converts, self.formats):
            if format == "QQ":
                parts.append(struct.pack("<QQ", _unsigned(value.base), _unsigned(value.sequence)))
            elif format:
                parts.append(struct.pack("<" + format, value if convert is None else convert(value)))
            else:
                parts.append(convert(value))
        return b"".join(parts)


def _literal(format):
    """A format as a literal of C; strings are not limited, see marker.h."""
    text = re.sub(r"(%[-+ #0-9*]*)\.[0-9*]*([sS])", r"\1\2", str(format)).replace("%r", "%s").replace("%a", "%s")
    data = text.encode("utf-8", "replace")[:500]
    return b'"' + b"".join(b"\\%03o" % c if c < 32 or c in b'"\\' else bytes([c]) for c in data) + b'"'


def _count(kinds):
    """How many of these make no more fields than a marker has."""
    nr = 0
    for at, kind in enumerate(kinds):
        nr += 2 if kind is flow_global else 1
        if nr > _MAX_FIELDS:
            return at
    return len(kinds)


def _fitting(values):
    """The values, and types for them, where an int does not fit into 64 bits with a sign."""
    fitted, kinds = [], []
    for value in values:
        kind = type(value)
        if _way_of(kind)[0] == "q":
            value = operator.index(value)
            if not -1 << 63 <= value < 1 << 63:
                kind = _Wide if 0 <= value < 1 << 64 else str
                value = value if kind is _Wide else str(value)
        fitted.append(value)
        kinds.append(kind)
    return fitted, tuple(kinds)


class Provider:
    """Markers with one provider: what is before the colon in "player:shown"."""

    def __init__(self, name):
        self.name = str(name)
        self._events = {}
        self._latest = tuple({} for _ in range(9))  # of each kind by name: the one recorded last

    def _record(self, kind, level, name, names, values, format=None, kinds=None):
        """Returns whether it was recorded; raises nothing."""
        try:
            if kinds is None:
                kinds = tuple(map(type, values))
            key = (kind, level, name, names, kinds)
            event = self._events.get(key)
            if event is None:
                if len(self._events) >= _MAX_EVENTS:
                    return False
                nr = _count(kinds)
                event = self._events[key] = _Event(self.name, kind, level, name, names[:nr], kinds[:nr], format)
            if not event.place:
                return False
            if event.fast:
                self._latest[kind][name] = event
            payload = event.payload(values)
            return _write(event.place, payload, len(payload)) != 0
        except (struct.error, OverflowError):
            if _Wide in kinds:
                return False
            values, fitted = _fitting(values)
            return fitted != kinds and self._record(kind, level, name, names, values, format, fitted)
        except Exception:  # a field's __str__ or the like
            return False

    def _emit(self, kind, level, name, fields):
        """What _record() does, sooner where the fields are those of the last time."""
        event = self._latest[kind].get(name)
        if event is not None and event.level == level and event.names == tuple(fields):
            try:
                event.fast(*fields.values())
                return
            except Exception:
                pass
        self._record(kind, level, name, tuple(fields), fields.values())

    def mark(self, name, /, level=INFO, **fields):
        """Something happened here."""
        if _on[0]:
            self._emit(_INSTANT, level, name, fields)

    def begin(self, name, /, level=INFO, **fields):
        """A scope of this thread begins; scopes nest. scope() ends it by itself."""
        if _on[0]:
            self._emit(_BEGIN, level, name, fields)

    def end(self, name, /, level=INFO, **fields):
        if _on[0]:
            self._emit(_END, level, name, fields)

    def result(self, /, **fields):
        """Adds fields to the innermost open scope of this thread."""
        if _on[0]:
            self._emit(_RESULT, INFO, "result", fields)

    def scope(self, name, /, level=INFO, **fields):
        """For a with statement: a scope of this thread."""
        return Scope(self, name, level, fields) if _on[0] else _NO_SCOPE

    def traced(self, function=None, /, *, level=INFO, **fields):
        """A decorator: a scope around each call, named as the function, or @traced("name"). Of a
        coroutine an asynchronous span, for others run in between."""
        if function is None or isinstance(function, str):
            return lambda inner: _traced(self, inner, function or inner.__qualname__, level, fields)
        return _traced(self, function, function.__qualname__, level, fields)

    def async_begin(self, name, id, /, level=INFO, **fields):
        """A span that may end in another thread. id: an int that no other open span of the name has,
        or flow_global(base, sequence), and then in another process."""
        if _on[0]:
            self._emit(_ASYNC_BEGIN, level, name, {"id": id, **fields})

    def async_end(self, name, id, /, level=INFO, **fields):
        if _on[0]:
            self._emit(_ASYNC_END, level, name, {"id": id, **fields})

    def counter(self, name, value, /, level=INFO, **fields):
        """How much there is of something from now on."""
        if _on[0]:
            self._emit(_COUNTER, level, name, {"value": value, **fields})

    def frame(self, name, number, /, level=INFO, **fields):
        """Frame number begins here, and the one before ends."""
        if _on[0]:
            self._emit(_FRAME, level, name, {"frame": number, **fields})

    def log(self, format, /, *arguments, level=INFO):
        """A message, as % formats it; formatted when it is read."""
        if _on[0]:
            names = tuple("arg%d" % i for i in range(len(arguments)))
            self._record(_LOG, level, format, names, arguments, format)

    def enabled(self, name):
        """Is an instant of that name wanted now? Is it worth preparing?"""
        if not _on[0]:
            return False
        key = (None, name)
        place = self._events.get(key)
        if place is None:
            place = self._events[key] = _make(_INSTANT, INFO, _word_of(self.name, ".-").encode(),
                                              _word_of(name, ".<>-").encode(), None, b"", 0) or 0
        return bool(place) and _library.weft_marker_is_wanted_v1(place) != 0


class Scope:
    """Provider.scope()'s."""
    __slots__ = ("_provider", "_name", "_level", "_fields")

    def __init__(self, provider, name, level, fields):
        self._provider, self._name, self._level, self._fields = provider, name, level, fields

    def __enter__(self):
        self._provider._emit(_BEGIN, self._level, self._name, self._fields)
        return self

    def result(self, **fields):
        """Adds fields to this scope, or to the one that is open inside it."""
        self._provider.result(**fields)

    def __exit__(self, kind, error, traceback):
        if _on[0]:
            if kind is not None:
                self._provider.result(exception=kind.__name__)
            self._provider._emit(_END, self._level, self._name, {})


class _NoScope:
    """While nobody records."""
    __slots__ = ()

    def __enter__(self):
        return self

    def result(self, **fields):
        pass

    def __exit__(self, kind, error, traceback):
        pass


_NO_SCOPE = _NoScope()
_span_ids = itertools.count(1)


def _traced(provider, function, name, level, fields):
    if inspect.iscoroutinefunction(function):
        @functools.wraps(function)
        async def traced(*args, **kwargs):
            id = next(_span_ids)
            provider.async_begin(name, id, level=level, **fields)
            try:
                return await function(*args, **kwargs)
            finally:
                provider.async_end(name, id, level=level)
    else:
        @functools.wraps(function)
        def traced(*args, **kwargs):
            if not _on[0]:
                return function(*args, **kwargs)
            with Scope(provider, name, level, fields):
                return function(*args, **kwargs)
    return traced


_LEVELS = ((logging.CRITICAL, CRIT), (logging.ERROR, ERR), (logging.WARNING, WARNING), (logging.INFO, INFO))


class Handler(logging.Handler):
    """For the logging module: its records as messages of a provider, the logger's name by default."""

    def __init__(self, provider=None):
        super().__init__()
        self._providers = {}
        self._provider = Provider(provider) if provider else None

    def emit(self, record):
        if not _on[0]:
            return
        level = next((ours for theirs, ours in _LEVELS if record.levelno >= theirs), DEBUG)
        provider = self._provider or self._providers.get(record.name)
        if provider is None:
            provider = self._providers[record.name] = Provider(record.name)
        if isinstance(record.args, tuple) and record.args:
            provider.log(record.msg, *record.args, level=level)
        else:
            provider.log("%s", record.getMessage(), level=level)

"""What was typed, from the bytes that a terminal sends. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from enum import StrEnum
from typing import Final


class Key(StrEnum):
    """What a key does."""

    UP = "up"
    DOWN = "down"
    PAGE_UP = "page up"
    PAGE_DOWN = "page down"
    FIRST = "first"
    LAST = "last"
    OPEN = "open"
    BACK = "back"
    QUIT = "quit"


#: Sequences of VT100, xterm, rxvt and the Linux console; letters are for terminals that send something else.
_KEYS: Final[Mapping[bytes, Key]] = {
    b"\x1b[A": Key.UP,
    b"\x1bOA": Key.UP,
    b"k": Key.UP,
    b"\x1b[B": Key.DOWN,
    b"\x1bOB": Key.DOWN,
    b"j": Key.DOWN,
    b"\x1b[5~": Key.PAGE_UP,
    b"b": Key.PAGE_UP,
    b"\x1b[6~": Key.PAGE_DOWN,
    b" ": Key.PAGE_DOWN,
    b"\x1b[H": Key.FIRST,
    b"\x1bOH": Key.FIRST,
    b"\x1b[1~": Key.FIRST,
    b"g": Key.FIRST,
    b"\x1b[F": Key.LAST,
    b"\x1bOF": Key.LAST,
    b"\x1b[4~": Key.LAST,
    b"G": Key.LAST,
    b"\r": Key.OPEN,
    b"\n": Key.OPEN,
    b"l": Key.OPEN,
    b"\x1b[C": Key.OPEN,
    b"\x1bOC": Key.OPEN,
    b"\x1b": Key.BACK,
    b"h": Key.BACK,
    b"\x1b[D": Key.BACK,
    b"\x1bOD": Key.BACK,
    b"\x7f": Key.BACK,
    b"\x08": Key.BACK,
    b"q": Key.QUIT,
    b"Q": Key.QUIT,
}

_TYPED: Final = re.compile(rb"\x1b\[[0-9;?]*[ -/]*[@-~]|\x1bO.|\x1b|.", re.DOTALL)


def keys(typed: bytes) -> Iterator[Key]:
    r"""Yield what was typed; keys that do nothing are left out.

    A terminal sends a sequence whole, so an escape with nothing behind it is the key of that name.

    >>> [str(key) for key in keys(b"j\x1b[B\x1b[1;5Ax\r\x1b")]
    ['down', 'down', 'open', 'back']
    """
    for found in _TYPED.findall(typed):
        if (key := _KEYS.get(found)) is not None:
            yield key

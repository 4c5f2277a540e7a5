"""What is looked at: which row is chosen, and whether it is open. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
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
    WRONG = "wrong"
    """The chosen session is not a loop."""
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
    b"n": Key.WRONG,
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


@dataclass(frozen=True, slots=True)
class TopView:
    """What is looked at.

    The choice is a session, not a place in the list: rows move while somebody reads.

    Attributes:
        chosen: the session that is chosen, None before the first key.
        at: its place when it was last in the list.
        is_open: whether its page is shown.
        first: the first row that is shown of the list, or the first line of the page.
    """

    chosen: str | None = None
    at: int = 0
    is_open: bool = False
    first: int = 0

    def settled(self, ids: Sequence[str], rows: int) -> TopView:
        """Return the view on a list that may have changed.

        A session that has left the list hands the choice to the one in its place; its page stays open.

        Args:
            ids: the sessions of the list, in order.
            rows: how many fit on the screen.
        """
        if self.is_open:
            return self
        if self.chosen is None or not ids:
            return replace(self, chosen=None, at=0, first=0)
        at = ids.index(self.chosen) if self.chosen in ids else min(self.at, len(ids) - 1)
        first = max(at - max(1, rows) + 1, min(self.first, at))
        return replace(self, chosen=ids[at], at=at, first=max(0, min(first, len(ids) - max(1, rows))))

    def pressed(self, key: Key, ids: Sequence[str], rows: int) -> TopView:
        """Return the view after a key. Quitting and labels are not its business.

        Args:
            key: Key that the person has typed.
            ids: the sessions of the list, in order.
            rows: how many rows, or lines of an open page, fit on the screen.
        """
        if self.is_open:
            return self._read(key, rows)
        if key is Key.BACK:
            return TopView()
        if not ids:
            return self
        if key is Key.OPEN:
            chosen = self.chosen or ids[0]
            at = ids.index(chosen) if chosen in ids else self.at
            return TopView(chosen, at, is_open=True)
        step = _STEPS.get(key)
        if step is None:
            at = 0 if key is Key.FIRST else len(ids) - 1
        elif self.chosen is None:
            at = 0
        else:
            at = self.at + step * (rows if key in _PAGES else 1)
        at = max(0, min(at, len(ids) - 1))
        return replace(self, chosen=ids[at], at=at).settled(ids, rows)

    def scrolled_to(self, first: int) -> TopView:
        """Return the view with its page at this line."""
        return replace(self, first=first)

    def _read(self, key: Key, rows: int) -> TopView:
        if key is Key.BACK:
            return replace(self, is_open=False, first=0)
        if key is Key.FIRST:
            return replace(self, first=0)
        step = _STEPS.get(key, 0) * (rows if key in _PAGES else 1)
        return replace(self, first=max(0, self.first + step))


_STEPS: Final = {Key.UP: -1, Key.DOWN: 1, Key.PAGE_UP: -1, Key.PAGE_DOWN: 1}
_PAGES: Final = frozenset({Key.PAGE_UP, Key.PAGE_DOWN})

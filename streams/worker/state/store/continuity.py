"""Whether a database holds all writes up to its newest one.

A MANIFEST that is cut at the end of a record, or a write-ahead log that is missing, gives a database that
opens without a word: older files are forgotten, newer writes are there. The offset is of the newest write, so
no restore would bring the lost ones back.

So writes have numbers. A *stretch* is a series of writes, and each write notes in the entry of its stretch
which writes that has. RocksDB loses a memtable as a whole. A stretch ends where a memtable may end early (a
flush, an opening of the database) and otherwise well before one is full: so no memtable fits into the middle
of a stretch, and a lost one leaves a gap between the stretches that remain.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable
from itertools import pairwise
from typing import NamedTuple, Self

#: Before the number of a stretch in the key of its entry.
PREFIX = b"\x00stretch"

_NUMBER = struct.Struct(">Q")
_WRITES = struct.Struct(">QQ")

#: Stretches that are noted, at least as many as fit into the memtables of a database.
_KEPT = 256


class Stretch(NamedTuple):
    """The writes ``first`` to ``last``; stretches and writes are numbered from 0 and 1."""

    number: int
    first: int
    last: int

    @classmethod
    def of(cls, key: bytes, value: bytes) -> Self:
        """Return the stretch of an entry.

        Raises:
            ValueError: it is none.
        """
        if not key.startswith(PREFIX) or len(key) != len(PREFIX) + _NUMBER.size or len(value) != _WRITES.size:
            raise ValueError(f"{key!r} is no stretch")
        return cls(*_NUMBER.unpack(key[len(PREFIX) :]), *_WRITES.unpack(value))

    @property
    def key(self) -> bytes:
        """The key of its entry."""
        return key_of(self.number)

    @property
    def value(self) -> bytes:
        """The value of its entry."""
        return _WRITES.pack(self.first, self.last)


def key_of(number: int) -> bytes:
    """Return the key of the entry of a stretch."""
    return PREFIX + _NUMBER.pack(number)


class Continuity:
    """Numbers the writes of a database.

    Args:
        stored: The stretches that the database has, in the order of their numbers.
        stretch_bytes: What a stretch may hold: a fraction of a memtable.

    Raises:
        ValueError: writes are missing among them.
    """

    def __init__(self, stored: Iterable[Stretch], stretch_bytes: int) -> None:
        known = list(stored)
        self._newest = known[-1] if known else Stretch(-1, 1, 0)
        if len(known) != min(self._newest.number + 1, _KEPT):
            raise ValueError(f"stretches of writes are missing before number {self._newest.number}")
        for before, after in pairwise(known):
            if after.number != before.number + 1 or after.first != before.last + 1:
                raise ValueError(f"writes {before.last + 1} to {after.first - 1} are missing")
        self._stretch_bytes = stretch_bytes
        self._used = stretch_bytes

    def next(self) -> tuple[Stretch, bytes | None]:
        """Return the stretch as the next write leaves it, and the key of one that is no longer needed."""
        newest = self._newest
        if self._used < self._stretch_bytes:
            return newest._replace(last=newest.last + 1), None
        begun = Stretch(newest.number + 1, newest.last + 1, newest.last + 1)
        return begun, None if begun.number < _KEPT else key_of(begun.number - _KEPT)

    def written(self, stretch: Stretch, size: int) -> None:
        """Take note that the write of ``stretch`` is in the database, and of its size in bytes."""
        if stretch.number != self._newest.number:
            self._used = 0
        self._newest = stretch
        self._used += size

    def cut(self) -> None:
        """Begin a stretch with the next write: a memtable ends here."""
        self._used = self._stretch_bytes

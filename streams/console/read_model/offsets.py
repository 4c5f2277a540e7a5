"""Sets of offsets that know their size: how the read model counts without counting twice.

Offsets only rise while a partition is read forwards, so they are kept as differences, one or two bytes each.
What comes out of order waits aside and is sorted in when the set is next looked at.
"""

from __future__ import annotations

from bisect import insort
from collections.abc import Iterator
from itertools import pairwise
from operator import itemgetter


class NewestOffsets:
    """The newest offsets of one partition, at most ``limit``.

    >>> offsets = NewestOffsets(limit=3)
    >>> for each in (7, 9, 8, 9, 300, 2):
    ...     offsets.add(each)
    >>> list(offsets), len(offsets)
    ([8, 9, 300], 3)
    """

    __slots__ = ("_aside", "_count", "_deltas", "_first", "_last", "_limit")

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._first = self._last = -1
        self._count = 0
        self._deltas = bytearray()
        self._aside: set[int] | None = None

    def add(self, offset: int) -> None:
        """Add an offset; one that is there already changes nothing."""
        last = self._last
        if offset > last:
            if self._count == 0:
                self._first = offset
            else:
                _append(self._deltas, offset - last)
            self._last = offset
            self._count += 1
            if self._count > self._limit:
                delta, size = _varint(self._deltas, 0)
                self._first += delta
                del self._deltas[:size]
                self._count -= 1
        elif offset < last and not (offset < self._first and self._count == self._limit):
            if self._aside is None:
                self._aside = set()
            self._aside.add(offset)
            if len(self._aside) > _ASIDE:
                self._settle()

    def __len__(self) -> int:
        self._settle()
        return self._count

    def __iter__(self) -> Iterator[int]:
        self._settle()
        yield from self._sorted()

    @property
    def first(self) -> int:
        """The lowest offset that is kept."""
        self._settle()
        return self._first

    @property
    def last(self) -> int:
        """The highest offset, -1 before any."""
        return self._last

    def _sorted(self) -> Iterator[int]:
        if self._count:
            offset, at = self._first, 0
            yield offset
            while at < len(self._deltas):
                delta, at = _varint(self._deltas, at)
                offset += delta
                yield offset

    def _settle(self) -> None:
        if self._aside:
            offsets = sorted(self._aside.union(self._sorted()))[-self._limit :]
            self._aside = None
            self._first, self._count = offsets[0], len(offsets)
            self._deltas = bytearray()
            for before, after in pairwise(offsets):
                _append(self._deltas, after - before)

    def write(self, target: bytearray) -> None:
        """Append the set, so that `read` finds it."""
        self._settle()
        _append(target, self._count)
        if self._count:
            _append(target, self._first)
            _append(target, len(self._deltas))
            target += self._deltas

    @classmethod
    def read(cls, stored: bytes, at: int, limit: int) -> tuple[NewestOffsets, int]:
        """Read a set back; return it and where it ends."""
        offsets = cls(limit)
        count, at = _varint(stored, at)
        if count:
            offsets._first, at = _varint(stored, at)
            size, at = _varint(stored, at)
            offsets._deltas = bytearray(stored[at : at + size])
            offsets._count = count
            *_, offsets._last = offsets._sorted()
            at += size
        return offsets, at


class Places:
    """Sets of offsets, one for each partition: a session has two where its topic has been given partitions.

    >>> places = Places(limit=100)
    >>> places.add(3, 120), places.add(3, 164), places.add(3, 120)
    (None, None, None)
    >>> len(places), list(Places.of(places.stored(), 100))
    (2, [(3, 120), (3, 164)])
    """

    __slots__ = ("_limit", "_sets")

    def __init__(self, limit: int) -> None:
        self._limit = limit
        #: By partition, in order. Nearly always there is one: a list of one is smaller than a dict of one.
        self._sets: list[tuple[int, NewestOffsets]] = []

    def add(self, partition: int, offset: int) -> None:
        """Add a place; one that is there already changes nothing."""
        if offset < 0 or partition < 0:
            raise ValueError("no place")
        for known, offsets in self._sets:
            if known == partition:
                offsets.add(offset)
                return
        offsets = NewestOffsets(self._limit)
        offsets.add(offset)
        insort(self._sets, (partition, offsets), key=itemgetter(0))

    def __len__(self) -> int:
        return sum(len(offsets) for _, offsets in self._sets)

    def __iter__(self) -> Iterator[tuple[int, int]]:
        for partition, offsets in self._sets:
            for offset in offsets:
                yield partition, offset

    def __bool__(self) -> bool:
        return bool(self._sets)

    @property
    def last(self) -> tuple[int, int]:
        """The newest place; of partitions the one with the higher number. There must be one."""
        partition, offsets = self._sets[-1]
        return partition, offsets.last

    @property
    def first_offset(self) -> int:
        """The lowest offset that is kept of the partition of `last`."""
        return self._sets[-1][1].first

    def stored(self) -> bytes:
        """Return the places as bytes."""
        target = bytearray()
        for partition, offsets in self._sets:
            _append(target, partition)
            offsets.write(target)
        return bytes(target)

    @classmethod
    def of(cls, stored: bytes, limit: int) -> Places:
        """Read places back."""
        places, at = cls(limit), 0
        while at < len(stored):
            partition, at = _varint(stored, at)
            offsets, at = NewestOffsets.read(stored, at, limit)
            places._sets.append((partition, offsets))
        return places


#: How many offsets wait aside before they are sorted in.
_ASIDE = 256


def _append(target: bytearray, number: int) -> None:
    while number > 0x7F:
        target.append(number & 0x7F | 0x80)
        number >>= 7
    target.append(number)


def _varint(stored: bytes | bytearray, at: int) -> tuple[int, int]:
    number = shift = 0
    while (byte := stored[at]) > 0x7F:
        number |= (byte & 0x7F) << shift
        shift += 7
        at += 1
    return number | byte << shift, at + 1

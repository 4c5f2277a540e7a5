"""What was made of a setting, remembered by which object it is."""

from __future__ import annotations

from collections.abc import Callable
from typing import Generic, TypeVar

K = TypeVar("K")
V = TypeVar("V")

#: Settings that are read in turns: in force, tried out, the ones before these, and those of each partition.
_REMEMBERED = 64


class ByIdentity(Generic[K, V]):
    """Makes a value of a setting once, not for each record.

    To compare or hash a setting with thousands of patterns takes milliseconds, and each record asks.

    >>> lengths = ByIdentity(len)
    >>> lengths.of("abc")
    3
    """

    __slots__ = ("_known", "_make")

    def __init__(self, make: Callable[[K], V]) -> None:
        self._make = make
        self._known: dict[int, tuple[K, V]] = {}

    def of(self, setting: K) -> V:
        """Return what was made of this very object, or make it."""
        known = self._known.get(id(setting))
        # The object is kept, or another one might get its id.
        if known is None or known[0] is not setting:
            if len(self._known) >= _REMEMBERED:
                self._known.clear()
            known = self._known[id(setting)] = setting, self._make(setting)
        return known[1]

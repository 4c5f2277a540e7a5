"""What was used last, up to so many bytes."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Hashable
from typing import Generic, TypeVar

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")


class ByteCache(Generic[K, V]):
    """Forgets what was not used for longest once it holds more than it may.

    >>> cache = ByteCache[str, bytes](10, len)
    >>> cache.put("a", b"12345"), cache.put("b", b"12345"), cache.get("a"), cache.put("c", b"1")
    (None, None, b'12345', None)
    >>> cache.get("b"), cache.size
    (None, 6)
    """

    def __init__(self, limit: int, size_of: Callable[[V], int]) -> None:
        self._limit = limit
        self._size_of = size_of
        self._values: OrderedDict[K, V] = OrderedDict()
        #: Bytes of all values.
        self.size = 0

    def get(self, key: K) -> V | None:
        """Return a value, None if it is not held."""
        value = self._values.get(key)
        if value is not None:
            self._values.move_to_end(key)
        return value

    def put(self, key: K, value: V) -> None:
        """Hold a value; one that is larger than all that may be held is not."""
        if (known := self._values.pop(key, None)) is not None:
            self.size -= self._size_of(known)
        size = self._size_of(value)
        if size > self._limit:
            return
        self._values[key] = value
        self.size += size
        while self.size > self._limit:
            _, oldest = self._values.popitem(last=False)
            self.size -= self._size_of(oldest)

    def __len__(self) -> int:
        return len(self._values)

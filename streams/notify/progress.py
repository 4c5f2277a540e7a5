"""How far a sink has got in a partition: the offset before which nothing waits."""

from __future__ import annotations

import heapq


class Progress:
    """Deliveries end in any order; what counts is the first that has not.

    >>> progress = Progress(5)
    >>> for offset in (7, 9):
    ...     progress.begin(offset)
    >>> progress.end(9)
    >>> progress.mark
    7
    >>> progress.end(7)
    >>> progress.mark
    10
    """

    def __init__(self, start: int) -> None:
        self._start = self._next = start
        self._begun: list[int] = []
        self._ended: set[int] = set()

    @property
    def mark(self) -> int:
        """The offset to go on from after a restart."""
        while self._begun and self._begun[0] in self._ended:
            self._ended.discard(heapq.heappop(self._begun))
        return self._begun[0] if self._begun else self._next

    def is_behind(self, offset: int) -> bool:
        """Tell whether an offset is before the start: what stands there was over before."""
        return offset < self._start

    def begin(self, offset: int) -> None:
        """Note a delivery."""
        heapq.heappush(self._begun, offset)
        self.read_to(offset + 1)

    def end(self, offset: int) -> None:
        """Note that it is over: it was delivered, replaced, or became a dead letter."""
        self._ended.add(offset)

    def read_to(self, offset: int) -> None:
        """Note that everything before an offset was read."""
        self._next = max(self._next, offset)

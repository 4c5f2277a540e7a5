"""How far the search of a partition for what is due is, and when the next one begins."""

from __future__ import annotations

from dataclasses import dataclass, field
from heapq import heappush, heappushpop
from typing import NamedTuple

#: A time that does not come, and an offset that no record has.
NEVER = 1 << 62


@dataclass(slots=True)
class SearchPass:
    """How far the search of a partition is.

    Attributes:
        began_ms: when it began. What is written behind it stays longer than what is there.
        notes_stubs: whether stubs that stay are noted; those that later epochs write are noted by these.
        most: sessions that contribute and are kept back, at most.
        after: the last key seen.
        next_ms: of what was seen and stays, when the first may go.
        floor: of what was seen and stays, the smallest offset.
        contributing: the due sessions that contribute: those with the smallest offsets, the largest of them
            first (a heap of negated offsets).
    """

    began_ms: int
    notes_stubs: bool
    most: int
    after: bytes = b""
    next_ms: int = NEVER
    floor: int = NEVER
    contributing: list[tuple[int, str]] = field(default_factory=list)

    def stays(self, until_ms: int, offset: int) -> None:
        """Take note of a session that stays until then at least."""
        self.next_ms = min(self.next_ms, until_ms + 1)
        self.floor = min(self.floor, offset)

    def keep_back(self, offset: int, name: str) -> None:
        """Take note of a session that contributes."""
        item = (-offset, name)
        if len(self.contributing) < self.most:
            heappush(self.contributing, item)
        else:
            beyond, _ = heappushpop(self.contributing, item)
            self.stays(-1, -beyond)

    def ready(self) -> list[str]:
        """Return who may go after the whole of the partition was seen, in order."""
        return [name for negated, name in sorted(self.contributing, reverse=True) if -negated < self.floor]


class Next(NamedTuple):
    """When a partition is searched again, at the latest when sessions are not kept for ``keeps`` any more."""

    at_ms: int = 0
    keeps: int | None = None

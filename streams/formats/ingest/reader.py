"""What reads one input: chunks of records, each with what is to be remembered once they are sent."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Final, NamedTuple, Protocol

from streams.core.entry import Entry
from streams.formats.adapters.adapter import Format, Problem
from streams.formats.ingest.store import FileRow

TOGETHER: Final = 500
"""Records of a document that are sent together."""


class Chunk(NamedTuple):
    """Records and problems, in order.

    Attributes:
        found: what an adapter yielded.
        reading: number of the reading it belongs to.
        row: what is to be saved once it is sent; None if only that it was sent.
        early: whether the same reading may come to these records again.
        again: whether an input is read again from its beginning here: its earlier problems count no more.
    """

    found: list[Entry | Problem]
    reading: int
    row: FileRow | None
    early: bool = False
    again: bool = False


class Reader(Protocol):
    """Reads one input as far as it goes. The chunks must be sent and saved in their order."""

    path: str
    form: Format
    row: FileRow

    @property
    def ignored(self) -> Counter[str]:
        """What was left out by design since this reader began, by type."""
        ...

    def read(self) -> Iterator[Chunk]:
        """Yield what came since the last time."""
        ...

    def end(self) -> Iterator[Chunk]:
        """Yield what the input says if nothing more comes. It may be read on nevertheless."""
        ...

    def is_replaced(self) -> bool:
        """Tell whether its path leads to something else now, or to nothing."""
        ...

    @property
    def is_rewritten(self) -> bool:
        """Tell whether its content was replaced in place: there is nothing more to read of the old one."""
        ...

    @property
    def is_open(self) -> bool:
        """Tell whether it holds a file open."""
        ...

    def rest(self) -> None:
        """Close the file until it is used again."""
        ...

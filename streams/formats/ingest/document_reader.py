"""Reads a whole file each time it has changed: documents, requests, and what is packed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from itertools import islice
from pathlib import Path

from streams.core.entry import Entry
from streams.core.errors import ConfigurationError
from streams.formats.adapters.adapter import (
    LONGEST_DOCUMENT,
    LONGEST_UNIT,
    Adapter,
    Format,
    IntakeReason,
    Problem,
    UnitKind,
)
from streams.formats.adapters.otlp.cutting import cut_requests
from streams.formats.ingest.file_tail import place_of
from streams.formats.ingest.reader import TOGETHER, Chunk
from streams.formats.ingest.store import FileRow
from streams.formats.input_file import open_input


class DocumentReader:
    """Reads one document.

    Args:
        path: Path of the document file.
        form: Format that the document is read as.
        row: What of it was read.
        new_reading: Gives the number of a reading that begins.
    """

    is_rewritten = False
    is_open = False

    def __init__(self, path: str, form: Format, row: FileRow, new_reading: Callable[[], int]) -> None:
        self.path, self.form, self.row = path, form, row._replace(path=path)
        self.ignored: Counter[str] = Counter()
        self._new_reading = new_reading

    def read(self) -> Iterator[Chunk]:
        """Yield everything it says, if it has changed; what was sent before is known by its id."""
        try:
            status = Path(self.path).stat()
            mark = f"{status.st_size}/{status.st_mtime_ns}"
            if mark == self.row.mark:
                return
        except OSError as error:
            yield self._damaged(error, again=True)
            return
        self.row = self.row._replace(place=place_of(status), reading=self._new_reading())
        adapter = self.form.start(self.path)
        again = True
        try:
            found = _all(adapter, self._units())
            while chunk := list(islice(found, TOGETHER)):
                yield Chunk(chunk, self.row.reading, None, again=again)
                again = False
        except (OSError, ConfigurationError) as error:
            yield self._damaged(error, again=again)
            return
        self.ignored = adapter.ignored
        self.row = self.row._replace(mark=mark)
        yield Chunk([], self.row.reading, self.row, again=again)

    def end(self) -> Iterator[Chunk]:
        """Yield nothing: all of it was read."""
        return iter(())

    def is_replaced(self) -> bool:
        """Tell whether there is no such file any more: one that replaces it is the same document."""
        return not Path(self.path).is_file()

    def rest(self) -> None:
        """Do nothing: what is read is closed at once."""

    def _damaged(self, error: Exception, *, again: bool) -> Chunk:
        return Chunk(
            [Problem(self.path, IntakeReason.UNREADABLE, str(error))], self.row.reading, None, again=again
        )

    def _units(self) -> Iterator[bytes | Problem]:
        match self.form.kind:
            case UnitKind.LINES:
                yield from _lines(self.path)
            case UnitKind.REQUESTS:
                yield from cut_requests(unpacked(self.path))
            case UnitKind.DOCUMENT:
                yield unpacked(self.path)


def _lines(path: str) -> Iterator[bytes | Problem]:
    """Yield the lines of a packed log, however long it is; one longer than is read is not held."""
    with open_input(path) as stream:
        while line := stream.readline(LONGEST_UNIT + 1):
            if len(line) > LONGEST_UNIT and not line.endswith(b"\n"):
                while (more := stream.readline(LONGEST_UNIT)) and not more.endswith(b"\n"):
                    pass
                yield Problem(path, IntakeReason.UNREADABLE, f"a line of more than {LONGEST_UNIT:,} bytes")
            elif line.strip():
                yield line.rstrip(b"\r\n")


def unpacked(path: str) -> bytes:
    """Return what a file holds, at most a byte more than an adapter takes.

    Raises:
        ConfigurationError: it cannot be read.
    """
    with open_input(path) as stream:
        return stream.read(LONGEST_DOCUMENT + 1)


def _all(adapter: Adapter, units: Iterator[bytes | Problem]) -> Iterator[Entry | Problem]:
    for unit in units:
        if isinstance(unit, Problem):
            yield unit
        else:
            yield from adapter.feed(unit)
    yield from adapter.close()

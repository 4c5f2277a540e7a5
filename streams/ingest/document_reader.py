"""Reads a whole file each time it has changed: documents, requests, and what is packed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from itertools import islice
from pathlib import Path

from streams.errors import ConfigurationError
from streams.ingest.file_tail import place_of
from streams.ingest.reader import TOGETHER, Chunk
from streams.ingest.store import Row
from streams.sources.adapters.adapter import LONGEST_DOCUMENT, Adapter, Format, Problem, Reason, UnitKind
from streams.sources.adapters.otlp.cutting import cut_requests
from streams.sources.entry import Entry
from streams.sources.input_file import open_input


class DocumentReader:
    """Reads one document.

    Args:
        path: Its name.
        form: Its format.
        row: What of it was read.
        new_reading: Gives the number of a reading that begins.
    """

    is_rewritten = False
    is_open = False

    def __init__(self, path: str, form: Format, row: Row, new_reading: Callable[[], int]) -> None:
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
            data = unpacked(self.path)
        except (OSError, ConfigurationError) as error:
            yield Chunk(
                [Problem(self.path, Reason.UNREADABLE, str(error))], self.row.reading, None, again=True
            )
            return
        self.row = self.row._replace(place=place_of(status), reading=self._new_reading())
        adapter = self.form.start(self.path)
        found = _all(adapter, self._units(data))
        again = True
        while chunk := list(islice(found, TOGETHER)):
            yield Chunk(chunk, self.row.reading, None, again=again)
            again = False
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

    def _units(self, data: bytes) -> Iterator[bytes]:
        match self.form.kind:
            case UnitKind.LINES:
                yield from (line for line in data.split(b"\n") if line.strip())
            case UnitKind.REQUESTS:
                yield from cut_requests(data)
            case UnitKind.DOCUMENT:
                yield data


def unpacked(path: str) -> bytes:
    """Return what a file holds, at most a byte more than an adapter takes.

    Raises:
        ConfigurationError: it cannot be read.
    """
    with open_input(path) as stream:
        return stream.read(LONGEST_DOCUMENT + 1)


def _all(adapter: Adapter, units: Iterator[bytes]) -> Iterator[Entry | Problem]:
    for unit in units:
        yield from adapter.feed(unit)
    yield from adapter.close()

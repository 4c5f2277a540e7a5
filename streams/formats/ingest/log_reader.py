"""Reads a log by its whole lines, under whatever name it stands."""

from __future__ import annotations

import os
import stat
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from streams.core.entry import Entry
from streams.formats.adapters.adapter import LONGEST_UNIT, Format, IntakeReason, Problem
from streams.formats.adapters.record import UNDECODABLE, decoded
from streams.formats.ingest.account import UNFINISHED
from streams.formats.ingest.file_tail import (
    FilePosition,
    continues,
    place_of,
    proof,
    renamed,
    rest,
    whole_lines,
)
from streams.formats.ingest.reader import Chunk
from streams.formats.ingest.store import FileRow

_BYTE_ORDER_MARK = b"\xef\xbb\xbf"


class LogReader:
    """Reads one log.

    Args:
        path: Path of the log file.
        form: Format that the log is read as.
        row: How far it was read, and the state of the adapter.
    """

    def __init__(self, path: str, form: Format, row: FileRow) -> None:
        self.path, self.form, self.row = path, form, row
        self._adapter = form.resume(path, row.state) if row.state else form.start(path)
        self._before = Counter(self._adapter.ignored)
        self._file: int | None = None
        self._seen: tuple[FilePosition, int, int] | None = None
        self.is_rewritten = False
        self._unfinished: Counter[str] = Counter()

    @property
    def ignored(self) -> Counter[str]:
        """What was left out by design since this reader began."""
        return self._adapter.ignored - self._before + self._unfinished

    def read(self) -> Iterator[Chunk]:
        """Yield what came since the last time; nothing if the file was rewritten."""
        if not self._has_changed() or (file := self._opened()) is None:
            return
        if not continues(file, self.row.position, self.row.proof):
            self.is_rewritten = True
            return
        while (lines := whole_lines(file, self.row.position)).end > self.row.position:
            found = [each for unit in self._units(lines.units) for each in self._adapter.feed(unit)]
            if lines.too_long:
                longest = f"a line of more than {LONGEST_UNIT:,} bytes"
                found.append(Problem(self.path, IntakeReason.UNREADABLE, longest))
            self.row = self.row._replace(
                position=lines.end, proof=proof(file, lines.end), state=self._adapter.state()
            )
            yield Chunk(found, self.row.reading, self.row)

    def end(self) -> Iterator[Chunk]:
        """Yield what a last line without its end says, if it is a whole object, and what waits."""
        adapter = self.form.resume(self.path, self._adapter.state())
        file = self._opened()
        last = b"" if file is None else rest(file, self.row.position).strip()
        is_long = file is not None and os.fstat(file).st_size - self.row.position > LONGEST_UNIT
        self.rest()
        found: list[Entry | Problem] = []
        if is_long:
            longest = f"a last line of more than {LONGEST_UNIT:,} bytes"
            found = [Problem(self.path, IntakeReason.UNREADABLE, longest)]
        elif last and decoded(last) is not UNDECODABLE:
            found = list(adapter.feed(last.removeprefix(_BYTE_ORDER_MARK)))
        elif last:
            self._unfinished = Counter({UNFINISHED: 1})
        yield Chunk([*found, *adapter.close()], self.row.reading, None, early=True)

    def is_replaced(self) -> bool:
        """Tell whether the path leads to another file, or this one was rewritten."""
        if self.is_rewritten:
            return True
        try:
            return place_of(Path(self.path).stat()) != self.row.place
        except OSError:
            return True

    @property
    def is_open(self) -> bool:
        """Tell whether it holds the file open."""
        return self._file is not None

    def rest(self) -> None:
        """Close the file until it is used again."""
        file, self._file = self._file, None
        if file is not None:
            os.close(file)

    def _units(self, lines: list[bytes]) -> Iterator[bytes]:
        if self.row.position == 0 and lines:
            lines[0] = lines[0].removeprefix(_BYTE_ORDER_MARK)
        for line in lines:
            if unit := line.strip():
                yield unit

    def _has_changed(self) -> bool:
        try:
            status = Path(self.path).stat() if self._file is None else os.fstat(self._file)
        except OSError:
            return True
        seen = (place_of(status), status.st_size, status.st_mtime_ns)
        changed, self._seen = seen != self._seen, seen
        return changed

    def _opened(self) -> int | None:
        """Return the file of this place, also if it has another name by now; None if it is gone."""
        if self._file is None:
            self._file = self._opened_as(self.path)
            if self._file is None:  # looking for another name reads the whole folder
                self._file = self._opened_as(renamed(str(Path(self.path).parent), self.row.place))
        return self._file

    def _opened_as(self, path: str | None) -> int | None:
        file = None if path is None else opened(path)
        if file is None or place_of(os.fstat(file)) == self.row.place:
            return file
        os.close(file)
        return None


def opened(path: str) -> int | None:
    """Open a file for reading; None if there is none, or it is no file."""
    try:
        file = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
    except OSError:
        return None
    if stat.S_ISREG(os.fstat(file).st_mode):
        return file
    os.close(file)
    return None

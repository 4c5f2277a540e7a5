"""Reads a folder whose files are one input together, each one unit."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from streams.core.entry import Entry
from streams.formats.adapters.adapter import LONGEST_UNIT, Format, IntakeReason, Problem
from streams.formats.adapters.record import UNDECODABLE, decoded
from streams.formats.ingest.file_tail import place_of
from streams.formats.ingest.reader import Chunk
from streams.formats.ingest.store import FileRow

_TOGETHER = 100


class PartsReader:
    """Reads the parts below a folder in the order of their names.

    Args:
        path: Path of the folder of the parts.
        form: Its format, which has parts.
        row: Up to which part it was read, and the state of the adapter.
    """

    is_rewritten = False
    is_open = False

    def __init__(self, path: str, form: Format, row: FileRow) -> None:
        self.path, self.form, self.row = path, form, row._replace(path=path)
        names = parts(path, form)
        self._name = str(names[0]) if names else path
        self._adapter = form.resume(self._name, row.state) if row.state else form.start(self._name)
        self._before = Counter(self._adapter.ignored)

    @property
    def ignored(self) -> Counter[str]:
        """What was left out by design since this reader began."""
        return self._adapter.ignored - self._before

    def read(self) -> Iterator[Chunk]:
        """Yield what new parts say. The newest one waits until it is a whole value."""
        new = [each for each in parts(self.path, self.form) if str(each) > self.row.mark]
        found: list[Entry | Problem] = []
        for number, part in enumerate(new, 1):
            is_newest = number == len(new)
            try:
                unit = b"" if part.stat().st_size > LONGEST_UNIT else part.read_bytes()
            except OSError as error:
                unit, found = b"", [*found, Problem(str(part), IntakeReason.UNREADABLE, str(error))]
            if is_newest and decoded(unit) is UNDECODABLE:
                break
            found.extend(self._adapter.feed(unit))
            self.row = self.row._replace(mark=str(part), state=self._adapter.state())
            if number % _TOGETHER == 0:
                yield Chunk(found, self.row.reading, self.row)
                found = []
        if found:
            yield Chunk(found, self.row.reading, self.row)

    def end(self) -> Iterator[Chunk]:
        """Yield what waits."""
        adapter = self.form.resume(self._name, self._adapter.state())
        yield Chunk(list(adapter.close()), self.row.reading, None, early=True)

    def is_replaced(self) -> bool:
        """Tell whether the folder is another one, or gone."""
        try:
            return place_of(Path(self.path).stat()) != self.row.place
        except OSError:
            return True

    def rest(self) -> None:
        """Do nothing: what is read is closed at once."""


def parts(folder: str, form: Format) -> list[Path]:
    """Return the files that are one input together, by name."""
    return sorted(Path(folder).glob(form.parts)) if form.parts else []


def folder_of(path: Path, form: Format) -> Path | None:
    """Return the folder of the input to which a file belongs as a part; None if it is no part."""
    if form.parts is None or not path.match(form.parts):
        return None
    return path.parents[form.parts.count("/")]

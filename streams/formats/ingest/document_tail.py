"""Tails of what is not read by its lines: documents, containers, packed files, and folders of parts."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Final

from streams.core.entry import Entry
from streams.core.errors import ConfigurationError
from streams.formats.adapters.adapter import Format, IntakeReason, Problem
from streams.formats.adapters.record import UNDECODABLE, decoded
from streams.formats.ingest.store import Checkpoint
from streams.formats.ingest.tail import Chunk, identity_of
from streams.formats.input_file import open_input
from streams.formats.sources import Source, parts
from streams.formats.units import UNFINISHED, InputReader, is_unfinished, read_part, together

_TOGETHER: Final = 500
"""Records of a document that are sent together."""
_PARTS_TOGETHER: Final = 100


class DocumentTail:
    """Reads a whole file each time it has changed.

    Args:
        path: Path of the document file.
        form: Format that the document is read as.
        checkpoint: What of it was read.
        new_reading: Gives the number of a reading that begins.
    """

    is_rewritten = False
    is_open = False

    def __init__(
        self, path: str, form: Format, checkpoint: Checkpoint, new_reading: Callable[[], int]
    ) -> None:
        self.path, self.form, self.checkpoint = path, form, checkpoint._replace(path=path)
        self.ignored: Counter[str] = Counter()
        self._new_reading = new_reading

    def read(self) -> Iterator[Chunk]:
        """Yield everything it says, if it has changed; what was sent before is known by its id."""
        try:
            status = Path(self.path).stat()
            mark = f"{status.st_size}/{status.st_mtime_ns}"
            if mark == self.checkpoint.mark:
                return
        except OSError as error:
            yield self._damaged(error, again=True)
            return
        reading = self._new_reading()
        self.checkpoint = self.checkpoint._replace(identity=identity_of(status), reading=reading)
        reader = InputReader(self.form, self.path)
        again = True
        try:
            with open_input(self.path) as stream:
                for chunk in together(reader.read(stream), _TOGETHER):
                    yield Chunk(chunk, reading, None, again=again)
                    again = False
        except ConfigurationError as error:
            yield self._damaged(error, again=again)
            return
        finally:
            self.ignored = reader.ignored
        self.checkpoint = self.checkpoint._replace(mark=mark)
        yield Chunk([], reading, self.checkpoint, again=again)

    def end(self) -> Iterator[Chunk]:
        """Yield nothing: all of it was read."""
        return iter(())

    def is_replaced(self) -> bool:
        """Tell whether there is no such file any more: one that replaces it is the same document."""
        return not Path(self.path).is_file()

    def release(self) -> None:
        """Do nothing: what is read is closed at once."""

    def _damaged(self, error: Exception, *, again: bool) -> Chunk:
        problem = Problem(self.path, IntakeReason.UNREADABLE, str(error))
        return Chunk([problem], self.checkpoint.reading, None, again=again)


class PartsTail:
    """Reads the parts below a folder in the order of their names.

    Args:
        source: The folder, and how its parts are found.
        form: Its format, which has parts.
        checkpoint: Up to which part it was read, and the state of the adapter.
    """

    is_rewritten = False
    is_open = False

    def __init__(self, source: Source, form: Format, checkpoint: Checkpoint) -> None:
        self.path, self.form, self.checkpoint = source.path, form, checkpoint._replace(path=source.path)
        self._source = source
        files = parts(source)
        self._name = str(files[0]) if files else source.path
        state = checkpoint.state
        self._adapter = form.resume(self._name, state) if state else form.start(self._name)
        self._before = Counter(self._adapter.ignored)
        self._at_end: Counter[str] = Counter()

    @property
    def ignored(self) -> Counter[str]:
        """What was left out by design since this tail began."""
        return self._adapter.ignored - self._before + self._at_end

    def read(self) -> Iterator[Chunk]:
        """Yield what new parts say. The newest one waits until it is a whole value."""
        new = self._new()
        found: list[Entry | Problem] = []
        for number, part in enumerate(new, 1):
            unit = read_part(part)
            if number == len(new) and (isinstance(unit, Problem) or decoded(unit) is UNDECODABLE):
                break
            found.extend([unit] if isinstance(unit, Problem) else self._adapter.feed(unit))
            self.checkpoint = self.checkpoint._replace(mark=str(part), state=self._adapter.state())
            if number % _PARTS_TOGETHER == 0:
                yield Chunk(found, self.checkpoint.reading, self.checkpoint)
                found = []
        if found:
            yield Chunk(found, self.checkpoint.reading, self.checkpoint)

    def end(self) -> Iterator[Chunk]:
        """Yield what the newest part says if it is no whole value, and what waits."""
        adapter = self.form.resume(self._name, self._adapter.state())
        found: list[Entry | Problem] = []
        for part in self._new():
            unit = read_part(part)
            if isinstance(unit, Problem):
                found.append(unit)
            elif is_unfinished(unit, self.form):
                self._at_end = Counter({UNFINISHED: 1})
            else:
                found.extend(adapter.feed(unit))
                self._at_end = adapter.ignored - self._adapter.ignored
        yield Chunk([*found, *adapter.close()], self.checkpoint.reading, None, early=True)

    def is_replaced(self) -> bool:
        """Tell whether the folder is another one, or gone."""
        try:
            return identity_of(Path(self.path).stat()) != self.checkpoint.identity
        except OSError:
            return True

    def release(self) -> None:
        """Do nothing: what is read is closed at once."""

    def _new(self) -> list[Path]:
        return [each for each in parts(self._source) if str(each) > self.checkpoint.mark]

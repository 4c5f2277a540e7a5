"""Tails: an input that is read as far as it goes, and read on when it has grown.

A tail yields chunks of records, each with the checkpoint that is saved once they are sent. This module has
what all tails share, and the tail of a log: its whole lines, under whatever name it stands.
"""

from __future__ import annotations

import os
import stat
from collections import Counter
from collections.abc import Iterator
from hashlib import blake2b
from pathlib import Path
from typing import Final, NamedTuple, Protocol

from streams.core.entry import Entry
from streams.core.errors import ConfigurationError
from streams.formats.adapters.adapter import LONGEST_UNIT, Format, IntakeReason, Problem
from streams.formats.ingest.store import Checkpoint, FileIdentity, Fingerprint
from streams.formats.units import BYTE_ORDER_MARK, UNFINISHED, is_unfinished, too_long

_BLOCK: Final = 1 << 20
"""Bytes of lines that are read together; a longer line is read alone."""
_LONGEST_FIRST: Final = 4096
_LAST: Final = 512
_LARGEST: Final = (1 << 63) - 1  # that the store can hold


class Chunk(NamedTuple):
    """Records and problems, in order.

    Attributes:
        found: what an adapter yielded.
        reading: number of the reading it belongs to.
        checkpoint: what is to be saved once it is sent; None if only that it was sent.
        early: whether the same reading may come to these records again.
        again: whether an input is read again from its beginning here: its earlier problems count no more.
    """

    found: list[Entry | Problem]
    reading: int
    checkpoint: Checkpoint | None
    early: bool = False
    again: bool = False


class SourceTail(Protocol):
    """Reads one input as far as it goes. The chunks must be sent and saved in their order."""

    path: str
    form: Format
    checkpoint: Checkpoint

    @property
    def ignored(self) -> Counter[str]:
        """What was left out by design since this tail began, by type."""
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

    def release(self) -> None:
        """Close the file until it is used again."""
        ...


class LogTail:
    """Reads one log by its whole lines.

    Args:
        path: Path of the log file.
        form: Format that the log is read as.
        checkpoint: How far it was read, and the state of the adapter.
    """

    def __init__(self, path: str, form: Format, checkpoint: Checkpoint) -> None:
        self.path, self.form, self.checkpoint = path, form, checkpoint
        state = checkpoint.state
        self._adapter = form.resume(path, state) if state else form.start(path)
        self._before = Counter(self._adapter.ignored)
        self._file: int | None = None
        self._seen: tuple[FileIdentity, int, int] | None = None
        self.is_rewritten = False
        self._is_damaged = False
        self._at_end: Counter[str] = Counter()

    @property
    def ignored(self) -> Counter[str]:
        """What was left out by design since this tail began."""
        return self._adapter.ignored - self._before + self._at_end

    def read(self) -> Iterator[Chunk]:
        """Yield what came since the last time; nothing if the file was rewritten."""
        if self._is_damaged or not self._has_changed() or (file := self._opened()) is None:
            return
        if not continues(file, self.checkpoint.position, self.checkpoint.fingerprint):
            self.is_rewritten = True
            return
        while (lines := whole_lines(file, self.checkpoint.position)).end > self.checkpoint.position:
            found, damage = self._fed(lines.units)
            if lines.too_long:
                found.append(too_long(self.path))
            if damage is not None:
                self._is_damaged = True
                yield Chunk(found, self.checkpoint.reading, None)
                return
            self.checkpoint = self.checkpoint._replace(
                position=lines.end, fingerprint=fingerprint(file, lines.end), state=self._adapter.state()
            )
            yield Chunk(found, self.checkpoint.reading, self.checkpoint)

    def end(self) -> Iterator[Chunk]:
        """Yield what a last line without its end says, if it is whole, and what waits."""
        file = self._opened()
        last = b"" if file is None or self._is_damaged else _last_line(file, self.checkpoint.position)
        self.release()
        if self.checkpoint.position == 0:
            last = last.removeprefix(BYTE_ORDER_MARK)
        grown, self._adapter = self._adapter, self.form.resume(self.path, self._adapter.state())
        found: list[Entry | Problem] = []
        if len(last) > LONGEST_UNIT:
            found = [too_long(self.path)]
        elif is_unfinished(last, self.form):
            self._at_end = Counter({UNFINISHED: 1})
        else:
            found, _damage = self._fed([last])
            self._at_end = self._adapter.ignored - grown.ignored
        found.extend(self._adapter.close())
        self._adapter = grown
        yield Chunk(found, self.checkpoint.reading, None, early=True)

    def is_replaced(self) -> bool:
        """Tell whether the path leads to another file, or this one was rewritten."""
        if self.is_rewritten:
            return True
        try:
            return identity_of(Path(self.path).stat()) != self.checkpoint.identity
        except OSError:
            return True

    @property
    def is_open(self) -> bool:
        """Tell whether it holds the file open."""
        return self._file is not None

    def release(self) -> None:
        """Close the file until it is used again."""
        file, self._file = self._file, None
        if file is not None:
            os.close(file)

    def _fed(self, lines: list[bytes]) -> tuple[list[Entry | Problem], ConfigurationError | None]:
        """Return what lines say, up to one past which the log cannot be read, and that error."""
        if self.checkpoint.position == 0 and lines:
            lines[0] = lines[0].removeprefix(BYTE_ORDER_MARK)
        found: list[Entry | Problem] = []
        try:
            for line in lines:
                if line.strip():
                    found.extend(self._adapter.feed(line.rstrip(b"\r")))
        except ConfigurationError as error:
            found.append(Problem(self.path, IntakeReason.UNREADABLE, str(error)))
            return found, error
        return found, None

    def _has_changed(self) -> bool:
        try:
            status = Path(self.path).stat() if self._file is None else os.fstat(self._file)
        except OSError:
            return True
        seen = (identity_of(status), status.st_size, status.st_mtime_ns)
        changed, self._seen = seen != self._seen, seen
        return changed

    def _opened(self) -> int | None:
        """Return this file, also if it has another name by now; None if it is gone."""
        if self._file is None:
            self._file = self._opened_as(self.path)
            if self._file is None:  # looking for another name reads the whole folder
                self._file = self._opened_as(_renamed(str(Path(self.path).parent), self.checkpoint.identity))
        return self._file

    def _opened_as(self, path: str | None) -> int | None:
        file = None if path is None else opened(path)
        if file is None or identity_of(os.fstat(file)) == self.checkpoint.identity:
            return file
        os.close(file)
        return None


class WholeLines(NamedTuple):
    """Whole lines, without their ends; the offset after them; lines that were too long to be read."""

    units: list[bytes]
    end: int
    too_long: int


def whole_lines(file: int, start: int) -> WholeLines:
    """Read the lines that end with a line feed, from an offset on, about `_BLOCK` bytes of them.

    A line of more than `LONGEST_UNIT` bytes is passed over without being held.
    """
    held = bytearray()
    while block := os.pread(file, _BLOCK, start + len(held)):
        held += block
        if (last := held.rfind(b"\n")) >= 0:
            return WholeLines(bytes(held[:last]).split(b"\n"), start + last + 1, 0)
        if len(held) > LONGEST_UNIT:
            end = _line_feed(file, start + len(held))
            return WholeLines([], start, 0) if end is None else WholeLines([], end + 1, 1)
    return WholeLines([], start, 0)


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


def identity_of(status: os.stat_result) -> FileIdentity:
    """Return the identity that a status tells."""
    return FileIdentity(status.st_dev & _LARGEST, status.st_ino & _LARGEST)


def fingerprint(file: int, offset: int) -> Fingerprint:
    """Return the fingerprint of a file that was read up to an offset."""
    begin = max(0, offset - _LAST)
    return Fingerprint(first_line(file, offset), _digest(os.pread(file, offset - begin, begin)))


def first_line(file: int, offset: int) -> bytes:
    """Return the digest of the first line, or of its beginning; empty if nothing was read."""
    head = os.pread(file, min(offset, _LONGEST_FIRST), 0)
    return _digest(head.partition(b"\n")[0]) if head else b""


def continues(file: int, offset: int, known: Fingerprint) -> bool:
    """Tell whether this is the file of which `known` was taken, and nothing up to the offset has changed."""
    return os.fstat(file).st_size >= offset and fingerprint(file, offset) == known


def _last_line(file: int, start: int) -> bytes:
    """Return what follows the last line feed: a line whose end was not written, a block too much at most."""
    held = bytearray()
    while len(held) <= LONGEST_UNIT and (block := os.pread(file, _BLOCK, start + len(held))):
        held += block
    return bytes(held)


def _renamed(folder: str, identity: FileIdentity) -> str | None:
    """Return the path of this file in a folder, if it is there: a log that was rotated."""
    try:
        with os.scandir(folder) as found:
            for each in found:
                if (
                    each.inode() & _LARGEST == identity.inode
                    and identity_of(each.stat(follow_symlinks=False)) == identity
                ):
                    return each.path
    except OSError:
        return None
    return None


def _line_feed(file: int, start: int) -> int | None:
    while block := os.pread(file, _BLOCK, start):
        if (at := block.find(b"\n")) >= 0:
            return start + at
        start += len(block)
    return None


def _digest(data: bytes) -> bytes:
    return blake2b(data, digest_size=16).digest()

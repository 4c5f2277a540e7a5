"""The whole lines of a file that grows, and whether it is still the file that was read before."""

from __future__ import annotations

import os
from hashlib import blake2b
from typing import Final, NamedTuple

from streams.formats.adapters.adapter import LONGEST_UNIT

BYTES_TOGETHER: Final = 1 << 20
"""Bytes of lines that are read together; a longer line is read alone."""

_BLOCK: Final = 1 << 20
_LONGEST_FIRST: Final = 4096
_LAST: Final = 512
_LARGEST: Final = (1 << 63) - 1  # that the store can hold


class FilePosition(NamedTuple):
    """Where the content of a file is, whatever its name."""

    device: int
    inode: int


class FileDigest(NamedTuple):
    """Digests by which a file is known again: of its first line, and of the bytes before an offset."""

    first: bytes
    last: bytes


class WholeLines(NamedTuple):
    """Whole lines, without their ends; the offset after them; lines that were too long to be read."""

    units: list[bytes]
    end: int
    too_long: int


def place_of(status: os.stat_result) -> FilePosition:
    """Return the place that a status tells."""
    return FilePosition(status.st_dev & _LARGEST, status.st_ino & _LARGEST)


def whole_lines(file: int, start: int) -> WholeLines:
    """Read the lines that end with a line feed, from an offset on, about `BYTES_TOGETHER` of them.

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


def rest(file: int, start: int) -> bytes:
    """Return what follows the last line feed: a line whose end was not written, at most `LONGEST_UNIT`."""
    held = bytearray()
    while len(held) <= LONGEST_UNIT and (block := os.pread(file, _BLOCK, start + len(held))):
        held += block
    return bytes(held) if len(held) <= LONGEST_UNIT else b""


def proof(file: int, offset: int) -> FileDigest:
    """Return the proof of a file that was read up to an offset."""
    begin = max(0, offset - _LAST)
    return FileDigest(first_line(file, offset), _digest(_exactly(file, offset - begin, begin)))


def first_line(file: int, offset: int) -> bytes:
    """Return the digest of the first line, or of its beginning; empty if nothing was read."""
    head = _exactly(file, min(offset, _LONGEST_FIRST), 0)
    return _digest(head.partition(b"\n")[0]) if head else b""


def continues(file: int, offset: int, known: FileDigest) -> bool:
    """Tell whether this is the file of which `known` was taken, and nothing up to the offset has changed."""
    return os.fstat(file).st_size >= offset and proof(file, offset) == known


def renamed(folder: str, place: FilePosition) -> str | None:
    """Return the path of the file at this place in a folder, if there is one: a log that was rotated."""
    try:
        with os.scandir(folder) as found:
            for each in found:
                if (
                    each.inode() & _LARGEST == place.inode
                    and place_of(each.stat(follow_symlinks=False)) == place
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


def _exactly(file: int, size: int, start: int) -> bytes:
    return os.pread(file, size, start)


def _digest(data: bytes) -> bytes:
    return blake2b(data, digest_size=16).digest()

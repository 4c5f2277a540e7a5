"""Opening an input: a file or standard input, its head read without consuming it.

What is packed by gzip or zstd is unpacked, and UTF-16 becomes UTF-8.
"""

from __future__ import annotations

import codecs
import gzip
import io
import os
import select
import shutil
import sys
import tempfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from io import BufferedReader
from pathlib import Path
from typing import Any, BinaryIO, Final

import cramjam

from streams.core.errors import ConfigurationError
from streams.formats.adapters.adapter import LONGEST_UNIT

STANDARD_INPUT = "-"
STANDARD_INPUT_NAME: Final = "standard input"
"""Also names sessions that have no id of their own."""

DAMAGE = (OSError, EOFError, zlib.error)
"""What reading raises if a file cannot be read to its end."""

_GZIP = b"\x1f\x8b"
_ZSTD: Final = b"\x28\xb5\x2f\xfd"
LONGEST_UNPACKED: Final = 128 << 20
"""Bytes that a zstd file may hold. gzip is unpacked piece by piece and needs no limit here."""

_BYTES_LOOKED_THROUGH: Final = 2 * LONGEST_UNIT
"""Bytes of an input that are looked through, line by line, if its head fits no format."""

_FIRST_ROOM: Final = 4 << 20
_UTF_16 = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)
"""How a file begins that Windows PowerShell 5 has written."""
_BUFFER_BYTES = 1 << 16
_PATIENCE_S: Final = 10
"""How long a named pipe is waited for."""

_FULL: Final = "failed to write whole buffer"
"""What Rust says of an output that is full; cramjam has one type for all errors."""


@contextmanager
def open_input(name: str) -> Iterator[BufferedReader]:
    """The bytes of the file called name, or of standard input for ``-``; unpacked, and UTF-16 as UTF-8.

    Raises:
        ConfigurationError: the file cannot be opened or read, or a gzip stream is cut off or damaged. The
            message names the file.
    """
    try:
        if name == STANDARD_INPUT:
            yield _plain(_buffered(sys.stdin.buffer))
        else:
            with _opened(name) as stream:
                yield _plain(_buffered(stream))
    except DAMAGE as error:
        raise ConfigurationError(f"{name}: {error}. Check the file") from error
    except ConfigurationError as error:
        raise ConfigurationError(f"{name}: {error}") from error


def _opened(name: str) -> BinaryIO:
    """Open a file. A named pipe is waited for, but not without an end.

    Raises:
        ConfigurationError: nobody writes into the pipe.
    """
    path = Path(name)
    if not path.is_fifo() or name.startswith(("/dev/", "/proc/")):  # a pipe of the shell has its writer
        return path.open("rb", buffering=_BUFFER_BYTES)
    pipe = os.fdopen(os.open(name, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC), "rb", _BUFFER_BYTES)
    waiting = select.poll()
    waiting.register(pipe, select.POLLIN)
    if not waiting.poll(1000 * _PATIENCE_S):
        pipe.close()
        raise ConfigurationError(f"nothing was written into this pipe for {_PATIENCE_S} s")
    os.set_blocking(pipe.fileno(), True)
    return pipe


def starts_with(stream: BufferedReader, magic: bytes) -> bool:
    """Whether these are the next bytes. A pipe that has brought fewer is judged by those."""
    head = stream.peek(len(magic))[: len(magic)]
    return bool(head) and magic.startswith(head)


def _buffered(stream: BinaryIO) -> BufferedReader[Any]:
    return stream if isinstance(stream, BufferedReader) else BufferedReader(stream, _BUFFER_BYTES)


def lines_at_the_head(stream: BufferedReader) -> Iterator[bytes]:
    """Yield the first lines of an input, to recognise it by one of them; none that is too long to be read."""
    left = _BYTES_LOOKED_THROUGH
    while left > 0 and (line := stream.readline(LONGEST_UNIT + 1)):
        left -= len(line)
        if len(line) <= LONGEST_UNIT or line.endswith(b"\n"):
            yield line
            continue
        while left > 0 and (more := stream.readline(_BUFFER_BYTES)) and not more.endswith(b"\n"):
            left -= len(more)


def is_plain(head: bytes) -> bool:
    """Tell whether a file that begins so is read as it is, so that its rest can be read later."""
    return not head.startswith((_GZIP, _ZSTD, *_UTF_16))


def _plain(stream: BufferedReader[Any]) -> BufferedReader:
    if starts_with(stream, _GZIP):
        # GzipFile is a reader of bytes that BufferedReader accepts; the stubs ask for a raw stream.
        stream = BufferedReader(gzip.GzipFile(fileobj=stream, mode="rb"), _BUFFER_BYTES)
    elif starts_with(stream, _ZSTD):
        stream = BufferedReader(_from_zstd(stream), _BUFFER_BYTES)
    if stream.peek(2)[:2] in _UTF_16:
        stream = BufferedReader(_FromUtf16(stream), _BUFFER_BYTES)
    return stream


def _from_zstd(stream: BufferedReader[Any]) -> io.BytesIO:
    """Return what zstd has packed, as Codex packs rollouts that were idle for a week.

    Raises:
        ConfigurationError: it is damaged, or holds more than `LONGEST_UNPACKED`.
    """
    packed = stream.read(LONGEST_UNPACKED + 1)
    room = min(max(_FIRST_ROOM, 8 * len(packed)), LONGEST_UNPACKED)
    while len(packed) <= LONGEST_UNPACKED:
        unpacked = io.BytesIO()
        unpacked.seek(room - 1)
        unpacked.write(b"\0")
        try:
            with unpacked.getbuffer() as whole:
                length = cramjam.zstd.decompress_into(packed, whole)
        except cramjam.DecompressionError as error:
            if _FULL not in str(error):
                raise ConfigurationError(f"not a whole zstd file: {error}") from error
            if room >= LONGEST_UNPACKED:
                break
            room = min(4 * room, LONGEST_UNPACKED)
        else:
            unpacked.truncate(length)
            unpacked.seek(0)
            return unpacked
    raise ConfigurationError(f"holds more than {LONGEST_UNPACKED:,} bytes, the most that is unpacked of zstd")


class _FromUtf16(io.RawIOBase):
    """UTF-16 with a byte order mark as UTF-8. What is no text becomes U+FFFD."""

    def __init__(self, stream: BufferedReader) -> None:
        self._stream = stream
        self._decoder = codecs.getincrementaldecoder("utf-16")("replace")
        self._rest = b""

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: memoryview) -> int:  # type: ignore[override]
        while not self._rest:
            chunk = self._stream.read1(_BUFFER_BYTES)
            self._rest = self._decoder.decode(chunk, final=not chunk).encode()
            if not chunk:
                break
        given, self._rest = self._rest[: len(buffer)], self._rest[len(buffer) :]
        buffer[: len(given)] = given
        return len(given)


class BegunStream(io.RawIOBase):
    """The bytes of a stream whose first ones were read.

    Args:
        begun: The bytes that were read.
        stream: Where the others come from.
    """

    def __init__(self, begun: bytes, stream: BufferedReader) -> None:
        self._begun = begun
        self._stream = stream

    def readable(self) -> bool:
        """Tell that it can be read."""
        return True

    def readinto(self, buffer: memoryview) -> int:  # type: ignore[override]
        """Read what was begun, then what comes."""
        chunk = self._begun[: len(buffer)] if self._begun else self._stream.read1(len(buffer))
        self._begun = self._begun[len(chunk) :]
        buffer[: len(chunk)] = chunk
        return len(chunk)


@contextmanager
def spooled_standard_input() -> Iterator[str]:
    """Read standard input to its end; yield the path of a copy, which only this user can read.

    It is removed at the end. A document cannot be read before it is whole, nor a packed log.
    """
    with tempfile.TemporaryDirectory(prefix="eddy-") as folder:
        path = Path(folder) / STANDARD_INPUT_NAME
        with path.open("wb") as file:
            shutil.copyfileobj(sys.stdin.buffer, file)
        yield str(path)

"""Opening an input: a file or standard input, gzip and UTF-16 undone, its head read without consuming it."""

from __future__ import annotations

import codecs
import gzip
import io
import sys
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from io import BufferedReader
from pathlib import Path
from typing import Any, BinaryIO

from streams.errors import ConfigurationError

STANDARD_INPUT = "-"

DAMAGE = (OSError, EOFError, zlib.error)
"""What reading raises if a file cannot be read to its end."""

_GZIP = b"\x1f\x8b"
_UTF_16 = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)
"""How a file begins that Windows PowerShell 5 has written."""
_BUFFER_BYTES = 1 << 16


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
            with Path(name).open("rb", buffering=_BUFFER_BYTES) as stream:
                yield _plain(_buffered(stream))
    except DAMAGE as error:
        raise ConfigurationError(f"{name}: {error}. Check the file") from error
    except ConfigurationError as error:
        raise ConfigurationError(f"{name}: {error}") from error


def starts_with(stream: BufferedReader, magic: bytes) -> bool:
    """Whether these are the next bytes. A pipe that has brought fewer is judged by those."""
    head = stream.peek(len(magic))[: len(magic)]
    return bool(head) and magic.startswith(head)


def _buffered(stream: BinaryIO) -> BufferedReader[Any]:
    return stream if isinstance(stream, BufferedReader) else BufferedReader(stream, _BUFFER_BYTES)


def is_plain(head: bytes) -> bool:
    """Tell whether a file that begins so is read as it is, so that its rest can be read later."""
    return not head.startswith((_GZIP, *_UTF_16))


def _plain(stream: BufferedReader[Any]) -> BufferedReader:
    if starts_with(stream, _GZIP):
        # GzipFile is a reader of bytes that BufferedReader accepts; the stubs ask for a raw stream.
        stream = BufferedReader(gzip.GzipFile(fileobj=stream, mode="rb"), _BUFFER_BYTES)
    if stream.peek(2)[:2] in _UTF_16:
        stream = BufferedReader(_FromUtf16(stream), _BUFFER_BYTES)
    return stream


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

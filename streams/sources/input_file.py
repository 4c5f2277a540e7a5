"""Opening an input: a file or standard input, gzip undone, its first bytes read without consuming them."""

from __future__ import annotations

import gzip
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
_BUFFER_BYTES = 1 << 16


@contextmanager
def open_input(name: str) -> Iterator[BufferedReader]:
    """The bytes of the file called name, or of standard input for ``-``; unpacked when they are gzip.

    Raises:
        ConfigurationError: the file cannot be opened or read, or a gzip stream is cut off or damaged. The
            message names the file.
    """
    try:
        if name == STANDARD_INPUT:
            yield _unpacked(_buffered(sys.stdin.buffer))
        else:
            with Path(name).open("rb", buffering=_BUFFER_BYTES) as stream:
                yield _unpacked(_buffered(stream))
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


def _unpacked(stream: BufferedReader[Any]) -> BufferedReader:
    if not starts_with(stream, _GZIP):
        return stream
    # GzipFile is a reader of bytes that BufferedReader accepts; the stubs ask for a raw stream.
    return BufferedReader(gzip.GzipFile(fileobj=stream, mode="rb"), _BUFFER_BYTES)

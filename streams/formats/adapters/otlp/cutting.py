"""The cutting of a stream of OTLP requests in protobuf.

Each request stands behind its length, 4 bytes, big-endian. A file may also be one bare request.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import BinaryIO, Final

from streams.formats.adapters.adapter import LONGEST_DOCUMENT, LONGEST_UNIT

LENGTH: Final = 4
"""Bytes of the length before a request."""

REQUEST_BEGINS: Final = 0x0A
"""The first byte of a request: its field 1, a message."""


def cut_requests(stream: BinaryIO) -> Iterator[bytes]:
    r"""Yield the requests of a stream one by one; what it holds as it is if it is one bare request.

    What does not fit is the last unit, and unreadable.

    >>> from io import BytesIO
    >>> list(cut_requests(BytesIO(b"\0\0\0\x02\x0a\0" * 2)))
    [b'\n\x00', b'\n\x00']
    >>> list(cut_requests(BytesIO(b"\x0a\0")))
    [b'\n\x00']
    """
    while begun := stream.read(LENGTH):
        length = int.from_bytes(begun, "big")
        if begun[0] == REQUEST_BEGINS or not 0 < length <= LONGEST_UNIT:
            yield begun + stream.read(LONGEST_DOCUMENT)
            return
        unit = stream.read(length)
        yield unit if len(unit) == length else begun + unit

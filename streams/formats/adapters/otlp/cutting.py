"""The cutting of a stream of OTLP requests in protobuf.

Each request stands behind its length, 4 bytes, big-endian. A file may also be one bare request.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

LENGTH: Final = 4
"""Bytes of the length before a request."""

REQUEST_BEGINS: Final = 0x0A
"""The first byte of a request: its field 1, a message."""


def cut_requests(data: bytes) -> Iterator[bytes]:
    r"""Yield the requests of a stream; the data as it is if it is one bare request.

    What does not fit is the last unit, and unreadable.

    >>> list(cut_requests(b"\0\0\0\x02\x0a\0" * 2))
    [b'\n\x00', b'\n\x00']
    >>> list(cut_requests(b"\x0a\0"))
    [b'\n\x00']
    """
    at = 0
    while at < len(data):
        begin = at + LENGTH
        end = begin + int.from_bytes(data[at:begin], "big")
        if data[at] == REQUEST_BEGINS or end > len(data) or end == begin:
            yield data[at:]
            return
        yield data[begin:end]
        at = end

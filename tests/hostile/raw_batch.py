"""Batches of Kafka's message format 2, byte by byte: what a client of one's own may send."""

from __future__ import annotations

import struct
from collections.abc import Sequence

from aiokafka.record.util import calc_crc32c, encode_varint

Headers = Sequence[tuple[bytes, bytes | None]]

CODECS = {"none": 0, "gzip": 1, "snappy": 2, "lz4": 3, "zstd": 4}

#: From the attributes on, which is what the checksum covers: attributes, last offset delta, first and last
#: timestamp, producer id, epoch and sequence, number of records.
_CHECKED = struct.Struct(">hiqqqhii")


def varint(number: int) -> bytes:
    """Return a number as Kafka writes those of a record."""
    out = bytearray()
    encode_varint(number, out.append)
    return bytes(out)


def sized(content: bytes | None) -> bytes:
    """Return bytes behind their length, -1 for none."""
    return varint(-1) if content is None else varint(len(content)) + content


def record(
    key: bytes | None,
    value: bytes | None,
    headers: Headers = (),
    *,
    offset_delta: int = 0,
    timestamp_delta: int = 0,
) -> bytes:
    """Return one record with its length before it."""
    written = b"".join(sized(name) + sized(content) for name, content in headers)
    body = (
        b"\0"
        + varint(timestamp_delta)
        + varint(offset_delta)
        + sized(key)
        + sized(value)
        + varint(len(headers))
        + written
    )
    return varint(len(body)) + body


def batch(
    records: bytes,
    count: int,
    *,
    timestamp: int,
    codec: str = "none",
    base_offset: int = 0,
    last_delta: int | None = None,
) -> bytes:
    """Return a batch of so many records, which the caller has compressed with the codec it names.

    Args:
        records: What stands behind the head.
        count: How many records the head says there are.
        timestamp: The timestamp of the first and the last record, ms since 1970.
        codec: The compression that the head names.
        base_offset: The base offset of the first record; the broker writes another.
        last_delta: From the first offset to the last one; by default as the count says.
    """
    last = count - 1 if last_delta is None else last_delta
    checked = _CHECKED.pack(CODECS[codec], last, timestamp, timestamp, -1, -1, -1, count) + records
    crc = calc_crc32c(checked)
    return struct.pack(">qiibI", base_offset, len(checked) + 9, -1, 2, crc) + checked

"""Decompression stops at its limit, whatever the data say of themselves."""

import gzip
import resource
import struct
from collections.abc import Callable

import cramjam
import pytest
from aiokafka.codec import lz4_encode, snappy_encode
from hypothesis import given
from hypothesis import strategies as st

from streams.kafka.patches.decompression import (
    GZIP,
    LZ4,
    SNAPPY,
    ZSTD,
    DamagedBatchError,
    LargeBatchError,
    decompressed,
)

LIMIT = 1 << 20
HEAD = b"head"

#: A zstd frame without the size of its content, with a window of 1 KiB times 2 to the tenth.
ZSTD_HEAD = b"\x28\xb5\x2f\xfd\x00\x50"


def zstd(data: bytes) -> bytes:
    return bytes(cramjam.zstd.compress(data))


def zstd_run(length: int, *, last: bool = False) -> bytes:
    """Return a block of zstd that is one byte, so many times."""
    return (length << 3 | 2 | last).to_bytes(3, "little") + b"a"


def snappy_block(data: bytes) -> bytes:
    return bytes(cramjam.snappy.compress_raw(data))


CODECS: list[tuple[int, Callable[[bytes], bytes]]] = [
    (GZIP, gzip.compress),
    (SNAPPY, snappy_encode),
    (SNAPPY, snappy_block),
    (LZ4, lz4_encode),
    (ZSTD, zstd),
]
each_codec = pytest.mark.parametrize(
    ("codec", "compress"), CODECS, ids=["gzip", "snappy", "snappy in one block", "lz4", "zstd"]
)


def content(codec: int, data: bytes, limit: int = LIMIT) -> bytes:
    found = decompressed(codec, memoryview(data), limit, HEAD)
    assert found.startswith(HEAD)
    return found[len(HEAD) :]


@each_codec
@given(data=st.binary(max_size=2000))
def test_what_was_compressed_comes_back_behind_its_head(
    codec: int, compress: Callable[[bytes], bytes], data: bytes
) -> None:
    assert content(codec, compress(data)) == data


@each_codec
def test_all_that_the_limit_allows_comes_back_and_not_a_byte_more(
    codec: int, compress: Callable[[bytes], bytes]
) -> None:
    assert content(codec, compress(bytes(LIMIT))) == bytes(LIMIT)
    with pytest.raises(LargeBatchError):
        content(codec, compress(bytes(LIMIT + 1)))


@each_codec
@given(data=st.binary(max_size=200), at=st.integers(0, 400), byte=st.integers(0, 255))
def test_damaged_data_are_read_or_refused_and_nothing_else(
    codec: int, compress: Callable[[bytes], bytes], data: bytes, at: int, byte: int
) -> None:
    written = bytearray(compress(data))
    written[at % len(written)] = byte
    for damaged in (bytes(written), bytes(written[: at % len(written)])):
        try:
            content(codec, damaged)
        except (DamagedBatchError, LargeBatchError):
            continue


@pytest.mark.parametrize(
    ("codec", "data"),
    [
        (GZIP, gzip.compress(b"one", mtime=0) + gzip.compress(b"two", mtime=0)),
        (GZIP, gzip.compress(b"onetwo", mtime=0) + b"more"),
        (GZIP, gzip.compress(b"onetwo", mtime=0) + b"\x1f\x8bmore"),
        (LZ4, lz4_encode(b"onetwo") + b"more"),
        (LZ4, bytes(cramjam.lz4.compress(b"onetwo")) + b"more"),
        (ZSTD, zstd(b"one") + zstd(b"two")),
        (ZSTD, b"\x50\x2a\x4d\x18\x04\0\0\0skip" + zstd(b"onetwo")),
        (SNAPPY, b"\x82SNAPPY\0" + struct.pack(">ii", 2, 1) + snappy_encode(b"onetwo")[16:]),
    ],
)
def test_what_a_broker_reads_is_read(codec: int, data: bytes) -> None:
    assert content(codec, data) == b"onetwo"


@pytest.mark.parametrize(
    ("codec", "data"),
    [
        (5, b"x"),
        (7, b"x"),
        (GZIP, gzip.compress(b"x" * 100, mtime=0)[:-9]),
        (SNAPPY, snappy_encode(b"x") + struct.pack(">i", -4)),
        (SNAPPY, snappy_encode(b"x") + struct.pack(">i", 1 << 30)),
        (SNAPPY, snappy_encode(b"x") + b"\0"),
        (LZ4, lz4_encode(b"x" * 100)[:-9]),
        (LZ4, b"\x04\x22\x4d\x18"),
        (ZSTD, zstd(b"x" * 100)[:-2]),
        (ZSTD, b""),
    ],
)
def test_what_is_damaged_is_refused(codec: int, data: bytes) -> None:
    with pytest.raises(DamagedBatchError):
        content(codec, data)


@pytest.mark.parametrize(
    ("codec", "data"),
    [
        (ZSTD, ZSTD_HEAD + zstd_run(128 << 10) * 6000),
        (ZSTD, b"\x28\xb5\x2f\xfd\xc0\x50" + struct.pack("<Q", 1 << 50) + zstd_run(128 << 10) * 6000),
        (ZSTD, b"\x28\xb5\x2f\xfd\x80\x50" + struct.pack("<I", 10) + zstd_run(128 << 10) * 6000),
        (SNAPPY, b"\xff\xff\xff\xff\x0f" + b"\xfe" * 100),
        (SNAPPY, snappy_encode(b"")[:16] + (struct.pack(">i", 5) + b"\x80\x80\x80\x80\x0f") * 100),
    ],
    ids=["zstd", "zstd that claims 2^50", "zstd that claims 10", "snappy", "snappy in blocks"],
)
def test_a_size_that_is_a_lie_is_not_believed(codec: int, data: bytes) -> None:
    with pytest.raises((LargeBatchError, DamagedBatchError)):
        content(codec, data)


def test_a_bomb_takes_no_more_memory_than_the_limit() -> None:
    bomb = zstd(bytes(400 << 20))
    content(ZSTD, zstd(bytes(1000)), 8 << 20)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    with pytest.raises(LargeBatchError):
        content(ZSTD, bomb, 8 << 20)
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 100 << 10  # KiB


@pytest.mark.parametrize(
    ("codec", "data"),
    [
        (GZIP, gzip.compress(b"", mtime=0) * 50_000),
        (ZSTD, zstd(b"") * 100_000),
        (LZ4, lz4_encode(b"") * 60_000),
        (SNAPPY, snappy_encode(b"")[:16] + (struct.pack(">i", 1) + b"\0") * 200_000),
    ],
)
def test_a_mebibyte_of_nothing_is_nothing(codec: int, data: bytes) -> None:
    assert content(codec, data) == b""

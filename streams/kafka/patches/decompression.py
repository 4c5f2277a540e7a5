"""What the bytes of a compressed batch hold, up to a limit.

A batch of 27 kB may decompress to gigabytes, and the size that its format states may be a lie. So the output
has an end, and decompression stops there. zstd, lz4 and snappy write into a scratch buffer of that size; the
machine gives it memory only for the pages that they write to.
"""

from __future__ import annotations

import mmap
import struct
import threading
import zlib
from collections.abc import Callable
from typing import Final

import cramjam

#: Codecs by their number in the attributes of a batch.
NONE, GZIP, SNAPPY, LZ4, ZSTD = range(5)

_NAMES: Final = {GZIP: "gzip", SNAPPY: "snappy", LZ4: "lz4", ZSTD: "zstd"}

#: What Rust says of an output that is full; cramjam has one type for all errors.
_FULL: Final = "failed to write whole buffer"

#: Fed at once: what a member leaves over is copied.
_GZIP_CHUNK: Final = 16 << 10

_XERIAL_MAGIC: Final = b"\x82SNAPPY\0"
_XERIAL_HEAD: Final = 16

#: A scratch buffer that was written further than this gives its pages back.
_KEPT: Final = 4 << 20


class DamagedBatchError(Exception):
    """The bytes are not what the codec writes; the message is one for people, without any of the bytes."""


class LargeBatchError(Exception):
    """There is more than the limit in it."""


class _Scratch(threading.local):
    """One buffer for each thread, since batches are unpacked in several."""

    buffer: mmap.mmap | None = None

    def of(self, size: int) -> mmap.mmap:
        if self.buffer is None or len(self.buffer) != size:
            self.buffer = mmap.mmap(-1, size)
        return self.buffer


_scratch = _Scratch()


def decompressed(codec: int, data: memoryview, limit: int, head: bytes = b"") -> bytes:
    """Return ``head`` and what is in ``data``, which are at most ``limit`` bytes.

    Raises:
        LargeBatchError: there is more.
        DamagedBatchError: it cannot be read, or the codec is unknown.
    """
    if codec not in _NAMES:
        raise DamagedBatchError(f"its compression, number {codec}, is unknown")
    if codec == GZIP:
        return _gunzipped(data, limit, head)
    scratch = _scratch.of(len(head) + limit)
    scratch[: len(head)] = head
    with memoryview(scratch) as whole, whole[len(head) :] as room:
        try:
            size = _INTO[codec](data, room)
        except cramjam.DecompressionError as error:
            if _FULL in str(error):
                scratch.madvise(mmap.MADV_DONTNEED)
                raise LargeBatchError from error
            raise DamagedBatchError(f"its {_NAMES[codec]} data are damaged: {error}") from error
    found = scratch[: len(head) + size]
    if size > _KEPT:
        scratch.madvise(mmap.MADV_DONTNEED)
    return found


def _zstd(data: memoryview, room: memoryview) -> int:
    return int(cramjam.zstd.decompress_into(data, room))


def _lz4(data: memoryview, room: memoryview) -> int:
    try:
        return int(cramjam.lz4.decompress_into(data, room))
    except cramjam.DecompressionError as error:
        # Brokers read the first frame and ignore what follows it.
        end = _end_of_lz4_frame(data)
        if _FULL in str(error) or end is None or end == len(data):
            raise
        return int(cramjam.lz4.decompress_into(data[:end], room))


def _end_of_lz4_frame(data: memoryview) -> int | None:
    """Return where the first frame ends, None where it does not."""
    if len(data) < 7:
        return None
    flags = data[4]
    # Magic, flags and sizes of blocks; the size of the content, the id of a dictionary; a checksum.
    at = 6 + 8 * bool(flags & 0x08) + 4 * bool(flags & 0x01) + 1
    while at + 4 <= len(data):
        size = int.from_bytes(data[at : at + 4], "little")
        at += 4
        if size == 0:
            return min(len(data), at + 4 * bool(flags & 0x04))
        at += (size & 0x7FFFFFFF) + 4 * bool(flags & 0x10)
    return None


def _snappy(data: memoryview, room: memoryview) -> int:
    if bytes(data[: len(_XERIAL_MAGIC)]) != _XERIAL_MAGIC:
        return _unsnapped(data, room)
    written, at = 0, _XERIAL_HEAD
    while at < len(data):
        if at + 4 > len(data):
            raise cramjam.DecompressionError("it ends inside the size of a block")
        size = struct.unpack_from(">i", data, at)[0]
        at += 4
        if not 0 <= size <= len(data) - at:
            raise cramjam.DecompressionError("a block is longer than the data")
        written += _unsnapped(data[at : at + size], room[written:])
        at += size
    return written


def _unsnapped(block: memoryview, room: memoryview) -> int:
    """Decompress a block; nothing is written beyond the size that it declares, which is checked first."""
    if cramjam.snappy.decompress_raw_len(block) > len(room):
        raise cramjam.DecompressionError(_FULL)
    return int(cramjam.snappy.decompress_raw_into(block, room))


_INTO: Final[dict[int, Callable[[memoryview, memoryview], int]]] = {
    SNAPPY: _snappy,
    LZ4: _lz4,
    ZSTD: _zstd,
}


def _gunzipped(data: memoryview, limit: int, head: bytes) -> bytes:
    found, room, at = [head], limit, 0
    while at < len(data):
        member, size = zlib.decompressobj(wbits=31), 0
        while not member.eof:
            chunk = member.unconsumed_tail or data[at : at + _GZIP_CHUNK]
            if not chunk:
                raise DamagedBatchError("its gzip data end early")
            if not member.unconsumed_tail:
                at += len(chunk)
            try:
                part = member.decompress(chunk, room + 1)
            except zlib.error as error:
                if len(found) > 1 and not size:
                    return b"".join(found)  # as brokers do: what follows the members is ignored
                raise DamagedBatchError(f"its gzip data are damaged: {error}") from error
            size += len(part)
            room -= len(part)
            if room < 0:
                raise LargeBatchError
            found.append(part)
        at -= len(member.unused_data)
    return b"".join(found)

"""The batches of a fetch, each checked before anything is unpacked.

aiokafka's own reader decompresses whatever a batch holds, and its first error ends the fetch, which is then
tried again for ever. Here aiokafka's C code still unpacks each batch that is in order. From any other batch,
each offset comes as an `Unreadable`, or as the record that `salvage` finds there.

What is decompressed has a limit, and so has what one poll unpacks: once that is reached, the rest waits for
the next poll. A reader that takes batches whole, `together`, unpacks them itself, one after another.
"""

from __future__ import annotations

import logging
import struct
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, Final, NamedTuple

from aiokafka.record.default_records import DefaultRecordBatch
from aiokafka.record.legacy_records import LegacyRecordBatch
from aiokafka.structs import TopicPartition

from streams.core.domain.record import Unreadable
from streams.kafka.patches.decompression import NONE, DamagedBatchError, LargeBatchError, decompressed
from streams.kafka.patches.salvage import Frame, Salvaged, lost, salvage

#: Bytes that the batches of a fetch may hold, decompressed.
MAX_BATCH_BYTES: Final = 64 << 20

#: A batch whose checksum is wrong is fetched so often, since the wire may be to blame.
_ATTEMPTS: Final = 5

#: base offset, length, leader epoch, magic, checksum, attributes, last offset delta, first timestamp, largest
#: timestamp, producer id, producer epoch, base sequence, number of records.
_HEAD: Final = struct.Struct(">qiibIhiqqqhii")
#: Magic 0 and 1: offset, length, checksum, magic, attributes.
_OLD_HEAD: Final = struct.Struct(">qiIbb")
_OVERHEAD: Final = 12
_MAGIC_AT: Final = 16
_ATTRIBUTES_AT: Final = 21

_CODEC, _APPEND_TIME, _TRANSACTIONAL, _CONTROL = 0x07, 0x08, 0x10, 0x20

#: The record of a marker: its key is the version and the kind, 0 for an abort.
_MARKER_BYTES: Final = 4
_ABORT: Final = Salvaged(0, 0, bytes(_MARKER_BYTES), None, ())

log = logging.getLogger(__name__)


@dataclass(slots=True)
class BatchWatch:
    """What a consumer knows of the batches it has unpacked.

    Attributes:
        limit: Bytes that a batch may hold, and that a poll may unpack.
        together: Whether batches are delivered whole.
        unpacked: Bytes of this poll.
        failed: How often the checksum of a batch was wrong, by partition and first offset.
        try_again: Whether that is why a fetch ended before its end.
    """

    limit: int = MAX_BATCH_BYTES
    together: bool = False
    unpacked: int = 0
    failed: dict[tuple[TopicPartition, int], int] = field(default_factory=dict)
    try_again: bool = False

    @property
    def full(self) -> bool:
        """Whether a poll has unpacked as much as it may."""
        return self.unpacked >= self.limit and not self.together


class _Head(NamedTuple):
    base: int
    last: int
    producer_id: int | None
    attributes: int
    first_ms: int
    max_ms: int
    holds: int


class CheckedBatch:
    """One batch, as aiokafka expects it: asks what it is first, then iterates over it."""

    __slots__ = (
        "_checked",
        "_head",
        "_raw",
        "_unpacked",
        "_watch",
        "_why",
        "is_control_batch",
        "is_transactional",
    )

    def __init__(self, raw: memoryview, head: _Head, watch: BatchWatch, checked: Any, why: str = "") -> None:
        self._raw = raw
        self._head = head
        self._watch = watch
        self._checked = checked
        self._why = why
        self._unpacked: Any = None
        current = head.producer_id is not None and not why
        self.is_control_batch = current and bool(head.attributes & _CONTROL)
        self.is_transactional = current and bool(head.attributes & _TRANSACTIONAL)

    @property
    def base_offset(self) -> int:
        """The offset of its first record."""
        return self._head.base

    @property
    def next_offset(self) -> int:
        """The offset after its last record."""
        return self._head.last + 1

    @property
    def producer_id(self) -> int | None:
        """The producer of a batch of format 2."""
        return None if self._why else self._head.producer_id

    def validate_crc(self) -> bool:
        """Return True: `Batches` has checked it."""
        return True

    def __next__(self) -> Any:
        """Return the one record of a marker, which aiokafka reads itself.

        A marker that cannot be read counts as an abort. Either kind ends the transaction, and without an end
        aiokafka would leave out what the producer commits later.
        """
        try:
            marker = next(self.unpacked())
            return marker if len(marker.key or b"") >= _MARKER_BYTES else _ABORT
        except Exception:  # noqa: BLE001 - aiokafka's reader raises what it comes across
            return _ABORT

    def unpacked(self) -> Any:
        """Return aiokafka's iterator over its records.

        Raises:
            LargeBatchError: they are more than the limit.
            DamagedBatchError: they cannot be decompressed, or the batch is damaged.
        """
        if self._unpacked is None:
            head, raw = self._head, self._raw
            codec = head.attributes & _CODEC
            if self._why:
                raise DamagedBatchError(self._why)
            if codec == NONE:
                self._watch.unpacked += len(raw)
                self._unpacked = iter(self._checked)
            elif head.producer_id is None:
                # aiokafka decompresses it once more, now that it is known to fit.
                self._watch.unpacked += _size_of_old(raw, codec, self._watch.limit)
                self._unpacked = iter(self._checked)
            else:
                self._unpacked = iter(DefaultRecordBatch(self._decompressed()))
        return self._unpacked

    def _decompressed(self) -> bytes:
        """Return the batch without compression."""
        attributes = self._head.attributes
        plain = bytearray(self._raw[: _HEAD.size])
        plain[_ATTRIBUTES_AT : _ATTRIBUTES_AT + 2] = struct.pack(">h", attributes & ~_CODEC)
        codec, data = attributes & _CODEC, self._raw[_HEAD.size :]
        try:
            found = decompressed(codec, data, self._watch.limit, bytes(plain))
        except LargeBatchError:
            self._watch.unpacked += self._watch.limit
            raise
        self._watch.unpacked += len(found)
        return found

    def __iter__(self) -> Iterator[Any]:
        """Yield each record, or what there is in its place."""
        base, last = self._head.base, self._head.last
        whole = self._head.holds == last - base + 1
        expected, done, failure = base, 0, ""
        try:
            for record in self.unpacked():
                offset = record.offset
                if offset != expected and (whole or not expected <= offset <= last):
                    failure = "the offsets of its batch are out of order"
                    break
                expected = offset + 1
                done += 1
                yield record
        except LargeBatchError:
            detail = f"its batch of {len(self._raw)} bytes holds more than {self._watch.limit} bytes"
            yield from lost(base, last, detail, self._head.first_ms, batch_bytes=len(self._raw))
            return
        except DamagedBatchError as error:
            yield from self._lost(base, str(error))
            return
        except Exception as error:  # noqa: BLE001 - aiokafka's reader raises what it comes across
            failure = f"its batch is damaged: {type(error).__name__}"
        if failure and expected <= last:
            yield from self._salvaged(done, expected, failure)

    def _salvaged(self, done: int, expected: int, failure: str) -> Iterator[Salvaged | Unreadable]:
        head = self._head
        if head.producer_id is None:
            yield from self._lost(expected, failure)
            return
        plain = bytes(self._raw) if not head.attributes & _CODEC else self._decompressed()
        append_ms = head.max_ms if head.attributes & _APPEND_TIME else None
        frame = Frame(head.base, head.last, head.holds, head.first_ms, append_ms)
        yield from salvage(frame, memoryview(plain)[_HEAD.size :], done, expected)

    def _lost(self, first: int, why: str) -> Iterator[Unreadable]:
        return lost(first, self._head.last, why, self._head.first_ms, bytes(self._raw))


def _size_of_old(raw: memoryview, codec: int, limit: int) -> int:
    """Return how many bytes a compressed record of the formats 0 and 1 holds, with all others in it."""
    start = at = _OLD_HEAD.size + 8 * raw[_MAGIC_AT]
    for _ in range(2):  # the key, then the value
        if at + 4 > len(raw):
            raise DamagedBatchError("it ends before its value")
        size = struct.unpack_from(">i", raw, at)[0]
        start, at = at + 4, at + 4 + max(0, size)
    return len(decompressed(codec, raw[start:at], limit))


class Batches:
    """The batches of one answer to a fetch, in the place of aiokafka's `MemoryRecords`.

    Args:
        tp: The partition that was fetched.
        raw: All of them; the last one may be cut off.
        position: The offset that was asked for.
        end: The offset behind the newest record of the partition.
        watch: The watch of the consumer.
    """

    def __init__(self, tp: TopicPartition, raw: bytes, position: int, end: int, watch: BatchWatch) -> None:
        self._tp = tp
        self._raw = memoryview(raw)
        self._at = 0
        self._following = position
        self._end = end
        self._watch = watch
        self._next: CheckedBatch | None = None
        self._given = False

    def has_batch(self) -> bool:
        """Tell whether the answer begins with a batch that is all there."""
        return self._slice(0) is not None

    def has_next(self) -> bool:
        """Tell whether there is another one for this poll."""
        if self._next is None and not (self._given and self._watch.full):
            self._next = self._read()
        return self._next is not None

    def next_batch(self) -> CheckedBatch:
        """Return it."""
        assert self._next is not None
        batch, self._next, self._given = self._next, None, True
        self._following = batch.next_offset
        return batch

    def size_in_bytes(self) -> int:
        """Return the bytes of all of them."""
        return len(self._raw)

    def _slice(self, at: int) -> memoryview | None:
        if at + _OVERHEAD > len(self._raw):
            return None
        length = struct.unpack_from(">i", self._raw, at + 8)[0]
        end = at + _OVERHEAD + length
        return self._raw[at:end] if length >= 0 and end <= len(self._raw) else None

    def _read(self) -> CheckedBatch | None:
        """Return the next batch; None behind the last one, and before one that is to be fetched again."""
        while (raw := self._slice(self._at)) is not None:
            batch = self._looked_at(raw)
            if batch is None or batch.next_offset > self._following:
                return batch  # else it is before the position, where aiokafka would go back to
        return None

    def _looked_at(self, raw: memoryview) -> CheckedBatch | None:
        if len(raw) <= _OLD_HEAD.size or (raw[_MAGIC_AT] > 1 and len(raw) < _HEAD.size):
            return self._damaged(raw, "it has no head")
        try:
            if raw[_MAGIC_AT] > 1:
                head = _head(raw)
                checked: Any = DefaultRecordBatch(raw)
            else:
                head = _old_head(raw, self._following)
                checked = LegacyRecordBatch(raw, raw[_MAGIC_AT])
            in_order = checked.validate_crc() and head.base <= head.last
        except Exception as error:  # noqa: BLE001 - aiokafka's reader raises what it comes across
            return self._damaged(raw, type(error).__name__)
        if not in_order:
            return self._damaged(raw, "its checksum is wrong")
        if head.last >= self._end:
            # A broker reads where a partition ends before it reads the records: some may have come since.
            # The next answer knows.
            return self._damaged(raw, "it is behind the end of its partition", is_new=True)
        self._at += len(raw)
        if self._watch.failed:
            self._watch.failed.pop((self._tp, head.base), None)
        return CheckedBatch(raw, head, self._watch, checked)

    def _damaged(self, raw: memoryview, why: str, *, is_new: bool = False) -> CheckedBatch | None:
        """Return the batch as one to set aside; None where it is to be fetched again first.

        One that may only be new is fetched again at once.
        """
        claimed = int.from_bytes(raw[:8], "big", signed=True)
        base = claimed if self._following <= claimed < self._end else self._following
        place = self._tp, base
        times = self._watch.failed[place] = self._watch.failed.get(place, 0) + 1
        if times < _ATTEMPTS:
            self._watch.try_again |= times > 1 or not is_new
            return None
        del self._watch.failed[place]
        self._at += len(raw)
        following = self._slice(self._at)
        last = self._last(raw, base, following)
        log.error(
            "%s[%s]: the batch of the offsets %s to %s is damaged (%s), in each of %s fetches. The disk of a "
            "broker may be to blame: check the segment with kafka-dump-log.sh.",
            self._tp.topic,
            self._tp.partition,
            base,
            last,
            why,
            times,
        )
        head = _Head(base, last, None, 0, -1, -1, 0)
        return CheckedBatch(raw, head, self._watch, None, f"its batch is damaged: {why}")

    def _last(self, raw: memoryview, base: int, following: memoryview | None) -> int:
        """Return the last offset of a damaged batch: before the next one, or as it says, in the partition."""
        if following is not None:
            last = int.from_bytes(following[:8], "big", signed=True) - 1
        elif len(raw) >= _HEAD.size:
            last = base + int(_HEAD.unpack_from(raw)[6])
        else:
            last = base
        return max(base, min(last, self._end - 1))


def _head(raw: memoryview) -> _Head:
    base, _, _, _, _, attributes, delta, first_ms, max_ms, producer_id, _, _, count = _HEAD.unpack_from(raw)
    return _Head(base, base + delta, producer_id, attributes, first_ms, max_ms, count)


def _old_head(raw: memoryview, following: int) -> _Head:
    """Return the head of format 0 or 1: it names the last of its offsets."""
    last, _, _, magic, attributes = _OLD_HEAD.unpack_from(raw)
    timestamp = struct.unpack_from(">q", raw, _OLD_HEAD.size)[0] if magic else -1
    return _Head(min(last, following), last, None, attributes, timestamp, timestamp, 0)

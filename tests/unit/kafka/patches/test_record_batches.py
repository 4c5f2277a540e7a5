"""aiokafka reads the batches of a fetch through `Batches`: good ones as ever, bad ones offset by offset."""

import random
import struct
from typing import Any

import cramjam
import pytest
from aiokafka.consumer.fetcher import READ_COMMITTED, PartitionRecords
from aiokafka.record.legacy_records import LegacyRecordBatchBuilder
from aiokafka.record.util import calc_crc32c
from aiokafka.structs import TopicPartition

from streams.core.domain.record import RawKind, Unreadable
from streams.kafka.patches.careful_fetch import _received
from streams.kafka.patches.record_batches import Batches, BatchWatch
from tests.hostile.raw_batch import batch, record

TP = TopicPartition("decision-logs", 0)
LIMIT = 1 << 20
NOW = 1_760_000_000_000


def zstd(data: bytes) -> bytes:
    return bytes(cramjam.zstd.compress(data))


def written(*values: bytes, base: int = 0, codec: str = "none") -> bytes:
    records = b"".join(record(b"k", value, offset_delta=place) for place, value in enumerate(values))
    content = zstd(records) if codec == "zstd" else records
    return batch(content, len(values), timestamp=NOW, base_offset=base, codec=codec)


def with_attributes(raw: bytes, attributes: int, producer_id: int) -> bytes:
    """Return the batch as one of a transaction, or a marker."""
    changed = bytearray(raw)
    changed[21:23] = struct.pack(">h", attributes)
    changed[43:51] = struct.pack(">q", producer_id)
    changed[17:21] = struct.pack(">I", calc_crc32c(bytes(changed[21:])))
    return bytes(changed)


def fetched(
    raw: bytes, *, position: int = 0, end: int = 1000, watch: BatchWatch | None = None, aborted: Any = ()
) -> tuple[list[Any], int]:
    """Return what a poll brings of an answer, and the offset of the next fetch."""
    batches = Batches(TP, raw, position, end, BatchWatch(LIMIT) if watch is None else watch)
    records = PartitionRecords(TP, batches, list(aborted), position, None, None, True, READ_COMMITTED)
    records._consumer_record = _received
    return list(records), records.next_fetch_offset


def values(found: list[Any]) -> list[Any]:
    return [each.detail if isinstance(each, Unreadable) else each.value for each in found]


def damaged(raw: bytes) -> bytes:
    return raw[:-1] + bytes([raw[-1] ^ 1])


@pytest.mark.parametrize("codec", ["none", "zstd"])
def test_batches_in_order_are_read_from_the_position_on(codec: str) -> None:
    raw = written(b"0", b"1", b"2", codec=codec) + written(b"3", base=3, codec=codec) + b"a cut one"
    found, following = fetched(raw, position=1)
    assert [(each.offset, each.value, each.timestamp) for each in found] == [
        (1, b"1", NOW),
        (2, b"2", NOW),
        (3, b"3", NOW),
    ]
    assert following == 4


def test_what_was_aborted_and_markers_are_left_out() -> None:
    marker = batch(record(struct.pack(">hh", 0, 0), b""), 1, timestamp=NOW, base_offset=1)
    raw = (
        with_attributes(written(b"aborted"), 0x10, 7)
        + with_attributes(marker, 0x30, 7)
        + with_attributes(written(b"committed", base=2), 0x10, 7)
    )
    found, following = fetched(raw, aborted=[(7, 0)])
    assert (values(found), following) == ([b"committed"], 3)


def test_a_marker_that_cannot_be_read_ends_its_transaction() -> None:
    marker = batch(b"no record", 1, timestamp=NOW, base_offset=1)
    raw = (
        with_attributes(written(b"aborted"), 0x10, 7)
        + with_attributes(marker, 0x30, 7)
        + with_attributes(written(b"committed", base=2), 0x10, 7)
    )
    assert values(fetched(raw, aborted=[(7, 0)])[0]) == [b"committed"]


def test_a_record_that_aiokafka_gives_up_on_costs_no_other() -> None:
    odd = record(b"k", b"odd", [(b"\xff", b"")], offset_delta=1)
    records = record(b"k", b"0") + odd + record(b"k", b"2", offset_delta=2)
    for raw in (
        batch(records, 3, timestamp=NOW),
        batch(zstd(records), 3, timestamp=NOW, codec="zstd"),
    ):
        found, following = fetched(raw + written(b"3", base=3))
        assert values(found) == [b"0", "the name of a header is not UTF-8", b"2", b"3"]
        assert following == 4


def test_a_batch_that_cannot_be_decompressed_is_set_aside_with_its_bytes() -> None:
    raw = batch(zstd(record(b"k", b"0"))[:-2], 2, timestamp=NOW, codec="zstd")
    found, following = fetched(raw + written(b"2", base=2))
    assert [each.offset for each in found] == [0, 1, 2]
    assert (found[0].raw, found[0].value) == (RawKind.BATCH, raw)
    assert (found[1].raw, found[1].value) == (None, None)
    assert following == 3


def test_a_batch_that_holds_too_much_is_set_aside_without_its_bytes() -> None:
    raw = written(bytes(LIMIT), b"1", codec="zstd")
    found, following = fetched(raw)
    assert [(each.offset, each.value, each.batch_bytes) for each in found] == [
        (0, None, len(raw)),
        (1, None, len(raw)),
    ]
    assert following == 2


# -- a wrong checksum -----------------------------------------------------------------------------------


def test_a_wrong_checksum_is_fetched_again_and_may_have_been_the_wire() -> None:
    good, watch = written(b"1", b"2", base=1), BatchWatch(LIMIT)
    found, following = fetched(written(b"0") + damaged(good), watch=watch)
    assert (values(found), following) == ([b"0"], 1)
    assert watch.try_again
    found, following = fetched(good, position=1, watch=watch)
    assert (values(found), following) == ([b"1", b"2"], 3)
    assert watch.failed == {}


def test_a_batch_that_came_after_its_broker_looked_for_the_end_is_fetched_again_at_once() -> None:
    new, watch = written(b"1", base=1), BatchWatch(LIMIT)
    found, following = fetched(written(b"0") + new, end=1, watch=watch)
    assert (values(found), following) == ([b"0"], 1)
    assert not watch.try_again
    found, following = fetched(new, position=1, end=2, watch=watch)
    assert (values(found), following) == ([b"1"], 2)
    assert watch.failed == {}


def test_a_batch_that_stays_behind_the_end_is_waited_for_and_set_aside(
    caplog: pytest.LogCaptureFixture,
) -> None:
    raw, watch = written(b"1", base=1), BatchWatch(LIMIT)
    for attempt in range(4):
        assert fetched(raw, position=1, end=1, watch=watch) == ([], 1)
        assert watch.try_again is (attempt > 0)
    found, _ = fetched(raw, position=1, end=1, watch=watch)
    assert "behind the end" in found[0].detail
    assert "is damaged" in caplog.text


@pytest.mark.parametrize("behind", [b"", written(b"3", base=3)])
def test_a_checksum_that_stays_wrong_costs_the_offsets_of_its_batch(
    behind: bytes, caplog: pytest.LogCaptureFixture
) -> None:
    bad, watch = damaged(written(b"1", b"2", base=1)), BatchWatch(LIMIT)
    for _ in range(4):
        assert fetched(bad + behind, position=1, watch=watch) == ([], 1)
    found, following = fetched(bad + behind, position=1, watch=watch)
    assert [each.offset for each in found] == ([1, 2, 3] if behind else [1, 2])
    assert (found[0].value, found[0].raw) == (bad, RawKind.BATCH)
    assert "checksum" in found[0].detail
    assert following == found[-1].offset + 1
    assert "the batch of the offsets 1 to 2 is damaged" in caplog.text


@pytest.mark.parametrize("delta", [2**31 - 1, -7])
def test_of_a_damaged_batch_nothing_is_believed(delta: int) -> None:
    raw = bytearray(written(b"1", base=1))
    raw[23:27] = struct.pack(">i", delta)
    watch = BatchWatch(LIMIT)
    for _ in range(4):
        fetched(bytes(raw), position=1, end=50, watch=watch)
    found, following = fetched(bytes(raw), position=1, end=50, watch=watch)
    assert 1 <= len(found) <= 49
    assert following == found[-1].offset + 1 <= 50


# -- bounds of a poll -----------------------------------------------------------------------------------


def test_a_poll_ends_behind_the_batch_that_fills_it() -> None:
    raw = written(bytes(LIMIT - 20), codec="zstd") + written(b"1", base=1) + written(b"2", base=2)
    watch = BatchWatch(LIMIT)
    found, following = fetched(raw, watch=watch)
    assert (len(found), following) == (1, 1)
    watch.unpacked = 0
    found, following = fetched(raw, position=1, watch=watch)
    assert (values(found), following) == ([b"1", b"2"], 3)


def test_a_poll_that_is_full_takes_its_first_batch_all_the_same() -> None:
    watch = BatchWatch(LIMIT, unpacked=LIMIT)
    assert fetched(written(b"0") + written(b"1", base=1), watch=watch)[1] == 1


# -- old formats ----------------------------------------------------------------------------------------


def old(magic: int, codec: int, value: bytes, offset: int) -> bytes:
    builder = LegacyRecordBatchBuilder(magic, codec, 1 << 30)
    builder.append(offset, NOW if magic else None, b"k", value)
    return bytes(builder.build())


@pytest.mark.parametrize(("magic", "codec"), [(0, 0), (0, 1), (0, 2), (1, 0), (1, 1), (1, 2), (1, 3)])
def test_the_formats_before_are_read(magic: int, codec: int) -> None:
    found, following = fetched(old(magic, codec, b"v", 0) + written(b"1", base=1))
    assert (values(found), following) == ([b"v", b"1"], 2)


@pytest.mark.parametrize(("magic", "codec"), [(0, 1), (1, 1), (1, 3)])
def test_the_formats_before_have_the_same_limit(magic: int, codec: int) -> None:
    raw = old(magic, codec, bytes(2 * LIMIT), 0)
    found, following = fetched(raw + written(b"1", base=1))
    assert [each.batch_bytes for each in found[:1]] == [len(raw)]
    assert (values(found)[1:], following) == ([b"1"], 2)


# -- anything at all ------------------------------------------------------------------------------------


def answer(batches: list[bytes], position: int) -> bytes:
    """Return what a broker answers: it knows of itself where the batches of five offsets each begin."""
    return b"".join(batches[position // 5 :])


def spoilt(chance: random.Random, raw: bytes) -> bytes:
    changed = bytearray(raw)
    for _ in range(chance.randrange(1, 4)):
        # A broker looks up a batch by its first offset and its length, the first twelve bytes.
        changed[chance.randrange(12, len(raw))] = chance.randrange(256)
    if chance.random() < 0.7:  # with a checksum that is right, as whoever writes the batch can make it
        changed[17:21] = struct.pack(">I", calc_crc32c(bytes(changed[21:])))
    return bytes(changed)


@pytest.mark.parametrize("seed", range(40))
def test_whatever_the_bytes_are_the_partition_moves_on(seed: int) -> None:
    chance = random.Random(seed)
    good = [
        written(*[b"v%d" % (base + place) for place in range(5)], base=base, codec=codec)
        for base, codec in ((0, "none"), (5, "zstd"), (10, "none"))
    ]
    for _ in range(50):
        batches = list(good)
        which = chance.randrange(3)
        batches[which] = spoilt(chance, batches[which])
        watch, position, offsets = BatchWatch(LIMIT), 0, []
        for _ in range(60):
            raw = answer(batches, position)
            if position >= 15 or not Batches(TP, raw, position, 15, watch).has_batch():
                break
            found, following = fetched(raw, position=position, end=15, watch=watch)
            assert following >= position
            offsets += [each.offset for each in found]
            position, watch.unpacked = following, 0
        else:
            pytest.fail(f"it stands still at {position}")
        assert offsets == sorted(set(offsets))

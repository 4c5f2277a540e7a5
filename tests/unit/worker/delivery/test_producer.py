"""What is published to one topic partition goes together, and small batches as they are."""

import asyncio
import struct
from collections.abc import AsyncIterator

import pytest
from aiokafka import AIOKafkaProducer, TopicPartition
from aiokafka.errors import KafkaError, MessageSizeTooLargeError
from aiokafka.producer.message_accumulator import BatchBuilder
from aiokafka.structs import RecordMetadata

from streams.core.domain.record import Row
from streams.core.errors import InfrastructureError
from streams.worker.delivery.producer import SentBatches, all_acknowledged, batch_for

TOPIC, PARTITION = "t", 3
SMALL: list[Row] = [(b"k", b"v" * 99, 1_000, [])] * 10
LARGE: list[Row] = [(b"k", b"v" * 100, 1_000, [])] * 10

#: The place of the attributes in a batch (Kafka's record format 2); the last three bits name the compression.
_ATTRIBUTES = struct.Struct(">h")
_ATTRIBUTES_AT, _COMPRESSION, _TRANSACTIONAL = 21, 0b111, 0b10000
_NONE, _ZSTD = 0, 4


@pytest.fixture
async def client(request: pytest.FixtureRequest) -> AsyncIterator[AIOKafkaProducer]:
    """A client that has not been started: nothing it is given is ever sent."""
    client = AIOKafkaProducer(compression_type="zstd", **getattr(request, "param", {}))
    yield client
    client._closed = True  # there is nothing to stop, and it would wait for what it was given


def attributes(batch: BatchBuilder, rows: list[Row]) -> int:
    for key, value, timestamp, headers in rows:
        assert batch.append(key=key, value=value, timestamp=timestamp, headers=headers) is not None
    found: int = _ATTRIBUTES.unpack_from(bytes(batch._build()), _ATTRIBUTES_AT)[0]
    return found


async def test_what_waits_to_be_sent_takes_more_records(client: AIOKafkaProducer) -> None:
    accumulator = client._message_accumulator
    first, future = batch_for(client, TOPIC, PARTITION, LARGE)
    assert future is None
    queued = accumulator._append_batch(first, TopicPartition(TOPIC, PARTITION))
    assert batch_for(client, TOPIC, PARTITION, SMALL) == (first, queued.future)
    assert batch_for(client, TOPIC, PARTITION + 1, SMALL)[0] is not first


async def test_what_has_its_sequence_numbers_or_is_full_takes_no_more(client: AIOKafkaProducer) -> None:
    accumulator, place = client._message_accumulator, TopicPartition(TOPIC, PARTITION)
    leaving, _ = batch_for(client, TOPIC, PARTITION, LARGE)
    accumulator._append_batch(leaving, place)
    accumulator._pop_batch(place)
    assert not leaving.closed()
    full, _ = batch_for(client, TOPIC, PARTITION, LARGE)
    assert full is not leaving
    accumulator._append_batch(full, place)
    full.close()
    assert batch_for(client, TOPIC, PARTITION, LARGE)[0] not in (leaving, full)


async def test_only_batches_worth_it_are_compressed(client: AIOKafkaProducer) -> None:
    small, _ = batch_for(client, TOPIC, PARTITION, SMALL)
    large, _ = batch_for(client, TOPIC, PARTITION, LARGE)
    assert attributes(small, SMALL) & _COMPRESSION == _NONE
    assert attributes(large, LARGE) & _COMPRESSION == _ZSTD


@pytest.mark.parametrize("client", [{"transactional_id": "t-1"}], indirect=True)
async def test_a_small_batch_of_a_transaction_is_marked_as_such(client: AIOKafkaProducer) -> None:
    small, _ = batch_for(client, TOPIC, PARTITION, SMALL)
    assert attributes(small, SMALL) & _TRANSACTIONAL


def sent(*outcomes: int | BaseException) -> SentBatches:
    """Batches of two records at these offsets, or that failed."""
    futures = []
    for outcome in outcomes:
        future = asyncio.get_running_loop().create_future()
        if isinstance(outcome, int):
            place = TopicPartition(TOPIC, PARTITION)
            metadata = RecordMetadata(TOPIC, PARTITION, place, outcome, 0, 0, 0)
            asyncio.get_running_loop().call_soon(future.set_result, metadata)
        else:
            future.set_exception(outcome)
        futures.append(future)
    return SentBatches(TOPIC, PARTITION, tuple(futures), (2,) * len(outcomes))


async def test_the_offset_is_that_of_the_last_record_even_behind_those_of_others() -> None:
    assert await sent(10, 12).acknowledged() == 13
    joined = sent(10)
    assert await SentBatches(TOPIC, PARTITION, joined.futures, (7,)).acknowledged() == 16


async def test_all_batches_are_waited_for_before_a_failure_is_told() -> None:
    failed, late = sent(10, MessageSizeTooLargeError()), sent(20)
    with pytest.raises(InfrastructureError, match=r"Publishing to t\[3\] failed: MessageSizeTooLarge"):
        await all_acknowledged([failed, late])
    assert all(future.done() for batches in (failed, late) for future in batches.futures)


async def test_a_failure_that_is_not_kafkas_is_told_as_it_is() -> None:
    with pytest.raises(RuntimeError, match="of another kind"):
        await sent(RuntimeError("of another kind")).acknowledged()
    assert not issubclass(RuntimeError, KafkaError)


async def test_who_stops_waiting_for_a_batch_leaves_it_to_those_who_share_it() -> None:
    future = asyncio.get_running_loop().create_future()
    waiting = asyncio.create_task(SentBatches(TOPIC, PARTITION, (future,), (1,)).acknowledged())
    await asyncio.sleep(0)
    waiting.cancel()
    await asyncio.gather(waiting, return_exceptions=True)
    assert not future.cancelled()

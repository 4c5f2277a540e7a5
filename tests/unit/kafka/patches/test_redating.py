"""What a topic refuses for its Kafka timestamp is sent again with another one; nothing else changes."""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator, Collection
from types import SimpleNamespace

import pytest
from aiokafka import AIOKafkaProducer, TopicPartition
from aiokafka.errors import InvalidTimestampError, MessageSizeTooLargeError, NoError
from aiokafka.producer.message_accumulator import BatchBuilder, MessageBatch
from aiokafka.record.default_records import DefaultRecordBatch
from hypothesis import given
from hypothesis import strategies as st

from streams.kafka.patches.redating import NO_TIMESTAMP, Redating, RedatingRequest, redated

TP = TopicPartition("out", 3)
NOW_MS = 1_700_000_000_000
ROWS = [
    (5, b"a", b"1" * 500, [("eddy-schema", b"x"), ("null", None)]),
    (-5, None, b"2", []),
    ((1 << 63) - 1, b"c", None, []),
]

Told = list[tuple[str, int]]


def built(compression: int, *, transactional: bool = True) -> BatchBuilder:
    batch = BatchBuilder(1 << 20, compression, is_transactional=transactional)
    for timestamp, key, value, headers in ROWS:
        assert batch.append(timestamp=timestamp, key=key, value=value, headers=headers) is not None
    batch._set_producer_state(77, 3, 9)
    return batch


def rows(batch: bytes) -> list[tuple[int, bytes | None, bytes | None, list[tuple[str, bytes | None]]]]:
    read = DefaultRecordBatch(batch)
    assert read.validate_crc()
    return [(each.timestamp, each.key, each.value, list(each.headers)) for each in read]


@pytest.mark.parametrize("compression", [0, 1, 4], ids=["none", "gzip", "zstd"])
@pytest.mark.parametrize("transactional", [True, False])
@given(chosen=st.sets(st.integers(0, 2)), timestamp=st.integers(0, (1 << 63) - 1))
def test_only_the_timestamps_of_the_chosen_records_change(
    compression: int, transactional: bool, chosen: set[int], timestamp: int
) -> None:
    before = bytes(built(compression, transactional=transactional)._build())
    after = redated(before, timestamp, chosen)
    hit = chosen or {0, 1, 2}
    assert rows(after) == [
        (timestamp if number in hit else row[0], *row[1:]) for number, row in enumerate(ROWS)
    ]
    for name in ("producer_id", "producer_epoch", "base_sequence", "is_transactional", "next_offset"):
        assert getattr(DefaultRecordBatch(after), name) == getattr(DefaultRecordBatch(before), name), name


@pytest.fixture
async def producer() -> AsyncIterator[AIOKafkaProducer]:
    made = AIOKafkaProducer()
    yield made
    await made.client.close()
    made._closed = True


def batch() -> MessageBatch:
    return MessageBatch(TP, built(0), 10.0, 0)


def answered(code: int, refused: Collection[int] = (), version: int = 8) -> SimpleNamespace:
    named = [(number, None) for number in refused]
    rest = [7, -1, 0, named, "said"] if version >= 8 else [7, -1]
    return SimpleNamespace(API_VERSION=version, topics=[(TP.topic, [(TP.partition, code, *rest)])])


async def test_the_named_records_get_the_time_and_then_none_and_then_the_batch_fails(
    producer: AIOKafkaProducer, caplog: pytest.LogCaptureFixture
) -> None:
    told: Told = []
    redating = Redating(producer, lambda: NOW_MS, lambda *each: told.append(each))
    sent = batch()
    found = []
    with caplog.at_level(logging.WARNING, logger="streams"):
        for _ in range(2):
            request = RedatingRequest(producer._sender, {TP: sent}, redating)
            request.handle_response(answered(InvalidTimestampError.errno, {1, 2}))
            assert not sent.future.done()
            assert request._redated == [sent]
            found.append([timestamp for timestamp, *_ in rows(bytes(sent.get_data_buffer()))])
    assert found == [[5, NOW_MS, NOW_MS], [5, NO_TIMESTAMP, NO_TIMESTAMP]]
    assert told == [("out", 2)]
    assert [message.split(":")[0] for message in caplog.messages] == [
        "out refuses the Kafka timestamp of some records"
    ]
    request = RedatingRequest(producer._sender, {TP: sent}, redating)
    request.handle_response(answered(InvalidTimestampError.errno, {0}))
    assert isinstance(sent.future.exception(), InvalidTimestampError)


async def test_brokers_that_do_not_name_the_records_have_them_all_redated(producer: AIOKafkaProducer) -> None:
    told: Told = []
    sent = batch()
    redating = Redating(producer, lambda: NOW_MS, lambda *each: told.append(each))
    request = RedatingRequest(producer._sender, {TP: sent}, redating)
    request.handle_response(answered(InvalidTimestampError.errno, version=4))
    assert [timestamp for timestamp, *_ in rows(bytes(sent.get_data_buffer()))] == [NOW_MS] * 3
    assert told == [("out", 3)]


async def test_any_other_answer_is_aiokafkas(producer: AIOKafkaProducer) -> None:
    taken, refused = batch(), batch()
    redating = Redating(producer)
    RedatingRequest(producer._sender, {TP: taken}, redating).handle_response(answered(NoError.errno))
    assert taken.future.result().offset == 7
    RedatingRequest(producer._sender, {TP: refused}, redating).handle_response(
        answered(MessageSizeTooLargeError.errno)
    )
    assert isinstance(refused.future.exception(), MessageSizeTooLargeError)

"""What the consumer commits is the offset after the last run of a partition that was acknowledged."""

import asyncio
import gc
from collections.abc import AsyncIterator
from pathlib import Path
from types import SimpleNamespace
from typing import cast

import pytest
from aiokafka import AIOKafkaConsumer
from aiokafka.errors import (
    CorruptRecordException,
    KafkaError,
    KafkaTimeoutError,
    TopicAuthorizationFailedError,
)
from faust.transport.drivers.aiokafka import AIOKafkaConsumerThread, ensure_aiokafka_TP
from faust.types import TP
from faust.types.tuples import Message

from streams.core.domain.run import Run
from streams.core.errors import InfrastructureError
from streams.kafka.client import Stored
from streams.kafka.clock import boot_time
from streams.observe.settings import WorkerSettings
from streams.worker.app import RunApp
from streams.worker.faust.consumer_thread import RunConsumerThread
from streams.worker.faust.transport import RunConsumer, RunSchema
from streams.worker.wiring import build

TOPIC = "decision-logs"


@pytest.fixture
async def app(tmp_path: Path) -> RunApp:
    return build(WorkerSettings(_env_file=None, data_dir=tmp_path))


@pytest.fixture
async def consumer(app: RunApp) -> AsyncIterator[RunConsumer]:
    consumer = cast("RunConsumer", app.consumer)
    yield consumer
    assert set(consumer._unacked_messages) == set()
    # Made with the consumer, closed by Faust only once its thread has run.
    consumer._thread.thread_loop.close()


def delivered(consumer: RunConsumer, partition: int, *offsets: int) -> Message:
    """Return a run as a stream of Faust has it, noted as on its way."""
    messages = [Stored(partition, offset, 1500, b"k", b"v", ()) for offset in offsets]
    message = consumer._run_message(Run(TOPIC, partition, messages))
    consumer.track_message(message)
    return message


def committable(consumer: RunConsumer) -> dict[int, int | None]:
    return {tp.partition: consumer._new_offset(tp) for tp in consumer._filter_tps_with_pending_acks()}


async def test_a_run_is_one_message_at_its_last_offset(consumer: RunConsumer) -> None:
    message = delivered(consumer, 2, 5, 6, 9)
    assert (message.tp, message.offset, message.timestamp) == (TP(TOPIC, 2), 9, 1.5)
    run = RunSchema().loads_value(consumer.app, message)
    assert (run.first_offset, run.last_offset) == (5, 9)
    consumer.abandon(message)


async def test_acknowledging_moves_the_partition_behind_the_run(consumer: RunConsumer) -> None:
    assert committable(consumer) == {}
    first, second, other = (
        delivered(consumer, 0, 5, 6),
        delivered(consumer, 0, 7, 11),
        delivered(consumer, 1, 3),
    )
    assert consumer.ack(first)
    assert committable(consumer) == {0: 7}
    assert consumer.ack(second)
    assert consumer.ack(other)
    assert committable(consumer) == {0: 12, 1: 4}


async def test_a_run_is_acknowledged_once(consumer: RunConsumer) -> None:
    first, second = delivered(consumer, 0, 5), delivered(consumer, 0, 6)
    assert consumer.ack(first)
    assert consumer.ack(second)
    assert not consumer.ack(first)
    assert committable(consumer) == {0: 7}


async def test_an_abandoned_run_moves_nothing_and_is_not_waited_for(consumer: RunConsumer) -> None:
    consumer.abandon(delivered(consumer, 0, 5))
    assert committable(consumer) == {}
    assert set(consumer._unacked_messages) == set()


@pytest.mark.parametrize("wanted", [[TP(TOPIC, 1)], ["another", TP(TOPIC, 1)]])
async def test_a_commit_of_some_partitions_is_of_those_alone(
    consumer: RunConsumer, wanted: list[TP | str]
) -> None:
    for partition in (0, 1):
        consumer.ack(delivered(consumer, partition, 5))
    assert list(consumer._filter_tps_with_pending_acks(wanted)) == [TP(TOPIC, 1)]
    assert len(list(consumer._filter_tps_with_pending_acks([TOPIC]))) == 2


async def test_stopping_the_flow_drops_what_the_lanes_have_not_begun(
    app: RunApp, consumer: RunConsumer
) -> None:
    dropped = []
    for table, lanes in app.lanes.items():
        lanes.abandon = lambda table=table: dropped.append(table)  # type: ignore[misc]
    consumer.resume_flow()
    consumer.stop_flow()
    assert dropped == ["sessions", "aggregates"]
    assert not consumer.flow_active


async def test_lag_is_that_of_both_topics_that_feed_a_table_and_of_no_changelog(
    app: RunApp, consumer: RunConsumer, monkeypatch: pytest.MonkeyPatch
) -> None:
    topics = [TOPIC, "eddy-aggregates-repartition", "eddy-sessions-changelog", "eddy-aggregates-changelog"]
    monkeypatch.setattr(consumer, "assignment", lambda: {TP(topic, 3) for topic in topics})
    monkeypatch.setattr(consumer, "lag", lambda tp: len(tp.topic))
    app.tables.actives_ready = True
    assert app.lags() == {(topic, 3): len(topic) for topic in topics[:2]}


async def test_offsets_without_a_record_are_no_lag_once_they_were_read(
    consumer: RunConsumer, monkeypatch: pytest.MonkeyPatch
) -> None:
    tp = TP(TOPIC, 0)
    # Two records, and behind them the marker of their transaction.
    monkeypatch.setattr(consumer, "highwater", lambda _: 7 + 1)
    message = delivered(consumer, 0, 5, 6)
    consumer._take_note({tp: message.value.messages}, {tp: 7})
    assert consumer.lag(tp) == 3
    assert consumer.ack(message)
    assert consumer.lag(tp) == 1
    consumer._take_note({}, {tp: 8})
    assert consumer.lag(tp) == 0


async def test_a_partition_that_never_had_a_record_is_processed_as_far_as_it_was_read(
    consumer: RunConsumer, monkeypatch: pytest.MonkeyPatch
) -> None:
    tp = TP(TOPIC, 0)
    monkeypatch.setattr(consumer, "highwater", lambda _: 4)
    assert (consumer.processed(tp), consumer.lag(tp)) == (None, None)
    consumer._take_note({}, {tp: 4})  # what an aborted transaction wrote, and its marker
    assert (consumer.processed(tp), consumer.lag(tp)) == (4, 0)


async def test_of_a_first_record_that_is_on_its_way_nothing_is_said(consumer: RunConsumer) -> None:
    tp = TP(TOPIC, 0)
    message = delivered(consumer, 0, 5)
    consumer._first_delivered.clear()  # it was fetched, and is delivered in a moment
    consumer._take_note({tp: message.value.messages}, {tp: 6})
    assert consumer.processed(tp) is None
    consumer.abandon(message)


async def test_what_was_read_and_is_not_processed_is_lag(
    consumer: RunConsumer, monkeypatch: pytest.MonkeyPatch
) -> None:
    tp = TP(TOPIC, 0)
    monkeypatch.setattr(consumer, "highwater", lambda _: 10)
    first, second = delivered(consumer, 0, 5, 6), delivered(consumer, 0, 8)
    consumer._take_note({tp: [*first.value.messages, *second.value.messages]}, {tp: 10})
    assert consumer.ack(first)
    assert consumer.lag(tp) == 3
    assert consumer.ack(second)
    assert consumer.lag(tp) == 0


async def test_a_partition_is_left_out_while_all_that_was_fetched_of_it_is_processed(
    consumer: RunConsumer,
) -> None:
    tp = TP(TOPIC, 0)
    assert consumer.is_left_out(tp)
    first, second = delivered(consumer, 0, 5, 6), delivered(consumer, 0, 8)
    consumer._take_note({tp: [*first.value.messages, *second.value.messages]}, {tp: 10})
    assert not consumer.is_left_out(tp)
    assert consumer.ack(first)
    assert not consumer.is_left_out(tp)
    assert consumer.ack(second)
    assert consumer.is_left_out(tp)


async def test_the_end_of_a_partition_is_current_for_a_while_after_its_leader_was_asked(
    consumer: RunConsumer,
) -> None:
    tp = TP(TOPIC, 0)
    asked_at = cast("RunConsumerThread", consumer._thread)._asked_at
    assert not consumer.is_current(tp)
    asked_at[ensure_aiokafka_TP(tp)] = boot_time()
    assert consumer.is_current(tp)
    asked_at[ensure_aiokafka_TP(tp)] = boot_time() - 60
    assert not consumer.is_current(tp)


async def test_what_is_put_back_after_a_rebalance_does_not_count_as_read(
    consumer: RunConsumer, monkeypatch: pytest.MonkeyPatch
) -> None:
    tp = TP(TOPIC, 0)
    sought: dict[TP, int] = {}

    async def fetch(*_: object) -> object:
        return {tp: [Stored(0, 5, 1500, b"k", b"v", ())]}

    def at(position: int) -> SimpleNamespace:
        assignment = SimpleNamespace(
            tps={tp},
            state_value=lambda _: SimpleNamespace(has_valid_position=True, position=position),
            active=True,
        )
        return SimpleNamespace(subscription=SimpleNamespace(assignment=assignment))

    monkeypatch.setattr(AIOKafkaConsumerThread, "_fetch_records", fetch)
    thread = cast("RunConsumerThread", consumer._thread)
    aiokafka = SimpleNamespace(_subscription=at(6), assignment=lambda: {tp}, seek=sought.__setitem__)
    consumer.stop_flow()
    assert await thread._fetch_records(cast("AIOKafkaConsumer", aiokafka), {tp}) == {}
    assert (sought, thread.read_to) == ({tp: 5}, {})
    consumer.resume_flow()
    assert await thread._fetch_records(cast("AIOKafkaConsumer", aiokafka), {tp})
    assert thread.read_to == {tp: 6}


@pytest.mark.parametrize(
    "error", [TopicAuthorizationFailedError(TOPIC), CorruptRecordException(), KafkaTimeoutError()]
)
async def test_records_that_cannot_be_read_are_a_failure_that_says_what_to_do(
    consumer: RunConsumer, monkeypatch: pytest.MonkeyPatch, error: KafkaError
) -> None:
    async def fetch(*_: object) -> object:
        raise error

    monkeypatch.setattr(AIOKafkaConsumerThread, "_fetch_records", fetch)
    thread = cast("RunConsumerThread", consumer._thread)
    with pytest.raises(InfrastructureError, match=r"Check the brokers, and that this worker may Read"):
        await thread._fetch_records(cast("AIOKafkaConsumer", SimpleNamespace()), {TP(TOPIC, 0)})


async def test_a_delivery_that_a_rebalance_interrupts_is_no_error_in_the_log(
    consumer: RunConsumer, monkeypatch: pytest.MonkeyPatch
) -> None:
    complaints: list[str] = []
    asyncio.get_running_loop().set_exception_handler(lambda _, context: complaints.append(context["message"]))
    fetched = iter([{TP(TOPIC, 0): [Stored(0, 5, 1500, b"k", b"v", ())]}, {}])
    fetcher = SimpleNamespace(should_stop=False)

    async def wait_next_records(_timeout: float) -> object:
        found = next(fetched)
        fetcher.should_stop = not found
        return found, None

    async def interrupted(_message: Message) -> None:
        consumer.stop_flow()
        await asyncio.Event().wait()

    monkeypatch.setattr(consumer, "_wait_next_records", wait_next_records)
    monkeypatch.setattr(consumer, "callback", interrupted)
    consumer.resume_flow()
    await consumer._drain_messages(fetcher)
    await asyncio.sleep(0)  # the delivery is cancelled, and takes note of it
    await asyncio.sleep(0)
    gc.collect()
    assert complaints == []

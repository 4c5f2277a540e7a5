"""What the consumer commits is the offset after the last run of a partition that was acknowledged."""

from collections.abc import AsyncIterator
from pathlib import Path
from typing import cast

import pytest
from faust.types import TP
from faust.types.tuples import Message

from streams.app import build
from streams.domain.run import Run
from streams.engine.app import RunApp
from streams.engine.client import Stored
from streams.engine.transport import RunConsumer, RunSchema
from streams.settings import WorkerSettings

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

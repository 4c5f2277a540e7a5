"""What a worker knows of its partitions, asked while records keep coming."""

from types import SimpleNamespace
from typing import Any

import pytest

from streams.kafka.clock import ClusterClock
from streams.worker.lifetime.housekeeper import OwnedPartitions


class Consumer:
    """A consumer that knows one partition."""

    def __init__(self) -> None:
        self.last: int | None = None
        self.done = 0
        self.heard: float | None = None

    def end(self, _tp: Any) -> int | None:
        return self.last

    def lag(self, _tp: Any) -> int | None:
        return None if self.last is None else self.last - self.done

    def heard_at(self, _tp: Any) -> float | None:
        return self.heard


@pytest.fixture
def consumer() -> Consumer:
    return Consumer()


@pytest.fixture
def worker(consumer: Consumer) -> OwnedPartitions:
    lanes: Any = None
    clock = ClusterClock(elapsed_s=lambda: 0.0)
    clock.heard(0)
    app = SimpleNamespace(run_consumer=consumer, consumer_generation_id=1, clock=clock)
    return OwnedPartitions(app, "t", lanes)


def read_up_to(worker: OwnedPartitions, consumer: Consumer, end: int, done: int, heard: int) -> int:
    consumer.last, consumer.done, consumer.heard = end, done, heard / 1000
    return worker.read_up_to(0)


def test_nothing_is_known_to_be_read_before_a_broker_has_said_where_the_partition_ends(
    worker: OwnedPartitions, consumer: Consumer
) -> None:
    assert worker.read_up_to(0) == 0


def test_without_lag_all_is_read_that_the_broker_knew_of(worker: OwnedPartitions, consumer: Consumer) -> None:
    assert read_up_to(worker, consumer, end=0, done=0, heard=100) == 100
    assert read_up_to(worker, consumer, end=0, done=0, heard=200) == 200


def test_a_backlog_is_not_read_before_its_last_record_is_processed(
    worker: OwnedPartitions, consumer: Consumer
) -> None:
    assert read_up_to(worker, consumer, end=1_000, done=0, heard=100) == 0
    assert read_up_to(worker, consumer, end=1_500, done=999, heard=200) == 0
    assert read_up_to(worker, consumer, end=2_000, done=1_000, heard=300) == 100


def test_a_partition_in_which_records_are_always_on_their_way_is_read_up_to_a_little_before(
    worker: OwnedPartitions, consumer: Consumer
) -> None:
    found = [
        read_up_to(worker, consumer, end=10 * turn + 10, done=10 * turn, heard=100 * turn)
        for turn in range(1, 6)
    ]
    assert found == [0, 100, 200, 300, 400]


def test_another_assignment_begins_anew(worker: OwnedPartitions, consumer: Consumer) -> None:
    assert read_up_to(worker, consumer, end=5, done=5, heard=100) == 100
    worker._app.consumer_generation_id = 2
    assert read_up_to(worker, consumer, end=9, done=5, heard=200) == 0


def test_a_record_that_comes_while_the_worker_asks_is_not_taken_for_read(
    worker: OwnedPartitions, consumer: Consumer, monkeypatch: pytest.MonkeyPatch
) -> None:
    told = read_up_to(worker, consumer, end=5, done=5, heard=100)

    def asked(answer: Any) -> Any:
        def ask(_self: Consumer, tp: Any) -> Any:
            found = answer(consumer, tp)
            consumer.last, consumer.heard = 6, 0.2  # the consumer's thread has its next fetch
            return found

        return ask

    for name in ("end", "lag", "heard_at"):
        with monkeypatch.context() as patch:
            patch.setattr(Consumer, name, asked(getattr(Consumer, name)))
            consumer.last, consumer.heard = 5, 0.1
            assert worker.read_up_to(0) == told, name

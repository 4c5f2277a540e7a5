"""What an epoch comes to is one transaction, and in the database only when that is committed."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from aiokafka.errors import (
    IllegalGenerationError,
    InvalidProducerEpoch,
    KafkaError,
    ProducerFenced,
    RebalanceInProgressError,
    RequestTimedOutError,
    UnknownMemberIdError,
)

from streams.core.domain.level import NodeState
from streams.core.domain.record import Outgoing
from streams.core.domain.session import Session
from streams.core.errors import InfrastructureError, ProducerFencedError, StateError
from streams.kafka.clock import ClusterClock
from streams.observe.settings import WorkerSettings
from streams.worker.crash_point import CrashPoint
from streams.worker.delivery.exactly_once import ExactlyOnce, TransactionalProducer, TransactionBatch
from streams.worker.delivery.producer import WrittenBatch
from streams.worker.effects import BatchOutput, Consumed
from streams.worker.state.changelog import SETTINGS_KEY
from streams.worker.state.table import SessionTable
from streams.worker.wiring import build

CONSUMED = Consumed("decision-logs", 2, 13)


class Producer:
    """Takes every transaction, or fails with an error."""

    def __init__(self, error: Exception | None = None) -> None:
        self.transactions: list[tuple[list[tuple[str, int, list[Any]]], Consumed | None]] = []
        self.appended_ms: int | None = None
        self._error = error

    def producer(self, table: str, partition: int) -> Producer:
        assert (table, partition) == ("sessions", 2)
        return self

    async def transact(
        self,
        batches: Sequence[TransactionBatch],
        consumed: Consumed | None,
        on_crash_point: Callable[[CrashPoint], None],
    ) -> list[list[WrittenBatch]]:
        if self._error is not None:
            raise self._error
        self.transactions.append(
            ([(topic, partition, list(rows)) for topic, partition, rows in batches], consumed)
        )
        on_crash_point(CrashPoint.COMMITTED)
        return [
            [WrittenBatch(len(list(rows)), 40 + number, self.appended_ms)]
            for number, (_, _, rows) in enumerate(batches)
        ]


async def count(topic: str) -> int:
    return {"out": 2}[topic]


@pytest.fixture
def table(tmp_path: Path) -> Iterator[SessionTable]:
    settings = WorkerSettings(_env_file=None, data_dir=tmp_path, processing_guarantee="exactly_once")
    table = build(settings).sessions
    table.transactional = True
    yield table
    table.stores.close_all()


def outcome(table: SessionTable) -> BatchOutput[Session]:
    """Return what changes two sessions, adopts settings and puts one record out."""
    view = table.view(2, ())
    for name, offset in (("a", 9), ("b", 7)):
        view.put(Session(2, offset, NodeState.ACTIVE), name)
    outputs = {"out": [Outgoing(b"a", b"{}", 5)]}
    return BatchOutput(2, view, outputs, [(SETTINGS_KEY, b"[]")], CONSUMED)


def exactly_once(table: SessionTable, producer: Any, said: list[Any]) -> ExactlyOnce[Session]:
    return ExactlyOnce(
        table=table,
        transactions=producer,
        partition_count=count,
        clock=ClusterClock(),
        committed=said.append,
        on_crash_point=said.append,
    )


async def test_what_the_changelog_does_not_take_begins_no_transaction(table: SessionTable) -> None:
    producer = Producer()
    view = table.view(2, ())
    view.put(Session(2, 9, NodeState.ACTIVE, event_id="x" * 5_000), "a")
    table.largest = 5_000
    with pytest.raises(StateError, match=r"under the key b'sa' has \d+ bytes.*takes 5000"):
        await exactly_once(table, producer, []).carry_out(BatchOutput(2, view, consumed=CONSUMED))
    assert producer.transactions == []


async def test_all_of_it_is_one_transaction_and_stored_behind_it(table: SessionTable) -> None:
    said: list[Any] = []
    producer = Producer()
    table.stores[2].write((), 38, 1)
    await exactly_once(table, producer, said).carry_out(outcome(table))
    [(batches, consumed)] = producer.transactions
    assert [(topic, partition, [key for key, *_ in rows]) for topic, partition, rows in batches] == [
        ("out", 0, [b"a"]),
        (table.changelog_topic_name, 2, [SETTINGS_KEY, b"sb", b"sa"]),
    ]
    assert consumed == CONSUMED
    assert said == ["committed", CONSUMED, "stored"]
    assert table.stores[2].offset() == 41
    assert table.stores[2].get(SETTINGS_KEY) == b"[]"


async def test_state_of_several_batches_has_the_brokers_time_of_each(
    table: SessionTable, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    producer = Producer()

    async def in_two_batches(*_: Any) -> list[list[WrittenBatch]]:
        return [[WrittenBatch(1, 38, 5)], [WrittenBatch(1, 39, 1_000), WrittenBatch(2, 41, 2_000)]]

    monkeypatch.setattr(producer, "transact", in_two_batches)
    table.stores[2].write((), 38, 1)
    table._marked.discard(2)
    await exactly_once(table, producer, []).carry_out(outcome(table))
    assert [(key, at_ms) for key, at_ms, _ in table.stores[2].scan(b"", 9)] == [
        (SETTINGS_KEY, 1_000),
        (b"sa", 2_000),
        (b"sb", 2_000),
    ]
    assert table.stores[2].offset() == 41
    # The next transaction stands behind the marker of this one.
    assert 2 in table._marked
    assert "Another worker has written" not in caplog.text


async def test_what_is_removed_is_told_where_it_was(table: SessionTable) -> None:
    producer = Producer()
    effects = exactly_once(table, producer, [])
    await effects.carry_out(outcome(table))
    view = table.view(2, ["a"])
    gone = view.get("a")
    assert gone is not None
    view.remove(gone, "a")
    await effects.carry_out(BatchOutput(2, view))
    ([(_, _, [row])], consumed) = producer.transactions[-1]
    assert consumed is None
    assert (row[0], row[1], row[3]) == (b"sa", None, table.form.tombstone_headers(gone))
    assert row[3]
    assert table.view(2, ["a"]).get("a") is None


@pytest.mark.parametrize("error", [ProducerFencedError("gone"), InfrastructureError("failed")])
async def test_without_a_commit_nothing_is_stored_nor_held_to_be_committed(
    table: SessionTable, error: Exception
) -> None:
    said: list[Any] = []
    with pytest.raises(type(error)):
        await exactly_once(table, Producer(error), said).carry_out(outcome(table))
    assert said == []
    assert table.stores[2].offset() is None
    assert table.view(2, ["a"]).get("a") is None


async def test_an_epoch_that_comes_to_nothing_begins_no_transaction(table: SessionTable) -> None:
    producer = Producer()
    await exactly_once(table, producer, []).carry_out(BatchOutput(2, table.view(2, ())))
    assert producer.transactions == []


class Client:
    """An aiokafka producer whose commit fails."""

    def __init__(self, error: Exception) -> None:
        self._error = error
        self.aborted = False
        self._message_accumulator = self
        self._batches: dict[Any, Any] = {}
        self._txn_manager = self
        self._sender = self
        self.client = self

    async def coordinator_lookup(self) -> None:
        """Is wrapped, and not called."""

    def wait_for_transaction_end(self) -> None:
        return None

    async def _do_add_partitions_to_txn(self, _partitions: Any) -> None:
        """Is wrapped, and not called."""

    def begin_transaction(self) -> None:
        pass

    async def commit_transaction(self) -> None:
        raise self._error

    async def abort_transaction(self) -> None:
        self.aborted = True


def unknown(cause: Exception) -> KafkaError:
    """Return the error that aiokafka makes of one it does not know."""
    error = KafkaError("Unexpected error during batch delivery")
    error.__cause__ = cause
    return error


@pytest.mark.parametrize(
    "error",
    [
        ProducerFenced(),
        InvalidProducerEpoch(),
        unknown(IllegalGenerationError()),
        unknown(RebalanceInProgressError()),
        unknown(UnknownMemberIdError()),
    ],
)
async def test_who_is_not_the_owner_any_more_is_fenced_and_stays_so(error: Exception) -> None:
    client: Any = Client(error)
    producer = TransactionalProducer(client, "eddy-sessions-2", group="eddy", within_s=9)
    for _ in range(2):
        with pytest.raises(ProducerFencedError):
            await producer.transact((), None, lambda _: None)
    assert not client.aborted


async def test_a_transaction_that_takes_too_long_says_for_how_long_and_what_may_be_the_cause() -> None:
    client: Any = Client(TimeoutError())
    producer = TransactionalProducer(client, "eddy-sessions-2", group="eddy", within_s=9)
    with pytest.raises(InfrastructureError, match=r"within 9 s .*replicas.*suspended.*restart") as told:
        await producer.transact((), None, lambda _: None)
    assert "TimeoutError" not in str(told.value)


@pytest.mark.parametrize("error", [RequestTimedOutError(), unknown(KafkaError("what?")), TimeoutError()])
async def test_any_other_error_ends_the_transaction_and_the_worker(error: Exception) -> None:
    client: Any = Client(error)
    producer = TransactionalProducer(client, "eddy-sessions-2", group="eddy", within_s=9)
    with pytest.raises(InfrastructureError, match="eddy-sessions-2"):
        await producer.transact((), None, lambda _: None)
    assert client.aborted

"""What waits is written between two runs of its partition, and before it is given away."""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator, Collection, Iterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from streams.core.domain.run import Run
from streams.core.domain.session import Session
from streams.core.errors import InfrastructureError, ProducerFencedError
from streams.kafka.client import Stored
from streams.observe.settings import WorkerSettings
from streams.worker.checkpoints import Checkpoints
from streams.worker.effects import BatchOutput, changes
from streams.worker.state.changelog import SETTINGS_KEY
from streams.worker.state.checkpoint import MARK_KEY, CheckpointMark
from streams.worker.state.table import SessionTable, StateView
from streams.worker.wiring import build

PARTITION = 2
INTERVAL_S = 10.0


class Worker:
    """Has one partition."""

    def __init__(self) -> None:
        self.partitions: Collection[int] = [PARTITION]

    def in_charge(self) -> tuple[int, Collection[int]]:
        return 1, self.partitions

    def read_up_to(self, partition: int) -> int:
        raise NotImplementedError

    def passed(self, partition: int) -> int:
        raise NotImplementedError

    @asynccontextmanager
    async def alone(self, partition: int) -> AsyncIterator[None]:
        assert partition == PARTITION
        yield


class Place:
    """A partition whose sessions wait, and where they are written to."""

    def __init__(self, table: SessionTable) -> None:
        self.table = table
        self.worker = Worker()
        self.now = 0.0
        self.fails: Exception | None = None
        self.attempts = 0
        self.written: list[dict[bytes, bytes | None]] = []
        self.offset = -1
        self.checkpoints = Checkpoints(table, self, self.worker, lambda: self.now)

    async def carry_out(self, outcome: BatchOutput[Session]) -> None:
        self.attempts += 1
        if self.fails is not None:
            raise self.fails
        items = [*outcome.settings, *changes(self.table, outcome.view), *outcome.marks]
        self.offset += len(items)
        self.written.append(dict(items))
        self.table.write(PARTITION, outcome.view, items, self.offset, 0)

    def changed(self, first: int, *names: str) -> None:
        """Let a run change sessions, one with each record."""
        messages = [
            Stored(PARTITION, first + at, -1, name.encode(), b"", ()) for at, name in enumerate(names)
        ]
        run = Run("decision-logs", PARTITION, messages)
        view = self.table.view(PARTITION, names)
        for at, name in enumerate(names):
            view.put(Session(PARTITION, first + at), name)
        mark = self.table.unsaved(PARTITION).mark_with(run, view.changed)
        self.table.take(run, view, mark, self.now)


@pytest.fixture
def place(tmp_path: Path) -> Iterator[Place]:
    table = build(WorkerSettings(_env_file=None, data_dir=tmp_path, checkpoint_s=INTERVAL_S)).sessions
    yield Place(table)
    table.stores.close_all()


async def test_sessions_are_written_after_the_interval_with_the_mark_behind_them(place: Place) -> None:
    place.changed(0, "b", "a")
    await place.checkpoints.tick()
    assert place.written == []
    assert place.table.find("a") == (PARTITION, Session(PARTITION, 1))
    place.now = INTERVAL_S
    await place.checkpoints.tick()
    place.now = 2 * INTERVAL_S
    await place.checkpoints.tick()
    (items,) = place.written
    assert list(items) == [b"sb", b"sa", MARK_KEY]
    assert CheckpointMark.decode(items[MARK_KEY]) == CheckpointMark(2)
    assert place.table.stores[PARTITION].get(b"sa") is not None
    assert place.table.begins_at(PARTITION) is None


async def test_what_is_in_memory_stays_the_newest_when_an_older_state_is_written(place: Place) -> None:
    place.changed(0, "a")
    place.now = INTERVAL_S
    await place.checkpoints.tick()
    place.changed(1, "a")
    place.now = 2 * INTERVAL_S
    await place.checkpoints.tick()
    assert place.table.view(PARTITION, ["a"]).get("a") == Session(PARTITION, 1)
    assert place.table.begins_at(PARTITION) == 1


async def test_a_session_that_waits_is_found_though_it_is_not_kept_decoded(place: Place) -> None:
    place.changed(0, "a")
    place.table._decoded.clear()
    assert place.table.view(PARTITION, ["a"]).get("a") == Session(PARTITION, 0)


async def test_all_is_written_before_a_partition_is_given_away_and_its_ledger_says_so(place: Place) -> None:
    ledger = place.table.ledger(PARTITION)
    run = Run("decision-logs", PARTITION, [Stored(PARTITION, 0, -1, b"a", b"", ())])
    behind = ledger.prepare(run, ledger.newest.settings, unseen=0, committed=None, behind=True)
    place.table.adopt(PARTITION, behind)
    place.changed(0, *(f"s{number}" for number in range(2_500)))
    await place.checkpoints.write_all([PARTITION])
    assert [len(items) for items in place.written] == [1_001, 1_001, 501, 1]
    assert place.written[-1].keys() == {SETTINGS_KEY}
    assert not place.table.ledger(PARTITION).behind
    assert place.table.unsaved(PARTITION).mark == CheckpointMark(2_500)


async def test_what_cannot_be_written_at_the_end_waits_for_the_next_owner(
    place: Place, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    place.changed(0, "a")
    place.fails = InfrastructureError("no broker")
    await place.checkpoints.write_all([PARTITION])
    assert place.table.begins_at(PARTITION) == 0
    assert "their records are read again: no broker" in caplog.text


async def test_a_failure_stops_the_worker_and_a_lost_partition_is_left_alone(place: Place) -> None:
    place.changed(0, "a")
    place.now = INTERVAL_S
    await place.checkpoints.tick()
    place.now = 2 * INTERVAL_S
    place.fails = InfrastructureError("no broker")
    with pytest.raises(InfrastructureError):
        await place.checkpoints.tick()
    place.fails = ProducerFencedError("another one")
    with pytest.raises(ProducerFencedError):
        await place.checkpoints.tick()
    attempts = place.attempts
    await place.checkpoints.tick()
    assert place.attempts == attempts


async def test_nothing_is_written_of_partitions_that_are_taken_away(place: Place) -> None:
    place.changed(0, "a")
    place.now = 3 * INTERVAL_S
    place.worker.partitions = []
    await place.checkpoints.tick()
    assert place.written == []


def test_a_view_of_what_is_written_has_it_as_changed() -> None:
    session = Session(0, 1)
    assert StateView[Session]({}, {"a": session}).get("a") is session

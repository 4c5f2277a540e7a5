"""Outputs go to the partition of their source or of their key, and state is written behind them."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import pytest

from streams.core.domain.aggregates.agent_health import AgentHealth
from streams.core.domain.aggregates.contribution import Contribution
from streams.core.domain.level import NodeState
from streams.core.domain.record import Outgoing, Row
from streams.core.domain.session import Session
from streams.core.errors import StateError
from streams.kafka.clock import ClusterClock, now_ms
from streams.observe.settings import WorkerSettings
from streams.worker.crash_point import CrashPoint
from streams.worker.delivery.at_least_once import AtLeastOnce
from streams.worker.delivery.lease import WorkerLease
from streams.worker.delivery.producer import SentBatches
from streams.worker.effects import BatchOutput, Routes, key_partition
from streams.worker.state.table import StateTable
from streams.worker.wiring import build

OFFSET = 0


class Producer:
    """Takes everything, and notes it."""

    def __init__(self, said: list[Any]) -> None:
        self._said = said
        self.sent: dict[tuple[str, int], list[bytes | None]] = {}
        self.timestamps: set[int] = set()
        self.appended_ms = -1

    async def publish(self, topic: str, partition: int, records: Iterable[Row]) -> SentBatches:
        rows = list(records)
        self.sent.setdefault((topic, partition), []).extend(key for key, *_ in rows)
        self.timestamps.update(timestamp for _, _, timestamp, _ in rows)
        self._said.append(topic)

        class Metadata:
            offset = OFFSET
            timestamp = self.appended_ms

        done: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        done.set_result(Metadata())
        return SentBatches(topic, partition, (done,), (len(rows),))

    async def partition_count(self, topic: str) -> int:
        return {"out": 2, "eddy-keyed": 16}[topic]


def held() -> WorkerLease:
    """Return a lease that does not run out."""
    lease = WorkerLease(60, 60)
    lease.heard(lease.now() + 3_600)
    return lease


def at_least_once(
    table: StateTable[Any],
    producer: Any,
    on_crash_point: Callable[[CrashPoint], None],
    clock: ClusterClock | None = None,
) -> AtLeastOnce[Any]:
    return AtLeastOnce(
        table=table,
        producer=producer,
        lease=held(),
        clock=clock or ClusterClock(),
        on_crash_point=on_crash_point,
    )


@pytest.fixture
def table(tmp_path: Path) -> Iterator[StateTable[Any]]:
    table = build(WorkerSettings(_env_file=None, data_dir=tmp_path)).state_tables.aggregates
    yield table
    table.stores.close_all()


@pytest.mark.parametrize(
    ("key", "hashed"),
    [(b"21", -973932308), (b"foobar", -790332482), (b"a-little-bit-long-string", -985981536)],
)
def test_a_key_goes_where_kafkas_own_partitioner_puts_it(key: bytes, hashed: int) -> None:
    for partitions in (1, 3, 8, 100):
        assert key_partition(key, partitions) == (hashed & 0x7FFFFFFF) % partitions


async def test_a_topic_by_key_has_its_own_name_and_the_others_keep_the_partition_of_the_source() -> None:
    routes = Routes(Producer([]).partition_count, by_key={"keyed": "eddy-keyed"})
    planner, shell, again = (Outgoing(key, b"{}", 5) for key in (b"planner", b"tool/shell", b"planner"))
    records = [planner, shell, again]
    assert await routes.of(3, {"out": records, "keyed": records}) == [
        ("out", 1, records),
        ("eddy-keyed", 9, [planner, again]),
        ("eddy-keyed", 1, [shell]),
    ]


async def test_outputs_of_other_partitions_stand_where_their_records_do(
    table: StateTable[Any],
) -> None:
    routes = Routes(Producer([]).partition_count, by_key={"keyed": "eddy-keyed"})
    one, two, three = (Outgoing(key, b"{}", 5) for key in (b"a", b"b", b"planner"))
    outcome = BatchOutput(
        0, table.view(0, []), {"keyed": [three]}, elsewhere={3: {"out": [one]}, 2: {"out": [two]}}
    )
    assert await routes.of_outcome(outcome) == [
        ("eddy-keyed", 9, [three]),
        ("out", 1, [one]),
        ("out", 0, [two]),
    ]


async def test_settings_come_before_outputs_and_these_before_state(table: StateTable[Any]) -> None:
    said: list[Any] = []
    producer: Any = Producer(said)
    effects = at_least_once(table, producer, said.append)
    health = AgentHealth().plus(Contribution("planner", 0, 7, 900_000, {"sessions": {3: 1}}, {}))
    view = table.view(2, ["hplanner"])
    view.put(health, "hplanner")
    outputs = {"out": [Outgoing(b"planner", b"{}", 5)]}
    await effects.carry_out(BatchOutput(2, view, outputs, [(b"msettings", b"[]")]))
    changelog = table.changelog_topic_name
    assert said == [
        *(changelog, "settings_acked"),
        *("out", "outputs_sent", "outputs_acked"),
        *(changelog, "changelog_sent", "changelog_acked", "stored"),
    ]
    assert producer.sent == {(changelog, 2): [b"msettings", b"hplanner"], ("out", 0): [b"planner"]}
    assert table.stores[2].get(b"msettings") == b"[]"


async def test_what_changed_is_in_the_changelog_before_it_is_stored(table: StateTable[Any]) -> None:
    said: list[Any] = []
    producer: Any = Producer(said)
    effects = at_least_once(table, producer, said.append)
    health = AgentHealth().plus(Contribution("planner", 0, 7, 900_000, {"sessions": {3: 1}}, {}))
    view = table.view(2, ["hplanner"])
    await effects.carry_out(BatchOutput(2, view))
    assert said == ["outputs_sent", "outputs_acked"]

    said.clear()
    view.put(health, "hplanner")
    before = now_ms()
    await effects.carry_out(BatchOutput(2, view))
    assert said[2:] == [table.changelog_topic_name, "changelog_sent", "changelog_acked", "stored"]
    assert producer.sent == {(table.changelog_topic_name, 2): [b"hplanner"]}
    assert table.stores[2].offset() == OFFSET
    # The time of the write, whatever the time of the records that led to it.
    [(_, touched, _)] = table.stores[2].scan(b"", 9)
    assert producer.timestamps == {touched}
    assert before <= touched <= now_ms()
    table.forget()
    assert table.view(2, ["hplanner"]).get("hplanner") == health


@pytest.mark.parametrize("too_large", ["msettings", "hplanner"])
async def test_what_the_changelog_does_not_take_is_told_before_anything_is_published(
    table: StateTable[Any], too_large: str
) -> None:
    producer: Any = Producer([])
    effects = at_least_once(table, producer, lambda _: None)
    view = table.view(2, ["hplanner"])
    settings = [(b"msettings", b"[" + b" " * 5_000 + b"]")] if too_large == "msettings" else []
    if not settings:
        counts = {f"a count of {number:05}": {3: 1} for number in range(300)}
        view.put(AgentHealth().plus(Contribution("planner", 0, 7, 900_000, counts, {})), "hplanner")
    outcome = BatchOutput(2, view, {"out": [Outgoing(b"planner", b"{}", 5)]}, settings)
    table.largest = 5_000
    with pytest.raises(StateError, match=rf"under the key b'{too_large}' has \d+ bytes.*takes 5000"):
        await effects.carry_out(outcome)
    assert producer.sent == {}
    assert table.stores[2].is_empty()
    table.largest = 50_000
    await effects.carry_out(outcome)
    assert len(producer.sent) == 2


async def test_what_changed_is_written_in_the_order_of_the_source(tmp_path: Path) -> None:
    table = build(WorkerSettings(_env_file=None, data_dir=tmp_path)).sessions
    producer: Any = Producer([])
    effects = at_least_once(table, producer, lambda _: None)
    view = table.view(2, ())
    for name, offset in (("a", 9), ("b", 7), ("c", 8), ("a", 12)):
        view.put(Session(2, offset, NodeState.ACTIVE), name)
    await effects.carry_out(BatchOutput(2, view))
    assert producer.sent == {(table.changelog_topic_name, 2): [b"sb", b"sc", b"sa"]}
    table.stores.close_all()

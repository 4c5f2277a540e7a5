"""Outputs go to the partition of their source or of their key, and state is written behind them."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import pytest

from streams.app import build
from streams.domain.agent_health import AgentHealth
from streams.domain.contribution import Contribution
from streams.domain.outgoing import Outgoing, Row
from streams.domain.run import Run
from streams.engine.client import Stored
from streams.engine.effects import Effects, key_partition
from streams.engine.producer import Sent
from streams.engine.table import StateTable
from streams.settings import WorkerSettings

OFFSET = 0


class Producer:
    """Takes everything, and notes it."""

    def __init__(self, said: list[Any]) -> None:
        self._said = said
        self.sent: dict[tuple[str, int], list[bytes | None]] = {}

    async def publish(self, topic: str, partition: int, records: Iterable[Row]) -> Sent:
        self.sent.setdefault((topic, partition), []).extend(key for key, *_ in records)
        self._said.append(topic)

        class Metadata:
            offset = OFFSET

        done: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        done.set_result(Metadata())
        return Sent(topic, partition, (done,), (1,))

    async def partition_count(self, topic: str) -> int:
        return {"out": 2, "eddy-keyed": 16}[topic]


@pytest.fixture
def table(tmp_path: Path) -> Iterator[StateTable[Any]]:
    table = build(WorkerSettings(_env_file=None, data_dir=tmp_path)).aggregates
    yield table
    table.stores.close_all()


@pytest.mark.parametrize(
    ("key", "hashed"),
    [(b"21", -973932308), (b"foobar", -790332482), (b"a-little-bit-long-string", -985981536)],
)
def test_a_key_goes_where_kafkas_own_partitioner_puts_it(key: bytes, hashed: int) -> None:
    for partitions in (1, 3, 8, 100):
        assert key_partition(key, partitions) == (hashed & 0x7FFFFFFF) % partitions


async def test_a_topic_by_key_has_its_own_name_and_the_others_keep_the_partition_of_the_source(
    table: StateTable[Any],
) -> None:
    said: list[Any] = []
    producer: Any = Producer(said)
    effects = Effects(table=table, producer=producer, reach=said.append, by_key={"keyed": "eddy-keyed"})
    records = [Outgoing(key, b"{}", 5) for key in (b"planner", b"tool/shell", b"planner")]
    await effects.publish(3, {"out": records, "keyed": records})
    assert producer.sent == {
        ("out", 1): [b"planner", b"tool/shell", b"planner"],
        ("eddy-keyed", 9): [b"planner", b"planner"],
        ("eddy-keyed", 1): [b"tool/shell"],
    }
    assert said[-2:] == ["outputs_sent", "outputs_acked"]


async def test_what_changed_is_in_the_changelog_before_it_is_stored(table: StateTable[Any]) -> None:
    said: list[Any] = []
    producer: Any = Producer(said)
    effects = Effects(table=table, producer=producer, reach=said.append)
    health = AgentHealth().plus(Contribution("planner", 0, 7, 900_000, {"sessions": {3: 1}}, {}))
    run = Run("in", 2, [Stored(2, 7, 5, b"planner", b"", ())])
    view = table.view(2, ["hplanner"])
    await effects.persist(run, view)
    assert said == []

    view.put(health, "hplanner")
    await effects.persist(run, view)
    assert said == [table.changelog_topic_name, "changelog_sent", "changelog_acked", "stored"]
    assert producer.sent == {(table.changelog_topic_name, 2): [b"hplanner"]}
    assert table.stores[2].offset() == OFFSET
    table.forget()
    assert table.view(2, ["hplanner"]).get("hplanner") == health

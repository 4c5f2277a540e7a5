"""A fetch passes the stages in their order, and one that fails does not reach what follows the answer."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import SimpleNamespace
from typing import Any

import pytest
from aiokafka.structs import TopicPartition

from streams.core.errors import StateError
from streams.kafka.patches.fetching import (
    Assignment,
    FetchStage,
    hook_fetch,
    notice_out_of_range,
    records_lost,
)

REQUEST = SimpleNamespace(topics=[("a", [(0, 7, 1024), (2, 9, 1024)]), ("b", [(1, 0, 1024)])])


def hooked(seen: list[Any], answer: Callable[[], Any], *names: str) -> Any:
    """Return a consumer whose fetches and stages write down what happens."""

    async def fetch(assignment: Any, node_id: int, request: Any) -> Any:
        seen.append(("fetch", assignment, node_id, request))
        return answer()

    def stage(name: str) -> FetchStage:
        def before(assignment: Assignment, positions: Mapping[TopicPartition, int]) -> Callable[[], None]:
            seen.append((name, assignment, dict(positions)))
            return lambda: seen.append((name, "answered"))

        return before

    consumer = SimpleNamespace(_fetcher=SimpleNamespace(_proc_fetch_request=fetch))
    hook_fetch(consumer, *map(stage, names))
    return consumer


async def test_each_stage_sees_the_positions_before_the_request_and_its_turn_after_the_answer() -> None:
    seen: list[Any] = []
    consumer = hooked(seen, lambda: "wakes", "one", "two")
    assert await consumer._fetcher._proc_fetch_request("assignment", 3, REQUEST) == "wakes"
    asked = {TopicPartition("a", 0): 7, TopicPartition("a", 2): 9, TopicPartition("b", 1): 0}
    assert seen == [
        ("one", "assignment", asked),
        ("two", "assignment", asked),
        ("fetch", "assignment", 3, REQUEST),
        ("one", "answered"),
        ("two", "answered"),
    ]


async def test_a_fetch_that_fails_has_no_answer_to_look_at() -> None:
    seen: list[Any] = []

    def fails() -> None:
        raise ConnectionError

    consumer = hooked(seen, fails, "one")
    with pytest.raises(ConnectionError):
        await consumer._fetcher._proc_fetch_request("assignment", 3, REQUEST)
    assert [step[0] for step in seen] == ["one", "fetch"]


TP = TopicPartition("decision-logs", 3)
OTHER = TopicPartition("decision-logs", 4)


class Log:
    """A consumer of a partition that holds some offsets."""

    def __init__(self, begin: int, end: int) -> None:
        self._begin, self._end = begin, end

    async def beginning_offsets(self, tps: list[TopicPartition]) -> dict[TopicPartition, int]:
        return dict.fromkeys(tps, self._begin)

    async def end_offsets(self, tps: list[TopicPartition]) -> dict[TopicPartition, int]:
        return dict.fromkeys(tps, self._end)


async def lost(log: Any, position: int) -> int:
    return await records_lost(log, TP, position)


@pytest.mark.parametrize(("position", "count"), [(0, 10), (9, 1), (10, 0)])
async def test_what_stood_in_front_of_the_log_is_counted(position: int, count: int) -> None:
    assert await lost(Log(10, 20), position) == count


@pytest.mark.parametrize("position", [21, 1_000])
async def test_a_position_behind_the_log_is_refused_with_what_to_do(position: int) -> None:
    with pytest.raises(StateError) as refused:
        await lost(Log(10, 20), position)
    said = str(refused.value)
    assert f"decision-logs[3] was read up to offset {position}, but holds 10 to 20" in said
    assert "EDDY_APPLICATION_ID" in said
    assert "`eddy topics apply`" in said


class Fetching:
    """What aiokafka's fetcher does: a partition that was refused waits for another position."""

    def __init__(self, refused: set[TopicPartition], *, active: bool = True) -> None:
        self.active = active
        self._refused = refused
        self._fetcher = SimpleNamespace(_proc_fetch_request=self._fetch)

    def state_value(self, tp: TopicPartition) -> Any:
        return SimpleNamespace(awaiting_reset=tp in self._refused)

    async def _fetch(self, assignment: Any, node_id: int, request: Any) -> bool:
        del assignment, request
        return node_id == 1

    async def ask(self, *asked: tuple[TopicPartition, int]) -> bool:
        topics = [(tp.topic, [(tp.partition, offset, 1024)]) for tp, offset in asked]
        wakes: bool = await self._fetcher._proc_fetch_request(self, 1, SimpleNamespace(topics=topics))
        return wakes


async def test_a_refused_position_is_written_down_and_the_fetch_goes_on_as_before() -> None:
    fetching = Fetching({TP})
    noticed: dict[TopicPartition, int] = {}
    hook_fetch(fetching, notice_out_of_range(noticed))
    assert await fetching.ask((TP, 7), (OTHER, 9)) is True
    assert noticed == {TP: 7}


async def test_what_an_assignment_asked_for_that_is_over_counts_no_more() -> None:
    fetching = Fetching({TP}, active=False)
    noticed: dict[TopicPartition, int] = {}
    hook_fetch(fetching, notice_out_of_range(noticed))
    assert await fetching.ask((TP, 7)) is True
    assert noticed == {}

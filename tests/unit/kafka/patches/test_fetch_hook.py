"""A fetch passes the stages in their order, and one that fails does not reach what follows the answer."""

from collections.abc import Callable, Mapping
from types import SimpleNamespace
from typing import Any

import pytest
from aiokafka.structs import TopicPartition

from streams.kafka.patches.fetch_hook import Assignment, FetchStage, hook_fetch

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

"""The end of a partition is known as of the question, however long the answer waited."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
from aiokafka.structs import TopicPartition

from streams.kafka.patches.fetching import hook_fetch, note_when_asked

TP, OTHER = TopicPartition("decision-logs", 3), TopicPartition("decision-logs", 4)
REQUEST = SimpleNamespace(topics=[("decision-logs", [(3, 17, 1000), (4, 0, 1000)])])


class Fetching:
    """What aiokafka's fetcher does: takes the answer for one partition and not for the other."""

    def __init__(self, clock: list[int]) -> None:
        self.active = True
        self._clock = clock
        self._states = {TP: SimpleNamespace(timestamp=None), OTHER: SimpleNamespace(timestamp=None)}
        self._fetcher = SimpleNamespace(_proc_fetch_request=self._fetch)

    def state_value(self, tp: TopicPartition) -> Any:
        return self._states[tp]

    async def _fetch(self, _assignment: Any, _node: int, _request: Any) -> bool:
        self._clock[0] += 3_600_000  # the machine is suspended for an hour
        self._states[TP].timestamp = self._clock[0]
        return True


async def test_an_end_is_as_old_as_the_question_and_one_that_was_not_taken_has_no_time(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    clock = [1_000]
    monkeypatch.setattr("streams.kafka.patches.fetching.boot_time", lambda: clock[0])
    consumer = Fetching(clock)
    asked: dict[TopicPartition, float] = {}
    hook_fetch(consumer, note_when_asked(asked))
    assert await consumer._fetcher._proc_fetch_request(consumer, 1, REQUEST) is True
    assert asked == {TP: 1_000}
    assert await consumer._fetcher._proc_fetch_request(consumer, 1, REQUEST) is True
    assert asked == {TP: 3_601_000}


async def test_what_another_assignment_asked_for_does_not_count() -> None:
    consumer = Fetching([1_000])
    consumer.active = False
    asked: dict[TopicPartition, float] = {}
    hook_fetch(consumer, note_when_asked(asked))
    await consumer._fetcher._proc_fetch_request(consumer, 1, REQUEST)
    assert asked == {}

"""`eddy backtest` on a topic: which records it reads, and that it judges them as the files would be."""

import itertools
import json
from typing import Any

import pytest

from streams.core.domain.topic import Topic
from streams.kafka.client import connect
from streams.kafka.connection import Connection
from tests.integration.load import load
from tests.integration.stage import Stage

pytestmark = pytest.mark.integration

RECORDS = 600


@pytest.fixture
async def filled(stage: Stage) -> Stage:
    await stage.send(itertools.islice(load(stage.partitions), RECORDS))
    return stage


async def backtest(stage: Stage, *words: str) -> tuple[list[dict[str, Any]], dict[str, Any]]:
    """Return the sessions and the summary of a backtest of the input topic."""
    printed = await stage.command("backtest", "--topic", Topic.DECISION_LOGS, "--json", *words)
    *sessions, last = [json.loads(line) for line in printed.splitlines()]
    return sessions, last["summary"]


def read_in_all(summary: dict[str, Any]) -> int:
    return int(summary["records"] + summary["rejected"] + summary["unreadable"])


async def test_the_whole_topic_is_judged_without_joining_a_group(filled: Stage) -> None:
    await filled.command("config", "set", "identical_loop=6")
    await filled.command("config", "shadow", "set", "entropy_window_size=3")
    sessions, summary = await backtest(filled, "--a", "default", "--b", "live")
    # One of the records is an order to forget its session.
    assert read_in_all(summary) == RECORDS - 1
    assert summary["rejected"] > 0
    assert summary["unreadable"] > 0
    assert (summary["a"], summary["b"]) == ("the defaults", "version 1, in force")
    assert sum(session["records"] for session in sessions) == summary["records"]
    assert summary["differing_sessions"] > 0
    assert [session["partition"] for session in sessions] == sorted(
        session["partition"] for session in sessions
    )
    # The same input gives the same output, and a version is what was in force.
    again, _ = await backtest(filled, "--a", "0", "--b", "1")
    assert again == sessions
    _, tried = await backtest(filled, "--a", "live", "--b", "shadow")
    assert tried["b"] == "shadow version 1"
    assert tried["differences"]["severity"] > 0
    status, _, complained = await filled.attempt(
        "backtest", "--topic", Topic.DECISION_LOGS, "--a", "9", "--b", "live"
    )
    assert status == 2
    assert "There is no settings version 9" in complained


async def test_a_range_is_read_by_offset_and_by_time(filled: Stage) -> None:
    defaults = ("--a", "default", "--b", "default")
    ends = filled.sent
    _, summary = await backtest(filled, *defaults, "--from", "20", "--to", "50")
    assert read_in_all(summary) == sum(max(0, min(50, end) - 20) for end in ends.values())
    sessions, summary = await backtest(filled, *defaults, "--from", "2:10", "--to", "2:31")
    assert read_in_all(summary) == 21
    assert {session["partition"] for session in sessions} == {2}
    _, summary = await backtest(filled, *defaults, "--from", "100000")
    assert read_in_all(summary) == 0

    stored = await filled.read(Topic.DECISION_LOGS)
    async with connect(Connection(filled.broker.bootstrap)) as brokers:
        [third] = [each for each in stored if (each.partition, each.offset) == (3, 30)]
        at = await brokers.offsets_at(Topic.DECISION_LOGS, third.timestamp)
        assert at[3] <= 30
        read = [each async for each in brokers.read_range(Topic.DECISION_LOGS, 3, 5, 9)]
    assert [each.offset for each in read] == [5, 6, 7, 8]


async def test_a_topic_that_is_not_there_is_told(stage: Stage) -> None:
    status, _, complained = await stage.attempt(
        "backtest", "--topic", "decision-longs", "--a", "default", "--b", "default"
    )
    assert status == 2
    assert "There is no topic decision-longs" in complained

"""A console that no broker answers says so, and does not answer for what is commanded."""

from pathlib import Path

import pytest

from streams.console.guard_api import ReadCommands
from streams.console.read_model.model import ReadModel
from streams.core.domain.topic import Topic
from streams.kafka.clock import now_ms
from tests.unit.console.following import following

COMMANDS, ACKS, ALERTS = Topic.SESSION_COMMANDS, Topic.SESSION_COMMAND_ACKS, Topic.SESSION_ALERTS
LATER = 60_000
"""Ahead of the clock, so that the answer is new however long the test takes, ms."""


@pytest.mark.parametrize("silent", [COMMANDS, ACKS])
async def test_one_silent_topic_is_enough_for_not_knowing_what_is_commanded(
    tmp_path: Path, silent: Topic
) -> None:
    async with following(tmp_path, [], now_ms()) as reader:
        commands = ReadCommands(ReadModel(), reader.feed, now_ms)
        assert commands.silent_ms() is None  # no partition is read yet
        reader.feed._answered = answered = dict.fromkeys((COMMANDS, ACKS), now_ms() + LATER)
        assert commands.silent_ms() is None
        reader.feed._answered = {**answered, silent: now_ms() - 11_000}
        assert (commands.silent_ms() or 0) >= 11_000
        reader.feed._answered = {**answered, ALERTS: now_ms() - 11_000}
        assert commands.silent_ms() is None


async def test_a_topic_is_as_silent_as_the_partition_that_is_silent_for_longest(tmp_path: Path) -> None:
    async with following(tmp_path, [], now_ms()) as reader:
        answered = {(str(COMMANDS), 0): 7, (str(COMMANDS), 1): 5, (str(ACKS), 0): 9}
        assert reader.feed._oldest(answered) == {COMMANDS: 5, ACKS: 9}


@pytest.mark.parametrize("silent", [ALERTS, COMMANDS, ACKS])
async def test_a_console_is_ready_as_long_as_its_brokers_answer_and_alive_anyway(
    tmp_path: Path, silent: Topic
) -> None:
    async with following(tmp_path, [], now_ms()) as reader:
        feed, answered = reader.feed, dict.fromkeys((ALERTS, COMMANDS, ACKS), now_ms() + LATER)
        assert (await reader.answer("/readyz")).status == 503
        assert await reader.json("/readyz") == {"status": "not ready", "detail": "reading has not begun"}
        feed._ends, feed._answered = {(ALERTS, 0): 0}, answered
        assert await reader.json("/readyz") == {"status": "ready"}
        feed._answered = {**answered, silent: now_ms() - 7_320_000}
        assert (await reader.answer("/readyz")).status == 503
        assert await reader.json("/readyz") == {
            "status": "not ready",
            "detail": "no broker has answered for 2 h 2 min",
        }
        assert await reader.json("/livez") == {"status": "live"}
        feed._answered = answered
        assert await reader.json("/readyz") == {"status": "ready"}


async def test_the_header_says_for_how_long_no_broker_has_answered(tmp_path: Path) -> None:
    async with following(tmp_path, [], now_ms()) as reader:
        assert "no broker has answered" not in await reader.page("/alerts")
        reader.feed._answered = {ALERTS: now_ms() - 7_320_000}
        assert "no broker has answered for 2 h 2 min" in await reader.page("/alerts")

"""Errors of what is followed, and letting go of it, without a broker."""

import asyncio
import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, nullcontext
from types import SimpleNamespace
from typing import Any

import pytest
from aiokafka.errors import KafkaConnectionError

from streams.core.errors import StateError
from streams.worker.state import standby as standing_by
from streams.worker.state.standby import Standby


class Metrics:
    """Counts what a standby reports."""

    def __init__(self) -> None:
        self.errors = 0

    def followed(self, table: str, records: int) -> None:
        """Nothing is read here."""

    def standby_failed(self) -> None:
        self.errors += 1


async def no_deletions(_topic: str) -> int:
    return 0


@pytest.mark.parametrize(
    ("error", "level"),
    [
        (StateError("the disk is full"), logging.WARNING),
        (KafkaConnectionError("nobody is there"), logging.WARNING),
        (OSError("no file descriptor is left"), logging.WARNING),
        (ZeroDivisionError("nobody thought of that"), logging.ERROR),
        (asyncio.CancelledError("of something inside, not of ours"), logging.ERROR),
    ],
    ids=lambda value: logging.getLevelName(value) if isinstance(value, int) else type(value).__name__,
)
async def test_whatever_the_error_it_is_told_and_counted_and_tried_again(
    error: BaseException, level: int, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(standing_by, "_PAUSE_SECONDS", 0)
    tried_again, tries = asyncio.Event(), 0

    @asynccontextmanager
    async def new_consumer() -> AsyncIterator[Any]:
        nonlocal tries
        tries += 1
        if tries == 1:
            raise error
        tried_again.set()
        await asyncio.Event().wait()
        yield

    metrics = Metrics()
    table = SimpleNamespace(name="sessions", stores=SimpleNamespace(beside=lambda: None))
    standby = Standby([table], new_consumer, no_deletions, metrics)
    standby.follow({"sessions": {0}})
    await asyncio.wait_for(tried_again.wait(), 60)
    await standby.let_go()
    [told] = caplog.records
    assert told.levelno == level
    assert str(error) in caplog.text
    assert ("Traceback" in caplog.text) == (level == logging.ERROR)
    assert metrics.errors == 1


async def test_who_was_cancelled_while_letting_go_has_not_let_go() -> None:
    asked, may_end = asyncio.Event(), asyncio.Event()
    ended = False

    @asynccontextmanager
    async def new_consumer() -> AsyncIterator[Any]:
        nonlocal ended
        asked.set()
        try:
            await asyncio.Event().wait()
        finally:
            await may_end.wait()  # as a thread that is waited for
            ended = True
        yield

    table = SimpleNamespace(name="sessions", stores=SimpleNamespace(beside=lambda: None))
    standby = Standby([table], new_consumer, no_deletions, Metrics())
    standby.follow({"sessions": {0}})
    await asked.wait()
    first = asyncio.create_task(standby.let_go())
    await asyncio.sleep(0)
    first.cancel()
    await asyncio.wait((first,))
    assert first.cancelled()
    second = asyncio.create_task(standby.let_go())
    await asyncio.sleep(0)
    assert not second.done()
    may_end.set()
    await second
    assert ended


async def test_what_is_followed_is_let_go_of_also_when_that_fails_at_the_same_moment() -> None:
    asked = asyncio.Event()

    @asynccontextmanager
    async def new_consumer() -> AsyncIterator[Any]:
        asked.set()
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            raise StateError("the thread that was waited for found the disk full") from None
        yield

    table = SimpleNamespace(name="sessions", stores=SimpleNamespace(beside=lambda: None))
    standby = Standby([table], new_consumer, no_deletions, Metrics())
    standby.follow({"sessions": {0}})
    await asked.wait()
    asked.clear()
    await standby.let_go()
    assert not asked.is_set()


async def test_how_long_deletions_are_kept_is_asked_once_and_anew_when_something_else_is_followed() -> None:
    asked: list[str] = []

    async def kept_ms(topic: str) -> int:
        asked.append(topic)
        return 7

    standby = Standby([], nullcontext, kept_ms, Metrics())
    assert [await standby.deletions_kept_ms("a") for _ in range(3)] == [7, 7, 7]
    assert await standby.deletions_kept_ms("b") == 7
    assert asked == ["a", "b"]
    await standby.let_go()
    assert await standby.deletions_kept_ms("a") == 7
    assert asked == ["a", "b", "a"]

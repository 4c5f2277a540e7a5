"""What the app of a worker says of its end."""

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest
from mode import Service

from streams.core.errors import StateError
from streams.observe.settings import WorkerSettings
from streams.worker.app import RunApp
from streams.worker.wiring import build


@pytest.fixture
async def app(tmp_path: Path) -> RunApp:
    return build(WorkerSettings(_env_file=None, data_dir=tmp_path))


@pytest.fixture
def crash(app: RunApp) -> Callable[[BaseException], Awaitable[None]]:
    """Crash another service of the app with each call."""
    return lambda reason: Service(beacon=app.beacon).crash(reason)


async def test_an_error_that_says_what_to_do_is_not_hidden_by_what_is_cancelled_after_it(
    app: RunApp, crash: Callable[[BaseException], Awaitable[None]]
) -> None:
    told = StateError("Move the state away.")
    await crash(told)
    await crash(asyncio.CancelledError())
    assert app.crash_reason is told


async def test_it_is_told_also_when_something_was_cancelled_before_it(
    app: RunApp, crash: Callable[[BaseException], Awaitable[None]]
) -> None:
    await crash(asyncio.CancelledError())
    told = StateError("Move the state away.")
    await crash(told)
    assert app.crash_reason is told


async def test_of_errors_that_nobody_thought_of_the_first_is_told(
    app: RunApp, crash: Callable[[BaseException], Awaitable[None]]
) -> None:
    await crash(asyncio.CancelledError())
    first = KeyError("nobody thought of that")
    await crash(first)
    await crash(RuntimeError("the consumer has stopped"))
    await crash(asyncio.CancelledError())
    assert app.crash_reason is first

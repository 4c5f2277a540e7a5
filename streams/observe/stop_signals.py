"""How a process works until a signal asks it to stop, or its work fails."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Coroutine, Iterable
from typing import Any

from streams.core.errors import EddyError


async def until_stopped(working: asyncio.Task[None] | None = None) -> None:
    """Wait for SIGTERM or SIGINT, or until the work of the process fails.

    Raises:
        EddyError: what it failed of.
    """
    stopped, loop = asyncio.Event(), asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stopped.set)
    waiting = asyncio.create_task(stopped.wait())
    both: set[asyncio.Task[Any]] = {waiting} if working is None else {waiting, working}
    done, _ = await asyncio.wait(both, return_when=asyncio.FIRST_COMPLETED)
    waiting.cancel()
    for task in done:
        task.result()


async def all_of(work: Iterable[Coroutine[Any, Any, None]]) -> None:
    """Do all of it until one part fails: a process of which a part stands still must not look well.

    Raises:
        EddyError: a part has failed for a reason that is known.
        ExceptionGroup: it has failed otherwise.
    """
    try:
        async with asyncio.TaskGroup() as group:
            for each in work:
                group.create_task(each)
    except ExceptionGroup as failed:
        # Not `except*`: Python 3.11.2 puts what is raised there into a group of its own.
        if failed.split(EddyError)[1] is not None:
            raise
        first: BaseException = failed
        while isinstance(first, BaseExceptionGroup):
            first = first.exceptions[0]
        raise first from None

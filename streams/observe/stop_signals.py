"""Waiting for the signal that asks a process to stop."""

from __future__ import annotations

import asyncio
import signal
from typing import Any


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

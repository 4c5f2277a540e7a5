"""A console's feed in a process of its own, that may be killed at a statement of its archive.

python -m tests.integration.console_process BOOTSTRAP DIRECTORY [POINT TIMES]
"""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from collections.abc import Callable
from pathlib import Path

from streams.console.archive.archive import WritePoint
from streams.kafka.client import connect
from streams.kafka.connection import Connection
from tests.integration.console_feed import EVERYTHING, Board


def dying(wanted: WritePoint, times: int) -> Callable[[WritePoint], None]:
    """Return what kills this process when a point is reached so many times."""
    left = times

    def reached(point: WritePoint) -> None:
        nonlocal left
        if point is wanted:
            left -= 1
            if left == 0:
                os.kill(os.getpid(), signal.SIGKILL)

    return reached


async def main(bootstrap: str, directory: str, point: str, times: str) -> None:
    """Run until killed."""
    async with connect(Connection(bootstrap)) as brokers:
        board = Board(brokers, Path(directory), EVERYTHING, dying(WritePoint(point), int(times)))
        await board.feed.run()


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))

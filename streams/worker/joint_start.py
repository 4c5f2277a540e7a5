"""Lanes that begin together: their outputs leave in one request, and their changelog records in another.

Each epoch costs the worker about the same whether it has one record or twenty. Lanes that begin whenever a
record comes have runs of a record or two, and a request for each of their waits. Lanes that begin together
share the requests, and what comes meanwhile is in the next run of its partition.

Each lane still has its own epoch. A partition that stands still, since its leader is gone, holds the others
back for a moment at each start, and no longer: they do not wait for it to the end.
"""

from __future__ import annotations

import asyncio

#: A lane that comes first waits so long for the others that the same poll has brought.
_GATHER_S = 0.001


class JointStart:
    """Where lanes wait before they begin.

    Args:
        patience_s: A lane waits at most so long for those that are at work.
    """

    def __init__(self, patience_s: float) -> None:
        self._patience_s = patience_s
        self._at_work = 0
        self._next: asyncio.Future[None] | None = None
        self._timer: asyncio.TimerHandle | None = None

    async def wait(self) -> None:
        """Return when no lane is at work, together with all others that wait; or when patience ends."""
        if self._next is None:
            loop = asyncio.get_running_loop()
            self._next = loop.create_future()
            self._timer = loop.call_later(self._patience_s if self._at_work else _GATHER_S, self._start)
        # A lane that is cancelled must not take the others with it.
        await asyncio.shield(self._next)

    def begin(self) -> None:
        """Take note that a lane is at work."""
        self._at_work += 1

    def end(self) -> None:
        """Take note that it is not any more."""
        self._at_work -= 1
        if self._at_work == 0 and self._next is not None:
            self._start()

    def _start(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
        if self._next is not None:
            self._next.set_result(None)
        self._timer = self._next = None

"""The lease of a worker on its partitions: how long it may be sure that no other worker has them.

The group coordinator takes a member for dead that it has not heard of for the session timeout, and gives
its partitions to others. The worker counts the same time itself, from the moment it *sent* the last heartbeat
that was answered with success. That moment lies before the one the coordinator counts from, so the lease is
over first, whatever the clocks show: durations are compared, and nothing else. When it is over, the worker
has to hold itself for dead:

    held        it may publish
    over        nothing leaves it, what is on its way is taken back; it waits for news of the group
    renewed     the group has kept it: no other worker had its partitions, and all continues where it was
    ended       the group has not, or the partitions are given up anyway: what was in hand is abandoned

A *term* is the time until the lease ends. What was made in one is never sent in the next.
"""

from __future__ import annotations

import asyncio
import logging
import math
from collections.abc import Callable
from contextlib import suppress
from typing import Protocol

from streams.core.errors import ProducerFencedError
from streams.kafka.clock import boot_time

#: The share by which the lease is shorter than the session timeout. What was sent in its last moment must be
#: appended before the coordinator acts. The timer may be late by this, the event loop busy between the check
#: and the write, and the network may hold what it was given.
_MARGIN = 0.1

log = logging.getLogger(__name__)


class Publisher(Protocol):
    """What publishes under a lease. Both are called in the worker's event loop."""

    def take_back(self) -> None:
        """Let nothing arrive that is on its way; it may be sent again once the lease is renewed."""

    def abandon(self) -> None:
        """Fail all that was not acknowledged; nothing of it is ever sent again."""


class WorkerLease:
    """The lease of one worker.

    Args:
        session_s: The session timeout of the group.
        rebalance_s: The rebalance timeout of the group: a member that has not joined again by then is out.
        now: Seconds, by a monotonic clock.
    """

    def __init__(self, session_s: float, rebalance_s: float, now: Callable[[], float] = boot_time) -> None:
        self.session_s = session_s * (1 - _MARGIN)
        self.rebalance_s = rebalance_s * (1 - _MARGIN)
        self.now = now
        #: Counts those that have ended. Changed in the worker's event loop only.
        self.term = 0
        self._until = -math.inf
        self._settled_at = -math.inf
        self._giving_up = False
        self._publisher: Publisher | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._timer: asyncio.TimerHandle | None = None
        self._news = asyncio.Event()

    @property
    def held(self) -> bool:
        """Whether the worker may publish, by the clock of this moment. From any thread."""
        return self.now() < self._until

    # -- in the thread of the group's consumer ------------------------------------------------------------

    def heard(self, sent_at: float, *, rebalancing: bool = False) -> None:
        """Take note that the group has answered: we are a member.

        Args:
            sent_at: When it was asked, by `now`.
            rebalancing: The group is waiting for its members to join again, for so long and no longer.
        """
        if not rebalancing:
            self._settled_at = sent_at
        self._until = min(sent_at + self.session_s, self._settled_at + self.rebalance_s)
        self._in_loop(self._renew)

    def lost(self) -> None:
        """Take note that the group does not know us as a member any more."""
        self._until = -math.inf
        self._in_loop(self._end)

    def _in_loop(self, change: Callable[[], None]) -> None:
        if self._loop is not None:
            with suppress(RuntimeError):  # it is closed: there is nothing left to notify
                self._loop.call_soon_threadsafe(change)

    # -- in the worker's event loop -----------------------------------------------------------------------

    def bind(self, publisher: Publisher) -> None:
        """Let ``publisher`` know of the end of the lease; to be called in the worker's event loop."""
        self._publisher = publisher
        self._loop = asyncio.get_running_loop()
        self._renew()

    async def begin(self) -> int:
        """Wait until the lease is held, and return its term.

        Raises:
            ProducerFencedError: it has ended, or it is over and the partitions are being given up.
        """
        term = self.term
        while not self.held:
            if self._giving_up:
                raise self._fenced()
            await self.news()
            self.check(term)
        return term

    def check(self, term: int) -> None:
        """Make sure that a term has not ended; that the lease is held is for the publisher to see.

        Raises:
            ProducerFencedError: it has.
        """
        if term != self.term:
            raise self._fenced()

    async def news(self) -> None:
        """Wait until the lease is renewed or ends."""
        self._news.clear()
        await self._news.wait()

    def give_up(self) -> None:
        """Take note that no run is begun any more, and those in hand are waited for.

        From now on no task waits for a lease that is over: what it could bring is processed again anyway.
        """
        self._giving_up = True
        if not self.held:
            self._end()

    def go_on(self) -> None:
        """Take note that runs are begun again."""
        self._giving_up = False

    def _renew(self) -> None:
        self._news.set()
        if self._timer is None and self._loop is not None and self.held:
            self._timer = self._loop.call_later(self._until - self.now(), self._look)

    def _look(self) -> None:
        """Do what there is to do when the lease has run out, or look again when it does."""
        self._timer = None
        if self.held:
            self._renew()
            return
        if self._giving_up:
            self._end()
        elif self._publisher is not None:
            log.warning(
                "No heartbeat was answered for %.1f s: the group may take this worker for dead. Nothing is "
                "published until one is.",
                self.session_s,
            )
            self._publisher.take_back()

    def _end(self) -> None:
        self.term += 1
        if self._publisher is not None:
            self._publisher.abandon()
        self._news.set()

    def _fenced(self) -> ProducerFencedError:
        return ProducerFencedError("The lease on the partitions is over: others may have them by now.")

"""Services that start before the app they belong to, and stop after it."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

from mode import Service

from streams.kafka.settings_feed import ConfigFeed

#: A transactional producer without a transaction for so long commits its position again, seconds: brokers
#: forget it after a week. And how often that is checked.
_IDLE_S, _CHECK_IDLE_S = 86_400.0, 3_600.0


class IdleProducers(Service):
    """Keeps brokers from forgetting the transactional producers of partitions without records.

    Args:
        keep_known: Lets each producer that was idle for so many seconds commit its position once more.
    """

    def __init__(self, keep_known: Callable[[float], Awaitable[None]]) -> None:
        self._keep_known = keep_known
        super().__init__()

    @Service.timer(_CHECK_IDLE_S)
    async def _check(self) -> None:
        await self._keep_known(_IDLE_S)


class SettingsFollower(Service):
    """Keeps the feed of settings running; an error in it stops the worker.

    Args:
        feed: Reads the topics of settings for ever.
        ready: Set when the feed has read its topics to their ends.
    """

    def __init__(self, feed: ConfigFeed, ready: asyncio.Event) -> None:
        self._feed = feed
        self._ready = ready
        super().__init__()

    @Service.task
    async def _follow(self) -> None:
        await self._feed.follow(self._ready)

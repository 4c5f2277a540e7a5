"""Services that start before the app they belong to, and stop after it."""

from __future__ import annotations

from typing import Any

from mode import Service

#: A transactional producer without a transaction for so long commits its position again, seconds: brokers
#: forget it after a week. And how often it is looked at.
_IDLE_S, _LOOK_AT_IDLE_S = 86_400.0, 3_600.0


class IdleProducers(Service):
    """Keeps transactional producers of partitions without records from being forgotten by the brokers."""

    def __init__(self, app: Any, **kwargs: Any) -> None:
        self._app = app
        super().__init__(**kwargs)

    @Service.timer(_LOOK_AT_IDLE_S)
    async def _look(self) -> None:
        await self._app.keep_producers_known(_IDLE_S)


class SettingsFollower(Service):
    """Keeps the feed running; an error in it stops the worker."""

    def __init__(self, app: Any, **kwargs: Any) -> None:
        self._app = app
        super().__init__(**kwargs)

    @Service.task
    async def _follow(self) -> None:
        await self._app.feed.follow(self._app.settings_ready)

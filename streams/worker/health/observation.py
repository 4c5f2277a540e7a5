"""Answers health checks and watches over the worker, from before the first restore on."""

from __future__ import annotations

import logging

from mode import Service

from streams.observe.web import HealthServer
from streams.worker.health.liveness import Watchdog

log = logging.getLogger(__name__)


class Observation(Service):
    """The worker's web server and its watchdog.

    Args:
        server: Answers requests for health, metrics and sessions.
        watchdog: Ends the process when it stands still.
        greeting: What the log says first.
    """

    def __init__(self, server: HealthServer, watchdog: Watchdog, greeting: str) -> None:
        super().__init__()
        self._server = server
        self._watchdog = watchdog
        self._greeting = greeting

    async def on_start(self) -> None:
        """Listen, and begin to watch."""
        log.info("%s", self._greeting)
        await self._server.start()
        self._watchdog.start()

    async def on_stop(self) -> None:
        """End both."""
        self._watchdog.stop()
        await self._server.stop()

    @Service.timer(1.0)
    async def _beat(self) -> None:
        self._watchdog.beat()

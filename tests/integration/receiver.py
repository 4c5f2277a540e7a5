"""A receiver of alerts that does what it is told: takes them, refuses, fails, hangs, hangs up."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from typing import Any, NamedTuple

import orjson
from aiohttp import web
from aiohttp.test_utils import TestServer

from tests.integration.stage import Stage
from tests.integration.worker_process import PATIENCE_SECONDS, WorkerProcess, until
from tests.unit.alerts.sinks.alerts import SECRET

HANG = "hang"
HANG_UP = "hang up"

#: A status, a status with headers, or one of the two above.
Behaviour = int | tuple[int, Mapping[str, str]] | str


class Got(NamedTuple):
    """A request: its path, headers, body, and what the receiver did."""

    path: str
    headers: Mapping[str, str]
    body: Any
    raw: bytes
    answer: Behaviour

    @property
    def taken(self) -> bool:
        """Whether it was answered with success."""
        return isinstance(self.answer, int) and self.answer < 300


class Receiver:
    """What it got, and what it will do next; without a plan it takes everything.

    Attributes:
        plan: What to do with the next requests, in order.
        on_request: Called with each request before it is answered.
    """

    def __init__(self) -> None:
        self.got: list[Got] = []
        self.plan: deque[Behaviour] = deque()
        self.on_request: Callable[[Got], None] = lambda _: None
        self.url = ""
        self._messages = 0

    @property
    def taken(self) -> list[Got]:
        """The requests that it took."""
        return [each for each in self.got if each.taken]

    def ids(self) -> list[str]:
        """Return the ids of the alerts that it took."""
        return [each.body["id"] for each in self.taken]

    async def has(self, count: int) -> list[Got]:
        """Wait until it took so many requests."""
        await until(lambda: len(self.taken) >= count, PATIENCE_SECONDS, f"{count} requests that were taken")
        return self.taken

    async def _handle(self, request: web.Request) -> web.StreamResponse:
        raw = await request.read()
        answer = self.plan.popleft() if self.plan else 200
        got = Got(request.path, dict(request.headers), orjson.loads(raw), raw, answer)
        self.got.append(got)
        self.on_request(got)
        match answer:
            case "hang":
                await asyncio.Event().wait()
            case "hang up":
                assert request.transport is not None
                request.transport.abort()
            case (int(status), headers):
                return web.json_response({"error": "by plan"}, status=status, headers=headers)
            case int(status) if status >= 300:
                return web.json_response({"error": "by plan"}, status=status)
        self._messages += 1
        return web.json_response({"ok": True, "channel": "C1", "ts": f"1.{self._messages:06}"})


@asynccontextmanager
async def receiving() -> AsyncIterator[Receiver]:
    """Yield a receiver that listens on the loopback address."""
    receiver = Receiver()
    application = web.Application()
    application.router.add_post("/{path:.*}", receiver._handle)
    server = TestServer(application)
    await server.start_server(shutdown_timeout=0.1)
    receiver.url = str(server.make_url("")).rstrip("/")
    try:
        yield receiver
    finally:
        await server.close()


def notifying(stage: Stage, receiver: Receiver, **settings: object) -> WorkerProcess:
    """Start a notifier whose webhook is the receiver's."""
    return stage.worker(
        command=("eddy", "notify"),
        **{
            "notify_webhook_url": f"{receiver.url}/hook",
            "notify_webhook_secret": SECRET,
            "notify_timeout_s": 1,
            **settings,
        },
    )

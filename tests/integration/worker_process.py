"""A worker as people run it: a process of its own, with its own data, that tells over HTTP how it is."""

from __future__ import annotations

import asyncio
import math
import re
import time
from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path

import aiohttp
import psutil
from prometheus_client.parser import text_string_to_metric_families
from yarl import URL

from streams.kafka.embedded.child import Child

#: For one thing to happen. Only what fails waits for so long: the machine may hardly get on, and a killed
#: member is missed only after its session timeout.
PATIENCE_SECONDS = 180.0

_POLL_SECONDS = 0.05
_ANSWER_SECONDS = 30
_LISTENS_ON = re.compile(r"Health and metrics on (http://\S+)")
_LOG_LINES = 40


class WorkerProcess:
    """A running worker. It dies with this process at the latest.

    Args:
        command: What to run.
        directory: Its working directory; its log is there, in ``log``.
        environment: All of its environment.
    """

    def __init__(self, command: list[str], directory: Path, environment: Mapping[str, str]) -> None:
        self.directory = directory
        self._log = directory / "log"
        self._log.touch()
        (scratch := directory / "scratch").mkdir()
        into_log = [
            "/bin/sh",
            "-c",
            'log=$1; shift; exec "$@" >"$log" 2>&1',
            "worker",
            str(self._log),
            *command,
        ]
        self._child = Child(into_log, scratch=scratch, environment=environment)
        self.expected_to_live = True

    @property
    def log(self) -> str:
        """All it has said."""
        return self._log.read_text(errors="replace")

    def terminate(self) -> None:
        """Ask it to leave (SIGTERM)."""
        self.expected_to_live = False
        self._child.signal("TERM")

    def signal(self, name: str) -> None:
        """Send it a signal, named as `kill -s` names it: `STOP` suspends it, `CONT` lets it go on."""
        self._child.signal(name)

    def kill(self) -> None:
        """Kill it (SIGKILL)."""
        self.expected_to_live = False
        self._child.kill()

    def running(self) -> bool:
        """Tell whether it lives."""
        return not self._child.ended()

    async def ended(self, within: float = PATIENCE_SECONDS) -> int:
        """Wait for its end and return its exit status, 128 + the signal where one ended it."""
        self.expected_to_live = False
        await until(lambda: not self.running(), within, f"the end of the worker; {self.tail()}")
        status = self._child._guard.returncode
        assert status is not None
        return status

    async def stands_still(self) -> None:
        """Wait until it has suspended itself, at its crash point."""

        def suspended() -> bool:
            below = psutil.Process(self._child._guard.pid).children(recursive=True)
            return any(process.status() == psutil.STATUS_STOPPED for process in below)

        await until(suspended, PATIENCE_SECONDS, "a worker that suspends itself", self)

    def memory(self) -> int:
        """Return how many bytes of memory it has (RSS)."""
        below = psutil.Process(self._child._guard.pid).children(recursive=True)
        return max(process.memory_info().rss for process in below)

    def has_address(self) -> bool:
        """Tell whether it has said where its pages are."""
        return _LISTENS_ON.search(self.log) is not None

    async def get(self, path: str) -> tuple[int, str]:
        """Return status and body of one of its pages."""
        timeout = aiohttp.ClientTimeout(_ANSWER_SECONDS)
        async with (
            aiohttp.ClientSession(timeout=timeout) as http,
            http.get(await self._url() + path) as answer,
        ):
            return answer.status, await answer.text()

    async def ready(self, within: float = PATIENCE_SECONDS) -> WorkerProcess:
        """Wait until it says that it is ready."""

        async def is_ready() -> bool:
            return (await self.get("/readyz"))[0] == 200

        await until(is_ready, within, "a ready worker", self)
        return self

    async def metric(self, name: str, **labels: str) -> float:
        """Return a metric, summed over the labels that are not given."""
        _, body = await self.get("/metrics")
        return sum(
            sample.value
            for family in text_string_to_metric_families(body)
            for sample in family.samples
            if sample.name == name and labels.items() <= sample.labels.items()
        )

    async def has_processed(self, records: int) -> None:
        """Wait until it has processed so many records, for as long as it processes any."""

        async def processed() -> float:
            return await self.metric("eddy_decisions_total")

        await until_reached(processed, records, PATIENCE_SECONDS, f"{records} processed records", self)

    def alive(self) -> None:
        """Fail when it has ended and nobody meant it to."""
        assert self.running() or not self.expected_to_live, f"The worker has ended. {self.tail()}"

    def tail(self) -> str:
        """Return the end of its log, without the bad records, of which there are many."""
        lines = [line for line in self.log.splitlines(keepends=True) if "dead letters" not in line]
        return f"Its log ends:\n{''.join(lines[-_LOG_LINES:])}"

    async def address(self) -> tuple[str, int]:
        """Return host and port of its pages."""
        url = URL(await self._url())
        assert url.host is not None
        assert url.port is not None
        return url.host, url.port

    async def _url(self) -> str:
        await until(self.has_address, PATIENCE_SECONDS, "an address", self)
        found = _LISTENS_ON.search(self.log)
        assert found is not None
        return found[1]


async def until(
    condition: Callable[[], bool | Awaitable[bool]], within: float, what: str, *workers: WorkerProcess
) -> None:
    """Return as soon as ``condition`` holds; ``workers`` must go on living meanwhile.

    A worker that gives no answer, or not in time, is asked again.

    Raises:
        AssertionError: it does not hold within so many seconds, or a worker has ended.
    """
    deadline, unanswered = time.monotonic() + within, ""
    while True:
        try:
            held = condition()
            if held is True or (not isinstance(held, bool) and await held):
                return
        except (aiohttp.ClientError, TimeoutError) as error:
            unanswered = f" The last that was not answered: {error!r}."
        for worker in workers:
            worker.alive()
        said = "\n".join(worker.tail() for worker in workers)
        assert time.monotonic() < deadline, f"Waited {within:g} s in vain for {what}.{unanswered} {said}"
        await asyncio.sleep(_POLL_SECONDS)


async def until_reached(
    count: Callable[[], Awaitable[float]], wanted: float, within: float, what: str, *workers: WorkerProcess
) -> None:
    """Return as soon as ``count`` is as high as wanted; it may take any time, as long as it grows.

    Raises:
        AssertionError: it does not grow within so many seconds, or a worker has ended.
    """
    seen = now = -math.inf

    async def grown() -> bool:
        nonlocal now
        now = await count()
        return now > seen

    while now < wanted:
        seen = now
        await until(grown, within, f"{what}, of which there are {seen:g},", *workers)

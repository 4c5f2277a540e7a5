"""The demo's own cluster: the embedded broker, the topics, and workers, all gone when it ends."""

from __future__ import annotations

import asyncio
import os
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

import aiohttp

from streams.core.domain.text.figures import count
from streams.core.errors import InfrastructureError
from streams.kafka.client import Brokers, connect
from streams.kafka.connection import Connection
from streams.kafka.embedded.child import Child
from streams.kafka.embedded.embedded import EmbeddedBroker, free_port
from streams.kafka.topic_identity import job_topics
from topics.plan import plan

WORKERS = 2
PARTITIONS = 4
APPLICATION_ID = "eddy-demo"

#: Beside the address, what other commands must know to ask about this cluster.
_FOR_OTHERS = f"EDDY_APPLICATION_ID={APPLICATION_ID} EDDY_REPLICAS=1"

_READY_SECONDS = 45.0
_STOP_SECONDS = 20.0
_POLL_SECONDS = 0.05

#: Short, so that the demo does not wait for a group to settle; production wants the defaults.
_SETTINGS = {
    "EDDY_APPLICATION_ID": APPLICATION_ID,
    "EDDY_SESSION_TIMEOUT_S": "4",
    "EDDY_HEARTBEAT_INTERVAL_S": "0.5",
    "EDDY_COMMIT_INTERVAL_S": "0.5",
    "EDDY_PRODUCER_IDEMPOTENCE": "false",  # the embedded broker does not know it
    "EDDY_WEB_HOST": "127.0.0.1",
    "EDDY_LOG_LEVEL": "WARNING",
}


@dataclass(frozen=True, slots=True)
class Cluster:
    """What the demo talks to."""

    brokers: Brokers
    workers: tuple[DemoWorker, ...]
    bootstrap: str

    async def ready(self, say: Callable[[str], None]) -> None:
        """Wait until all workers are ready at the same time: a join moves partitions.

        Raises:
            InfrastructureError: one died, or takes longer than anybody would wait.
        """
        for worker in self.workers:
            await worker.ready()
        for worker in self.workers:
            await worker.ready()
            say(f"worker {worker.number} is ready")

    def check(self) -> None:
        """Raise when a worker has died.

        Raises:
            InfrastructureError: with the end of its log.
        """
        for worker in self.workers:
            worker.check()


class DemoWorker:
    """A worker in a child process, with a data directory that goes with it."""

    def __init__(self, number: int, environment: Mapping[str, str]) -> None:
        self.number = number
        self._port = free_port()
        scratch = Path(tempfile.mkdtemp(prefix=f"eddy-demo-worker-{number}-"))
        self._child = Child(
            [sys.executable, "-m", "streams", "worker"],
            scratch=scratch,
            environment={
                **environment,
                "EDDY_DATA_DIR": str(scratch / "state"),
                "EDDY_WEB_PORT": str(self._port),
                "PYTHONPATH": os.pathsep.join(path for path in sys.path if path),
            },
        )

    @property
    def url(self) -> str:
        """Where its probes and metrics are."""
        return f"http://127.0.0.1:{self._port}"

    def check(self) -> None:
        """Raise when it has died."""
        if self._child.ended():
            raise InfrastructureError(f"Worker {self.number} has ended:\n{self._child.said()}")

    async def ready(self) -> None:
        """Wait until it is part of the group and has restored its state.

        Raises:
            InfrastructureError: it died, or takes longer than anybody would wait.
        """
        deadline = time.monotonic() + _READY_SECONDS
        async with aiohttp.ClientSession() as session:
            while time.monotonic() < deadline:
                self.check()
                try:
                    async with session.get(f"{self.url}/readyz") as answer:
                        if answer.status == 200:
                            return
                except aiohttp.ClientError:
                    pass  # it does not listen yet
                await asyncio.sleep(_POLL_SECONDS)
        raise InfrastructureError(
            f"Worker {self.number} is not ready after {_READY_SECONDS:.0f} s:\n{self._child.said()}"
        )

    async def stop(self) -> None:
        """Let it drain and leave; kill it when that takes too long."""
        self._child.signal("TERM")
        await asyncio.to_thread(self._child.ended, within=_STOP_SECONDS)
        self._child.kill()


@asynccontextmanager
async def cluster(say: Callable[[str], None]) -> AsyncIterator[Cluster]:
    """Start everything, report what happens, and stop it all at the end. The workers may not be ready yet.

    Raises:
        ConfigurationError: the embedded broker is not installed.
        InfrastructureError: something did not start.
    """
    async with AsyncExitStack() as stack:
        broker = await stack.enter_async_context(EmbeddedBroker())
        say(f"broker on {broker.bootstrap}")
        say(f"for other commands, export EDDY_BOOTSTRAP_SERVERS={broker.bootstrap} {_FOR_OTHERS}")
        brokers = await stack.enter_async_context(connect(Connection(broker.bootstrap)))
        wanted = job_topics(APPLICATION_ID, partitions=PARTITIONS, replicas=1)
        await brokers.apply(plan(wanted, []))
        say(f"{count(len(wanted.topics), 'topic')} with {count(PARTITIONS, 'partition')}")
        inherited = {name: value for name, value in os.environ.items() if not name.startswith("EDDY_")}
        environment = {**inherited, **_SETTINGS, "EDDY_BOOTSTRAP_SERVERS": broker.bootstrap}
        workers = tuple(DemoWorker(number, environment) for number in range(1, WORKERS + 1))
        stack.push_async_callback(_stop, workers)
        yield Cluster(brokers, workers, broker.bootstrap)


async def _stop(workers: tuple[DemoWorker, ...]) -> None:
    await asyncio.gather(*(worker.stop() for worker in workers))

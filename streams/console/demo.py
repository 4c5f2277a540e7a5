"""`eddy console --demo`: a broker, two workers, twelve agents, and the console that stops them."""

from __future__ import annotations

import asyncio
import importlib.util
import os
import socket
import sys
import tempfile
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

from aiohttp import web

from schemas.codec import Codec
from streams.console.console import Console
from streams.console.intake import LARGEST_OUTPUT
from streams.console.live_console import live_console
from streams.console.settings import ConsoleSettings
from streams.core.errors import ConfigurationError
from streams.kafka.embedded.child import Child
from streams.operate.demo.cluster import APPLICATION_ID, cluster

_STEP_SECONDS = 1.6
"""Between two steps of an agent, at a speed of 1."""


def needed() -> None:
    """Check that agents can run under a guard here.

    Raises:
        ConfigurationError: a package is missing; says how to install it.
    """
    if importlib.util.find_spec("confluent_kafka") is None:
        raise ConfigurationError(
            "The agents of the demo need confluent_kafka. Install Eddy with its extra `demo`, as "
            "docs/getting-started.md shows."
        )


def free(settings: ConsoleSettings) -> ConsoleSettings:
    """Return the settings with another port if theirs is taken."""
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((settings.console_host, settings.console_port))
        except OSError:
            return settings.model_copy(update={"console_port": 0})
    return settings


@asynccontextmanager
async def demo_console(
    settings: ConsoleSettings, clock: Callable[[], int], say: Callable[[str], None], speed: float
) -> AsyncIterator[tuple[Console, Sequence[web.RouteDef], asyncio.Task[None]]]:
    """Run everything as long as the block lasts; yield the console before anything has happened.

    Args:
        settings: Those of the console.
        clock: Returns the time in milliseconds since 1970.
        say: Prints a line that says what happens.
        speed: How much quicker than at their own pace the agents work.

    Raises:
        ConfigurationError: something is not installed.
        InfrastructureError: something did not start.
    """
    needed()
    with tempfile.TemporaryDirectory(prefix="eddy-demo-console-") as directory:
        settings = settings.model_copy(update={"console_dir": Path(directory)})
        async with cluster(say) as stage:
            named = ",".join(worker.url for worker in stage.workers)
            settings = settings.model_copy(
                update={"console_workers": named, "application_id": APPLICATION_ID}
            )
            agents = _agents(stage.bootstrap, _STEP_SECONDS / speed)
            try:
                codec = Codec.bundled(max_value_bytes=LARGEST_OUTPUT)
                async with live_console(
                    settings, stage.brokers, codec, "demo", clock, from_beginning=True
                ) as (
                    console,
                    beside,
                    reading,
                ):
                    watch = asyncio.create_task(_watch(stage.check))
                    try:
                        yield console, beside, reading
                    finally:
                        watch.cancel()
                        await asyncio.gather(watch, return_exceptions=True)
            finally:
                agents.kill()


def _agents(bootstrap: str, seconds: float) -> Child:
    scratch = Path(tempfile.mkdtemp(prefix="eddy-demo-agents-"))
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(path for path in sys.path if path)}
    command = [sys.executable, "-m", "streams.operate.demo.agents", bootstrap, str(seconds)]
    return Child(command, scratch=scratch, environment=environment)


async def _watch(check: Callable[[], None]) -> None:
    while True:
        await asyncio.sleep(1.0)
        check()

"""`eddy guard run`: a program that knows nothing of Eddy is paused, continued and ended."""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from eddy_client.protocol import Action

from schemas.codec import Codec
from streams.control.outcome import Ack
from streams.core.domain.topic import Topic
from streams.kafka.client import Brokers
from tests.integration.agents_console import KEY, agents_console, issue
from tests.integration.stage import Stage
from tests.integration.worker_process import PATIENCE_SECONDS, until

pytestmark = pytest.mark.integration

TOKEN = "the-token-of-an-agent"
#: It writes, and so does a child that has left its group and its parent.
PROGRAM = (
    "(setsid bash -c 'while true; do echo {session} >> below; sleep 0.02; done' &); "
    "while true; do echo {session} >> above; sleep 0.02; done"
)


class Operator:
    """Who commands, and hears what became of it."""

    def __init__(self, brokers: Brokers) -> None:
        self._brokers = brokers

    async def asks(self, action: Action, session_id: str = "s-17") -> None:
        """Ask, and wait until it is in effect."""
        command_id = await issue(self._brokers, action, session_id, KEY)

        async def is_in_effect() -> bool:
            decoder = Codec.bundled().decoder("session-command-acks-value")
            acks = [
                Ack.of(decoder.decode(each.value, tuple(each.headers)))
                async for each in self._brokers.read(Topic.SESSION_COMMAND_ACKS)
            ]
            return any((ack.command_id, ack.status) == (command_id, "applied") for ack in acks)

        await until(is_in_effect, PATIENCE_SECONDS, f"a {action} in effect")


@asynccontextmanager
async def running(
    folder: Path, *words: str, program: str = PROGRAM
) -> AsyncIterator[asyncio.subprocess.Process]:
    environment = {**os.environ, "EDDY_COMMAND_KEY": KEY, "PYTHONPATH": str(Path(__file__).parents[2])}
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "streams", "guard", "run", *words, "--", "bash", "-c", program),
        cwd=folder,
        env=environment,
    )
    try:
        yield process
    finally:
        if process.returncode is None:
            process.terminate()
            await asyncio.wait_for(process.wait(), PATIENCE_SECONDS)


def sizes(folder: Path) -> list[int]:
    files = folder / "above", folder / "below"
    return [file.stat().st_size if file.exists() else 0 for file in files]


async def writes(folder: Path) -> None:
    before = sizes(folder)

    def more() -> bool:
        return all(now > then for now, then in zip(sizes(folder), before, strict=True))

    await until(more, PATIENCE_SECONDS, "more that is written")


@pytest.mark.parametrize(
    "by", ["console", pytest.param("brokers", marks=pytest.mark.kafka_only("idempotence"))]
)
async def test_what_is_said_of_a_program_without_hooks_is_true(stage: Stage, tmp_path: Path, by: str) -> None:
    token = tmp_path / "token"
    token.write_text(f"{TOKEN}\n")
    async with agents_console(stage.broker.bootstrap, tmp_path, {"coder-*": TOKEN}) as (brokers, url):
        where = {
            "console": ("--console", url, "--token-file", str(token)),
            "brokers": ("--bootstrap-servers", stage.broker.bootstrap),
        }[by]
        operator = Operator(brokers)
        async with running(tmp_path, "--session", "s-17", "--agent", "coder-7", *where) as process:
            await writes(tmp_path)
            assert (tmp_path / "below").read_text().startswith("s-17\n")
            await operator.asks(Action.PAUSE)
            stood = sizes(tmp_path)
            await asyncio.sleep(0.3)  # in which it would write fifteen times
            assert sizes(tmp_path) == stood
            await operator.asks(Action.RESUME)
            await writes(tmp_path)
            await operator.asks(Action.ABORT)
            stood = sizes(tmp_path)
            assert await asyncio.wait_for(process.wait(), PATIENCE_SECONDS) == 143
            assert sizes(tmp_path) == stood
        # What was ended stays so: it does not begin again.
        async with running(tmp_path, "--session", "s-17", "--agent", "coder-7", *where) as process:
            assert await asyncio.wait_for(process.wait(), PATIENCE_SECONDS) == 75
        assert sizes(tmp_path) == stood


async def test_a_program_that_nobody_can_reach_runs_to_its_end_with_its_own_status(tmp_path: Path) -> None:
    async with running(tmp_path, "--bootstrap-servers", "127.0.0.1:1", program="exit 7") as process:
        assert await asyncio.wait_for(process.wait(), PATIENCE_SECONDS) == 7

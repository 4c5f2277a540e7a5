"""Many guarded loops while consoles and brokers are killed: what is commanded happens once, and in time.

Half of the loops listen on Kafka, half to a console that is killed and started again and again; on Apache
Kafka the broker is killed as well.
"""

from __future__ import annotations

import asyncio
import hashlib
import itertools
import math
import os
import random
import sys
import uuid
from collections import defaultdict
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import NamedTuple

import aiohttp
import pytest
from eddy_client import Guard, SessionAborted
from eddy_client.protocol import Action, OnTimeout, Scope

from schemas.codec import Codec
from streams.control.command import Command, Issuer
from streams.control.outcome import Ack
from streams.control.publisher import CommandPublisher
from streams.core.domain.topic import Topic
from streams.core.errors import InfrastructureError
from streams.kafka.client import Brokers, connect
from streams.kafka.clock import now_ms
from streams.kafka.connection import Connection
from tests.integration.apache_kafka import ApacheKafka
from tests.integration.brokers import Broker
from tests.integration.stage import Stage
from tests.integration.worker_process import PATIENCE_SECONDS, WorkerProcess, until
from tests.ports import own_port

pytestmark = pytest.mark.integration

LOOPS = 200
GUARDS = 4
#: Loops that are commanded together. Each wave but the first waits until one more console was killed.
WAVE = 50
STEP_S = 0.1
HOUR_MS = 3_600_000
KEY = "a key of sixteen characters"
TOKEN = "the-token-of-an-agent"


@dataclass
class Loop:
    """An agent in a circle: when it took each step (ms), and what it was told."""

    session_id: str
    steps: list[int] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    aborted_by: str | None = None

    async def run(self, guard: Guard) -> None:
        with guard.session(self.session_id, agent_id="coder-7") as session:
            try:
                while True:
                    self.notes += [note.command_id for note in await session.acheck()]
                    self.steps.append(now_ms())
                    await asyncio.sleep(STEP_S)
            except SessionAborted as aborted:
                self.aborted_by = aborted.command_id


def listens_to_console(number: int) -> bool:
    """Tell whether a guard, or the loop of a number, listens to the console; the others listen on Kafka."""
    return number % 2 == 0


class Commanded(NamedTuple):
    """What one loop was sent, by the id of each command. `late` may be over when it arrives."""

    note: str
    pause: str
    resume: str
    late: Command
    abort: str


class Answers:
    """What guards said, read once from the beginning on."""

    def __init__(self, brokers: Brokers) -> None:
        self._brokers = brokers
        self._decoder = Codec.bundled().decoder(f"{Topic.SESSION_COMMAND_ACKS}-value")
        self.found: dict[str, dict[str, Ack]] = defaultdict(dict)
        """Acks by command and id: a guard may send one twice."""
        self.over_console: dict[int, set[str]] = {
            number: set() for number in range(GUARDS) if listens_to_console(number)
        }
        """By the number of a guard that listens to the console: the ids of its acks."""

    async def read(self) -> None:
        counts = await self._brokers.partition_counts([Topic.SESSION_COMMAND_ACKS])
        places = {(topic, each): 0 for topic, count in counts.items() for each in range(count)}
        async for batch in self._brokers.tail(places):
            for _, record in batch:
                ack = Ack.of(self._decoder.decode(record.value, tuple(record.headers)))
                if ack.command_id is not None:
                    self.found[ack.command_id][ack.id] = ack
                    number = int(ack.session_id.removeprefix("s-"))
                    if listens_to_console(number):
                        self.over_console[number % GUARDS].add(ack.id)

    def passed_on(self, enough: Mapping[int, int]) -> bool:
        """Tell whether each guard that listens to the console got so many acks through."""
        return all(len(self.over_console[number]) >= count for number, count in enough.items())

    def with_status(self, command_id: str, status: str) -> list[Ack]:
        return [each for each in self.found[command_id].values() if each.status == status]

    async def until(self, command_id: str, status: str) -> None:
        await until(
            lambda: bool(self.with_status(command_id, status)), PATIENCE_SECONDS, f"{status}: {command_id}"
        )


class Operator:
    """Somebody who commands one loop after another, and asks again where brokers did not answer."""

    def __init__(self, publisher: CommandPublisher, answers: Answers) -> None:
        self._publisher, self._answers = publisher, answers

    async def commands(self, loop: Loop, chance: random.Random) -> Commanded:
        await until(lambda: len(loop.steps) > 1, PATIENCE_SECONDS, "the first steps")
        note = await self._issue(loop, Action.INJECT_MESSAGE)
        pause = await self._done(loop, Action.PAUSE)
        resume = await self._done(loop, Action.RESUME)
        late = await self._issue(loop, Action.INJECT_MESSAGE, chance.randrange(1, 2_000))
        await self._answers.until(note.command_id, "applied")
        abort = await self._done(loop, Action.ABORT)
        return Commanded(note.command_id, pause.command_id, resume.command_id, late, abort.command_id)

    async def _done(self, loop: Loop, action: Action) -> Command:
        command = await self._issue(loop, action)
        await self._answers.until(command.command_id, "applied")
        return command

    async def _issue(self, loop: Loop, action: Action, for_ms: int = HOUR_MS) -> Command:
        now = now_ms()
        command = Command(
            command_id=uuid.uuid4().hex,
            scope=Scope.SESSION,
            session_id=loop.session_id,
            action=action,
            issued_at=now,
            expires_at=now + for_ms,
            reason="it goes in circles",
            issuer=Issuer(kind="operator", name="ana"),
            on_timeout=OnTimeout.RESUME if action is Action.PAUSE else None,
            message="Look at the test first." if action is Action.INJECT_MESSAGE else None,
        )

        async def is_there() -> bool:
            try:
                await self._publisher.issue([command])
            except InfrastructureError:
                return False
            return True

        await until(is_there, PATIENCE_SECONDS, f"brokers that take {action}")
        return command


class Chaos:
    """Kills the console again and again, and Apache Kafka twice."""

    def __init__(self, broker: Broker, directory: Path, chance: random.Random) -> None:
        self._broker, self._directory, self._chance = broker, directory, chance
        self._console: WorkerProcess | None = None
        self.port = own_port()
        self.killed = 0
        tokens = directory / "agents"
        tokens.write_text(f"ci:coder-*:{hashlib.sha256(TOKEN.encode()).hexdigest()}\n")
        self._environment = {
            **os.environ,
            "EDDY_COMMAND_KEY": KEY,
            "EDDY_CONSOLE_AGENT_TOKENS": str(tokens),
            "EDDY_CONSOLE_DIR": str(directory / "console"),
            "PYTHONPATH": str(Path(__file__).parents[2]),
        }

    async def start(self) -> None:
        """Start a console on the port and the archive of the one before."""
        (directory := self._directory / f"console-{self.killed}").mkdir()
        words = ["console", "--bootstrap-servers", self._broker.bootstrap, "--port", str(self.port)]
        command = [sys.executable, "-m", "streams", *words]
        self._console = console = WorkerProcess(command, directory, self._environment)

        async def answers() -> bool:
            assert console.running(), console.log
            async with aiohttp.ClientSession() as http, http.get(self.url + "/livez") as answer:
                return answer.status == 200

        await until(answers, PATIENCE_SECONDS, "a console")

    @property
    def url(self) -> str:
        """The address of each of the consoles."""
        return f"http://127.0.0.1:{self.port}"

    async def run(self, answers: Answers) -> None:
        while True:
            # By what was passed on since the last kill, not by the clock: no machine is too slow or too fast.
            # What a guard sends again does not count, or nothing might ever get through.
            enough = {
                number: len(passed) + self._chance.randrange(20, 40)
                for number, passed in answers.over_console.items()
            }
            if self.killed:
                await self.start()
            await until(partial(answers.passed_on, enough), math.inf, "acks over the console")
            if isinstance(self._broker, ApacheKafka) and self.killed in {0, 2}:
                await asyncio.to_thread(self._broker.kill)
                await asyncio.sleep(self._chance.uniform(0, 2))
                await asyncio.to_thread(self._broker.start)
            self.kill()
            self.killed += 1

    def kill(self) -> None:
        if self._console is not None:
            self._console.kill()


@asynccontextmanager
async def running(*endless: asyncio.Task[None]) -> AsyncIterator[None]:
    """End tasks with the block; the failure of one counts."""
    try:
        yield
    finally:
        for task in endless:
            task.cancel()
        for task in endless:
            with suppress(asyncio.CancelledError):
                await task


@pytest.mark.timeout(900)
async def test_each_command_is_applied_once_and_in_time_though_consoles_and_brokers_are_killed(
    stage_on_own_broker: Stage, own_broker: Broker, tmp_path: Path
) -> None:
    chance = random.Random(17)
    loops = [Loop(f"s-{number}") for number in range(LOOPS)]
    chaos = Chaos(own_broker, tmp_path, chance)
    await chaos.start()
    idempotent = str(own_broker.kind == "kafka").lower()
    guards = [
        Guard.kafka(
            own_broker.bootstrap,
            key=KEY,
            kafka={"enable.idempotence": idempotent},
            start_wait=PATIENCE_SECONDS,
        )
        if not listens_to_console(number)
        else Guard.connect(chaos.url, token=TOKEN, start_wait=PATIENCE_SECONDS)
        for number in range(GUARDS)
    ]
    try:
        async with connect(Connection(stage_on_own_broker.broker.bootstrap)) as brokers:
            answers = Answers(brokers)
            operator = Operator(CommandPublisher(brokers, Codec.bundled(), KEY.encode()), answers)
            agents = [
                asyncio.create_task(loop.run(guards[number % GUARDS])) for number, loop in enumerate(loops)
            ]
            async with running(asyncio.create_task(answers.read()), asyncio.create_task(chaos.run(answers))):

                async def commanded(number: int, loop: Loop) -> Commanded:
                    waits = number // WAVE  # for so many kills
                    await until(
                        lambda: chaos.killed >= waits, waits * PATIENCE_SECONDS, "the kill of a console"
                    )
                    return await operator.commands(loop, chance)

                sent = await asyncio.gather(*itertools.starmap(commanded, enumerate(loops)))
                await asyncio.gather(*agents)
    finally:
        chaos.kill()
        await asyncio.to_thread(lambda: [guard.close(PATIENCE_SECONDS) for guard in guards])
    assert chaos.killed > 2
    for loop, commanded in zip(loops, sent, strict=True):
        _check(loop, commanded, answers)


def _check(loop: Loop, sent: Commanded, answers: Answers) -> None:
    def applied_at(command_id: str) -> int:
        (ack,) = answers.with_status(command_id, "applied")
        assert ack.effective_at is not None
        return ack.effective_at

    paused, resumed = applied_at(sent.pause), applied_at(sent.resume)
    assert paused <= resumed
    assert [step for step in loop.steps if paused < step < resumed] == []
    assert any(step >= resumed for step in loop.steps)
    assert loop.notes.count(sent.note) == 1
    assert applied_at(sent.note) > 0
    late = answers.with_status(sent.late.command_id, "applied")
    assert loop.notes.count(sent.late.command_id) == len(late) <= 1
    assert all(ack.effective_at is not None and ack.effective_at < sent.late.expires_at for ack in late)
    assert loop.aborted_by == sent.abort
    assert loop.steps[-1] <= applied_at(sent.abort)

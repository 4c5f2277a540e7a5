"""A guarded agent on a broker: commands of the desk reach its loop, and its answers come back."""

from __future__ import annotations

import asyncio
import math
import threading
import time
import uuid
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import Any

import confluent_kafka
import pytest
from eddy_client import Guard, SessionAborted
from eddy_client.guard import kafka_channel
from eddy_client.protocol import Action, OnTimeout, Scope

from schemas.codec import Codec, OutputFormat
from streams.control.command import Command, Issuer
from streams.control.outcome import Ack
from streams.control.publisher import CommandPublisher
from streams.core.domain.topic import Topic
from streams.kafka.client import connect
from streams.kafka.connection import Connection
from tests.integration.brokers import Broker, Reachable
from tests.integration.stage import Stage
from tests.integration.worker_process import PATIENCE_SECONDS, until
from tests.network import Link

pytestmark = pytest.mark.integration

KEY = b"a key of sixteen characters"


class Agent(threading.Thread):
    """A loop under a guard."""

    def __init__(self, guard: Guard, session_id: str) -> None:
        super().__init__(daemon=True)
        self.session = guard.session(session_id, agent_id="coder-7")
        self.steps = 0
        self.notes: list[str] = []
        self.aborted: SessionAborted | None = None
        self.enough = threading.Event()

    def run(self) -> None:
        try:
            while not self.enough.wait(0.01):
                self.notes += [note.text for note in self.session.check()]
                self.steps += 1
        except SessionAborted as aborted:
            self.aborted = aborted


class Floor:
    """A desk, guards and agents on one broker."""

    def __init__(self, desk: CommandPublisher, brokers: Any, bootstrap: str, options: dict[str, str]) -> None:
        self._desk, self._brokers, self._bootstrap, self._options = desk, brokers, bootstrap, options
        self._guards: list[Guard] = []
        self._agents: list[Agent] = []

    def guard(self, key: bytes | None = KEY) -> Guard:
        guard = Guard.kafka(self._bootstrap, key=key, kafka=self._options, start_wait=PATIENCE_SECONDS)
        self._guards.append(guard)
        return guard

    def agent(self, guard: Guard, session_id: str) -> Agent:
        agent = Agent(guard, session_id)
        agent.start()
        self._agents.append(agent)
        return agent

    async def issue(self, action: Action, session_id: str, **more: Any) -> str:
        now = time.time_ns() // 1_000_000
        command = Command(
            command_id=uuid.uuid4().hex,
            scope=more.pop("scope", Scope.SESSION),
            session_id=session_id,
            action=action,
            issued_at=now,
            expires_at=now + more.pop("for_ms", 3_600_000),
            reason="it goes in circles",
            issuer=Issuer(kind="operator", name="ana"),
            **more,
        )
        await self._desk.issue([command])
        return command.command_id

    async def acks(self, command_id: str | None) -> list[str]:
        """Return what was said of a command; with None, of guards that come and leave."""
        decoder = Codec.bundled().decoder(f"{Topic.SESSION_COMMAND_ACKS}-value")
        found = []
        async for record in self._brokers.read(Topic.SESSION_COMMAND_ACKS):
            ack = Ack.of(decoder.decode(record.value, tuple(record.headers)))
            if ack.command_id == command_id:
                found.append(ack.status)
        return found

    async def until(self, condition: Callable[[], bool], what: str) -> None:
        async def holds() -> bool:
            return condition()

        await until(holds, PATIENCE_SECONDS, what)

    async def until_acked(self, command_id: str | None, *statuses: str) -> None:
        async def holds() -> bool:
            return set(statuses) <= set(await self.acks(command_id))

        await until(holds, PATIENCE_SECONDS, f"{statuses} of a command")

    def close(self) -> None:
        for agent in self._agents:
            agent.enough.set()
        for guard in self._guards:
            guard.close(PATIENCE_SECONDS)


@asynccontextmanager
async def floor(broker: Reachable, form: OutputFormat = OutputFormat.AVRO) -> AsyncIterator[Floor]:
    options = {"enable.idempotence": str(broker.kind == "kafka").lower()}
    async with connect(Connection(broker.bootstrap)) as brokers:
        found = Floor(CommandPublisher(brokers, Codec.bundled(form), KEY), brokers, broker.bootstrap, options)
        try:
            yield found
        finally:
            await asyncio.to_thread(found.close)


@pytest.fixture
async def stood(stage: Stage, stage_broker: Broker) -> Broker:
    del stage  # it has made the topics
    return stage_broker


@pytest.mark.parametrize("form", list(OutputFormat))
async def test_an_agent_stops_goes_on_hears_and_ends_as_it_is_told(stood: Broker, form: OutputFormat) -> None:
    async with floor(stood, form) as here:
        agent = here.agent(here.guard(), "s-1")
        await here.until(lambda: agent.steps > 3, "the first steps")
        pause = await here.issue(Action.PAUSE, "s-1", on_timeout=OnTimeout.RESUME)
        await here.until_acked(pause, "received", "applied")
        steps = agent.steps
        note = await here.issue(Action.INJECT_MESSAGE, "s-1", message="read the log first")
        budget = await here.issue(Action.RAISE_BUDGET, "s-1", steps_budget=90)
        await here.until_acked(note, "received")
        await here.until_acked(budget, "received")
        assert agent.steps == steps
        assert agent.session.peek().level == "paused"
        resume = await here.issue(Action.RESUME, "s-1")
        await here.until_acked(resume, "applied")
        await here.until_acked(pause, "released")
        await here.until(lambda: agent.notes == ["read the log first"], "the note")
        await here.until_acked(budget, "applied")
        found = agent.session.peek().budget
        assert found is not None
        assert found.steps == 90
        abort = await here.issue(Action.ABORT, "s-1")
        await here.until(lambda: agent.aborted is not None, "the end")
        assert agent.aborted is not None
        assert agent.aborted.command_id == abort
        await here.until_acked(abort, "applied")


async def test_a_guard_that_begins_again_pauses_again_and_gives_no_note_twice(stood: Broker) -> None:
    async with floor(stood) as here:
        first = here.guard()
        agent = here.agent(first, "s-1")
        await here.until(lambda: agent.steps > 1, "the first steps")
        note = await here.issue(Action.INJECT_MESSAGE, "s-1", message="think")
        await here.until_acked(note, "applied")
        pause = await here.issue(Action.PAUSE, "s-1", on_timeout=OnTimeout.RESUME)
        await here.until_acked(pause, "applied")
        first.close(PATIENCE_SECONDS)
        again = here.agent(here.guard(), "s-1")
        await here.until(lambda: again.session.peek().level == "paused", "the pause")
        assert again.steps == 0
        await here.issue(Action.RESUME, "s-1")
        await here.until(lambda: again.steps > 3, "more steps")
        assert again.notes == []


async def test_a_hold_stops_what_runs_and_what_begins_later_and_no_other_agent(stood: Broker) -> None:
    async with floor(stood) as here:
        guard = here.guard()
        agent = here.agent(guard, "s-1")
        other = Agent(guard, "s-3")
        other.session.agent_id = "writer-1"
        hold = await here.issue(
            Action.PAUSE, None, scope=Scope.AGENT, agent_id="coder-7", on_timeout=OnTimeout.RESUME
        )
        await here.until_acked(hold, "applied")
        later = here.agent(guard, "s-2")
        await here.until(lambda: later.session.peek().level == "paused", "the second pause")
        assert later.steps == 0
        assert await asyncio.to_thread(other.session.check) == ()
        await here.issue(Action.RESUME, None, scope=Scope.AGENT, agent_id="coder-7")
        steps = agent.steps
        await here.until(lambda: agent.steps > steps and later.steps > 0, "more steps")


async def test_a_command_that_is_written_while_a_guard_looks_where_to_begin_is_obeyed(
    stood: Broker, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with floor(stood) as here:
        loop = asyncio.get_running_loop()
        issued: list[str] = []

        class Interrupted(confluent_kafka.Consumer):
            def offsets_for_times(self, *args: Any, **options: Any) -> Any:
                found = super().offsets_for_times(*args, **options)
                pause = here.issue(Action.PAUSE, "s-1", on_timeout=OnTimeout.RESUME)
                issued.append(asyncio.run_coroutine_threadsafe(pause, loop).result(PATIENCE_SECONDS))
                return found

        monkeypatch.setattr(confluent_kafka, "Consumer", Interrupted)
        agent = here.agent(here.guard(), "s-1")
        await here.until(lambda: agent.session.peek().level == "paused", "the pause")
        assert agent.steps == 0
        assert len(issued) == 1


async def test_what_a_guard_said_before_it_lost_its_brokers_reaches_operators(
    linked_stage: tuple[Stage, Link], monkeypatch: pytest.MonkeyPatch
) -> None:
    stage, link = linked_stage
    unsent: list[str] = []

    class Watched(kafka_channel.KafkaChannel):
        def close(self, within: float) -> Sequence[Mapping[str, Any]]:
            acks = super().close(within)
            unsent.extend(ack["status"] for ack in acks)
            return acks

    monkeypatch.setattr(kafka_channel, "KafkaChannel", Watched)
    monkeypatch.setattr(kafka_channel, "_ALIVE_EVERY_S", math.inf)
    async with floor(stage.broker) as here:
        agent = here.agent(guard := here.guard(), "s-1")
        await here.until_acked(None, "attached")
        link.silence()
        agent.session.close()
        await here.until(lambda: not guard._outgoing, "an ack on its way")
        monkeypatch.setattr(kafka_channel, "_ALIVE_EVERY_S", 0)
        await here.until(lambda: unsent == ["detached"], "the end of the channel")
        link.heal()
        await here.until_acked(None, "attached", "detached")


async def test_a_guard_with_another_key_obeys_nothing(stood: Broker) -> None:
    async with floor(stood) as here:
        agent = here.agent(here.guard(b"another key of sixteen"), "s-1")
        await here.until(lambda: agent.steps > 1, "the first steps")
        abort = await here.issue(Action.ABORT, "s-1")
        await here.until_acked(abort, "rejected")
        steps = agent.steps
        await here.until(lambda: agent.steps > steps, "more steps")

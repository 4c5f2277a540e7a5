"""A live policy and guarded agents: out of the loop without a person, and each step exactly once."""

from __future__ import annotations

import asyncio
import itertools
import math
import os
import random
import sys
from collections import defaultdict
from contextlib import aclosing
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import orjson
import pytest
from eddy_client import Guard

from schemas.codec import Codec
from streams.console.interventions.decided import Carried, Decided, decided
from streams.console.interventions.deciding import publish
from streams.console.read_model.model import ReadModel
from streams.control.outcome import Ack
from streams.core.domain.topic import Topic
from streams.kafka.client import Brokers, Stored, connect
from streams.kafka.clock import now_ms
from streams.kafka.connection import Connection
from tests.integration.apache_kafka import ApacheKafka
from tests.integration.brokers import Broker
from tests.integration.load import decision, keyed
from tests.integration.stage import Stage
from tests.integration.test_console_policy import alerts, console, publishes
from tests.integration.worker_process import PATIENCE_SECONDS, WorkerProcess, until

pytestmark = pytest.mark.integration

KEY = "a key of sixteen characters"
LADDER = {
    "mode": "dry_run",
    "rules": [
        {
            "name": "loops",
            "when": {"level": "LOOP"},
            "do": [{"action": "inject_message"}, {"action": "pause", "after_records": 5}],
            "limits": {"max_share_of_live": 1.0},
        }
    ],
}


def guard_of(broker: Broker, key: str | None = None) -> Guard:
    options = {"enable.idempotence": str(broker.kind == "kafka").lower()}
    return Guard.kafka(broker.bootstrap, key=key, kafka=options, start_wait=PATIENCE_SECONDS)


@dataclass
class Model:
    """A stub of a model that repeats one call until it is told, or for ever; its agent runs under a guard."""

    stage: Stage
    session_id: str
    obeys: bool = True
    steps: itertools.count[int] = field(default_factory=itertools.count)
    notes: list[str] = field(default_factory=list)
    repeated: int = 0
    last: float = 0.0

    async def call(self, *, again: bool) -> None:
        number = next(self.steps)
        same = {"tool_call": "search", "tool_input": '{"q": "the same"}', "tool_result": "nothing found"}
        other = {"tool_call": "read", "tool_input": f'{{"line": {number}}}', "tool_result": f"text {number}"}
        value = decision(self.session_id, number, **(same if again else other))
        value["meta"]["timestamp"] = now_ms()  # what is older than a minute is history to a policy
        await self.stage.send([keyed(value, self.stage.partitions)])
        self.repeated += again
        self.last = asyncio.get_running_loop().time()

    async def run_alone(self, rounds: int) -> None:
        """Loop for some rounds, and find the way out."""
        for again in [True] * rounds + [False] * 4:
            await self.call(again=again)

    async def run(self, guard: Guard) -> None:
        """Loop until it is told; one that does not obey, until it is stopped."""
        with guard.session(self.session_id, agent_id="agent") as session:
            out = 0
            while out < 4:
                self.notes += [note.text for note in await session.acheck()]
                again = not (self.notes and self.obeys)
                await self.call(again=again)
                out += not again
                await asyncio.sleep(0.05)


async def test_an_agent_is_noted_and_out_of_its_loop_and_one_that_ignores_notes_is_paused(
    stage: Stage, tmp_path: Path
) -> None:
    stage.worker()
    guard = guard_of(stage.broker)
    try:
        async with (
            connect(Connection(stage.broker.bootstrap)) as brokers,
            console(brokers, tmp_path) as operator,
        ):

            async def page() -> Any:
                return await operator.reads_json("/policy")

            said = await publishes(operator, {**LADDER, "mode": "live"}, 0, 400)
            assert "The rule 'loops' has no scoreboard yet" in said["detail"]
            await publishes(operator, LADDER, 0)
            await Model(stage, "alone").run_alone(20)

            async def scored() -> bool:
                return not (await page())["unproven"]

            await until(scored, PATIENCE_SECONDS, "the scoreboard of the dry run")
            await publishes(operator, {**LADDER, "mode": "live"}, 1)
            obeying, ignoring = Model(stage, "obeys"), Model(stage, "ignores", obeys=False)
            ignores = asyncio.create_task(ignoring.run(guard))
            async with asyncio.timeout(PATIENCE_SECONDS):
                await obeying.run(guard)

            async def live() -> dict[str, Any]:
                return {each["session_id"]: each for each in (await page())["outcomes"] if each["live"]}

            async def proven() -> bool:
                found = await live()
                states = {name: [each["state"] for each in row["steps"]] for name, row in found.items()}
                over = found.get("obeys", {}).get("is_over")
                return bool(over) and states == {"obeys": ["in effect"], "ignores": ["in effect"] * 2}

            await until(proven, PATIENCE_SECONDS, "one out of its loop, and one that stands still")
            stopped_at = ignoring.repeated
            board = (await page())["scores"]
            printed = orjson.loads(await stage.command("evaluate", "--interventions", "--json"))
            assert printed["rules"] == board
            beside = printed["without_steps"]
            assert (beside["acted"], beside["ended"]) == (1, 1)  # that of the dry run
            assert beside["records_until_over"] > board[0]["records_until_over"]
            assert "| no policy acted " in await stage.command("evaluate", "--interventions")
            # One click turns it off, and the pause stays what it is: a person resumes.
            await publishes(operator, orjson.loads((await page())["off"]), 2)
            assert ignoring.repeated == stopped_at
            assert "No policy is in force" in await operator.reads("/policy")
            ignores.cancel()
            await asyncio.gather(ignores, return_exceptions=True)
    finally:
        await asyncio.to_thread(guard.close, PATIENCE_SECONDS)
    [note] = obeying.notes
    assert "the same call with the same result" in note
    assert "search" not in note
    assert len(ignoring.notes) == 1
    assert [(row["version"], row["live"], row["acted"]) for row in board] == [(2, True, 2), (1, False, 1)]
    assert board[0]["ended"] == 1
    assert board[0]["records_until_over"] < board[1]["records_until_over"]


LOOPS = 200
GUARDS = 4
#: Loops that begin together. Each wave but the first waits until one more console was killed.
WAVE = 50
POLICY = {
    "version": 1,
    "mode": "live",
    "rules": [
        {
            "name": "loops",
            "do": {"action": "inject_message"},
            "limits": {"per_10_min": 1_000, "max_share_of_live": 1.0},
        }
    ],
    "limits": {"per_hour": 1_000, "per_hour_per_agent": 1_000},
}


class GuardedLoop:
    """An agent in a loop: it raises one alert after another until it gets a note."""

    def __init__(self, number: int) -> None:
        self.session_id, self.notes = f"s-{number}", list[str]()

    async def run(self, guard: Guard, brokers: Brokers) -> None:
        with guard.session(self.session_id, agent_id="coder-7") as session:
            told = asyncio.create_task(self._tell(brokers))
            while not self.notes:
                self.notes += [note.command_id for note in await session.acheck()]
                await asyncio.sleep(0.1)
            await told
            for _ in range(20):  # and none comes after it
                self.notes += [note.command_id for note in await session.acheck()]
                await asyncio.sleep(0.1)

    async def _tell(self, brokers: Brokers) -> None:
        number = 0
        while not self.notes:
            phase = "still_open" if number else "opened"
            await alerts(brokers, self.session_id, phase=phase, offset=number, records=4 + number)
            number += 1
            await asyncio.sleep(2)


class Consoles:
    """Two consoles under the policy; one is killed after another, and begins again."""

    def __init__(self, broker: Broker, directory: Path, chance: random.Random) -> None:
        self._broker, self._directory, self._chance = broker, directory, chance
        self._running: dict[int, WorkerProcess] = {}
        self.killed = 0

    def start(self, which: int) -> None:
        (directory := self._directory / f"console-{which}-{self.killed}").mkdir()
        environment = {
            **os.environ,
            "EDDY_COMMAND_KEY": KEY,
            "EDDY_CONSOLE_AUTOMATIC": "true",
            "EDDY_CONSOLE_DIR": str(self._directory / f"archive-{which}"),
            "PYTHONPATH": str(Path(__file__).parents[2]),
        }
        words = ["console", "--bootstrap-servers", self._broker.bootstrap, "--port", "0"]
        command = [sys.executable, "-m", "streams", *words]
        self._running[which] = WorkerProcess(command, directory, environment)

    async def run(self, decisions: Decisions) -> None:
        """Kill one as soon as so many decisions more are there."""
        while True:
            enough = len(decisions.rows) + self._chance.randrange(10, 25)
            await until(partial(decisions.are, enough), math.inf, "decisions")
            if isinstance(self._broker, ApacheKafka) and self.killed in {0, 2}:
                await asyncio.to_thread(self._broker.kill)
                await asyncio.sleep(self._chance.uniform(0, 2))
                await asyncio.to_thread(self._broker.start)
            which = self.killed % 2
            self._running[which].kill()
            self.killed += 1
            self.start(which)

    def kill(self) -> None:
        for each in self._running.values():
            each.kill()


class Decisions:
    """What the audit says, and what was commanded and answered, read from the beginning on."""

    def __init__(self, brokers: Brokers) -> None:
        self._brokers = brokers
        self._model = ReadModel()
        self.rows: dict[str, None] = {}
        self.commands: dict[str, set[bytes]] = defaultdict(set)
        self.applied: dict[str, str] = {}

    async def read(self) -> None:
        topics = (Topic.CONSOLE_ACTIONS, Topic.SESSION_COMMANDS, Topic.SESSION_COMMAND_ACKS)
        decoders = {topic: Codec.bundled().decoder(f"{topic}-value") for topic in topics}
        counts = await self._brokers.partition_counts(topics)
        places = {(topic, each): 0 for topic in topics for each in range(counts[topic])}
        async with aclosing(self._brokers.tail(places)) as batches:
            async for batch in batches:
                for topic, record in batch:
                    self._take(
                        Topic(topic), record, decoders[Topic(topic)].decode(record.value, record.headers)
                    )

    def _take(self, topic: Topic, record: Stored, fields: dict[str, Any]) -> None:
        match topic:
            case Topic.CONSOLE_ACTIONS:
                assert self._model.take(topic, record, fields)
                self.rows[fields["id"]] = None
            case Topic.SESSION_COMMANDS:
                self.commands[fields["session_id"]].add(fields["command_id"])
            case _:
                ack = Ack.of(fields)
                if ack.status == "applied" and ack.command_id is not None:
                    self.applied[ack.command_id] = ack.session_id

    def are(self, enough: int) -> bool:
        """Tell whether there are so many records of decisions."""
        return len(self.rows) >= enough

    def known(self) -> list[Decided]:
        return decided(self._model.ledger.actions.values())


@pytest.mark.timeout(900)
async def test_each_of_200_loops_is_told_once_though_consoles_and_brokers_are_killed(
    stage_on_own_broker: Stage, own_broker: Broker, tmp_path: Path
) -> None:
    chance = random.Random(17)
    loops = [GuardedLoop(number) for number in range(LOOPS)]
    consoles = Consoles(own_broker, tmp_path, chance)
    guards = [guard_of(own_broker, KEY) for _ in range(GUARDS)]
    try:
        async with connect(Connection(own_broker.bootstrap)) as brokers:
            await publish(brokers, POLICY)
            for which in range(2):
                consoles.start(which)
            decisions = Decisions(brokers)

            async def looped(number: int, loop: GuardedLoop) -> None:
                waits = number // WAVE
                await until(lambda: consoles.killed >= waits, math.inf, "the kill of a console")
                await loop.run(guards[number % GUARDS], brokers)

            def carried_out() -> bool:
                # A claim that its console left for more than a minute has failed; the loop's next alert asks.
                return {each.carried for each in decisions.known()} <= {Carried.ISSUED, Carried.FAILED}

            async with asyncio.TaskGroup() as group:  # the failure of one task ends all
                endless = [group.create_task(each) for each in (decisions.read(), consoles.run(decisions))]
                await asyncio.gather(*itertools.starmap(looped, enumerate(loops)))
                await until(carried_out, PATIENCE_SECONDS, "consoles that say what became of every claim")
                for task in endless:
                    task.cancel()
    finally:
        consoles.kill()
        await asyncio.to_thread(lambda: [guard.close(PATIENCE_SECONDS) for guard in guards])
    assert consoles.killed >= LOOPS // WAVE - 1
    issued = [each for each in decisions.known() if each.carried is Carried.ISSUED]
    by_session = {each.done.session_id: each.command_id for each in issued}
    assert len(issued) == len(by_session) == LOOPS
    for loop in loops:
        wanted = by_session[loop.session_id]
        assert loop.notes == [wanted]
        assert decisions.commands[loop.session_id] == {wanted}
        assert decisions.applied[wanted] == loop.session_id

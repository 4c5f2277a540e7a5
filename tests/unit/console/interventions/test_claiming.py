"""Several consoles under a live policy, killed between any two writes: each step is asked for once."""

import asyncio
import random
from collections import Counter
from collections.abc import Iterable
from typing import Any

import orjson
import pytest

from streams.console.interventions import deciding
from streams.console.interventions.decided import Carried, decided
from streams.console.interventions.deciding import LEASE_MS, OLDEST_MS, Deciding
from streams.console.read_model.model import ReadModel
from streams.control.audit import AuditRecord
from streams.control.command import Command
from streams.core.domain.topic import Topic
from streams.core.errors import ConfigurationError
from streams.kafka.stored import Stored
from tests.unit.console.interventions.test_decided import AT, fields
from tests.unit.console.told import Told, Topics, folded


class Log:
    """What stands on the topics, and what time it is."""

    def __init__(self) -> None:
        self.topics = Topics()
        self.records: list[Told] = []
        self.now = AT

    def write(self, topic: Topic, key: str, value: dict[str, Any]) -> tuple[int, int]:
        told = self.topics.told(topic, key, orjson.loads(orjson.dumps(value)), self.now)
        self.records.append(told)
        return told.stored.partition, told.stored.offset

    def commands(self) -> list[dict[str, Any]]:
        return [each.fields or {} for each in self.records if each.topic is Topic.SESSION_COMMANDS]


class SimulatedConsole:
    """A console that reads the log some time later, and dies before or after one of its writes."""

    def __init__(
        self, log: Log, chance: random.Random, name: str, dies_at: int | None, *, refuses: bool = False
    ) -> None:
        self.log, self.chance, self.dies_at, self.refuses = log, chance, dies_at, refuses
        self.model, self.read = ReadModel(), 0
        self.deciding = Deciding(self.model, self, self, lambda: log.now, name)  # type: ignore[arg-type]
        self.task = asyncio.create_task(self.deciding.run())

    async def _moment(self) -> None:
        for _ in range(self.chance.randrange(4)):
            await asyncio.sleep(0)

    def _fold(self) -> None:
        for told in self.log.records[self.read :]:
            assert self.model.take(told.topic, told.stored, told.fields)
        self.read = len(self.log.records)

    def _may_die(self) -> None:
        if self.dies_at is not None:
            self.dies_at -= 1
            if self.dies_at < 0:
                raise asyncio.CancelledError

    async def _write(self, topic: Topic, key: str, value: dict[str, Any]) -> tuple[int, int]:
        await self._moment()
        self._may_die()
        place = self.log.write(topic, key, value)
        self._may_die()
        await self._moment()
        return place

    async def audit(self, record: AuditRecord) -> tuple[int, int]:
        return await self._write(Topic.CONSOLE_ACTIONS, record.key.decode(), record.fields())

    async def issue(self, commands: Iterable[Command]) -> list[tuple[int, int]]:
        if self.refuses:
            raise ConfigurationError("There is no topic session-commands.")
        return [
            await self._write(Topic.SESSION_COMMANDS, each.key.decode(), each.fields()) for each in commands
        ]

    async def caught_up(self, topics: Iterable[Topic]) -> None:
        await self._moment()
        self._fold()

    async def passed(self, topic: Topic, partition: int, offset: int) -> bool:
        await self._moment()
        self._fold()
        return True


def policy(**limits: int) -> dict[str, Any]:
    rule = {"name": "costly", "do": {"action": "inject_message"}, "limits": {"max_share_of_live": 1.0}}
    return {"version": 1, "mode": "live", "rules": [rule], "limits": {"per_hour_per_agent": 1_000} | limits}


def alert(log: Log, number: int) -> tuple[Stored, dict[str, Any]]:
    """Write an alert of a session that is live, and return what listeners hear."""
    told = fields(f"e-{number}")
    log.write(Topic.SESSION_ALERTS, told["session_id"], {**told, "id": f"alert-{number}"})
    return Stored(0, number, log.now, told["session_id"].encode(), b"{}", ()), told


def settled(log: Log) -> bool:
    actions = folded(log.records).ledger.actions.values()
    return all(each.carried is not Carried.CLAIMED for each in decided(actions))


async def ran(
    log: Log,
    consoles: list[SimulatedConsole],
    alerts: list[tuple[Stored, dict[str, Any]]],
    chance: random.Random,
) -> None:
    """Let all consoles hear of all alerts, and time go on until nothing is under way."""
    for console in consoles:
        for record, told in chance.sample(alerts, len(alerts)):
            console.deciding.on_alert(record, told)
    idle = 0
    while idle < 200:
        before = len(log.records)
        await asyncio.sleep(0.0005)
        idle = idle + 1 if len(log.records) == before else 0
        if idle == 100 and not settled(log):
            log.now += LEASE_MS
            idle = 0
    for console in consoles:
        console.task.cancel()
    await asyncio.gather(*(each.task for each in consoles), return_exceptions=True)


@pytest.fixture(autouse=True)
def _looks_often(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(deciding, "_LOOK_SECONDS", 0.001)


@pytest.mark.parametrize("seed", range(12))
async def test_every_step_is_asked_for_once_whoever_dies(seed: int) -> None:
    chance, log = random.Random(seed), Log()
    log.write(Topic.INTERVENTION_POLICY, "settings", policy(per_hour=1_000))
    alerts = [alert(log, number) for number in range(10)]
    deaths = [None, chance.randrange(30), chance.randrange(30)]
    consoles = [SimulatedConsole(log, chance, f"c{number}", at) for number, at in enumerate(deaths)]
    await ran(log, consoles, alerts, chance)
    asked = Counter(each["session_id"] for each in log.commands())
    assert asked == Counter(f"of e-{number}" for number in range(10))
    known = decided(folded(log.records).ledger.actions.values())
    assert [each.carried for each in known] == [Carried.ISSUED] * 10


@pytest.mark.parametrize("seed", range(6))
async def test_all_consoles_together_exceed_no_limit(seed: int) -> None:
    chance, log = random.Random(seed), Log()
    log.write(Topic.INTERVENTION_POLICY, "settings", policy(per_hour=4))
    alerts = [alert(log, number) for number in range(9)]
    consoles = [SimulatedConsole(log, chance, f"c{number}", None) for number in range(3)]
    await ran(log, consoles, alerts, chance)
    assert len({each["command_id"] for each in log.commands()}) == len(log.commands()) == 4


async def test_what_was_claimed_is_not_asked_for_once_the_policy_is_off_or_the_alert_too_old() -> None:
    for turned_off in (True, False):
        chance, log = random.Random(1), Log()
        log.write(Topic.INTERVENTION_POLICY, "settings", policy())
        first = SimulatedConsole(log, chance, "one", 1)  # it dies when its claim is there
        record, told = alert(log, 1)
        first.deciding.on_alert(record, told)
        await asyncio.gather(first.task, return_exceptions=True)
        assert not settled(log)
        if turned_off:
            log.write(Topic.INTERVENTION_POLICY, "settings", {"version": 2, "mode": "off", "rules": []})
        second = SimulatedConsole(log, chance, "two", None)
        second._fold()
        await asyncio.sleep(0.01)
        log.now += LEASE_MS if turned_off else OLDEST_MS + 1
        await ran(log, [second], [], chance)
        assert log.commands() == []
        [known] = decided(folded(log.records).ledger.actions.values())
        assert known.carried is Carried.FAILED


async def test_a_loop_whose_claim_came_too_late_is_told_by_its_next_alert() -> None:
    chance, log = random.Random(1), Log()
    log.write(Topic.INTERVENTION_POLICY, "settings", policy(per_hour=2))
    first = SimulatedConsole(log, chance, "one", 1)  # it dies when its claim is there
    first.deciding.on_alert(*alert(log, 1))
    await asyncio.gather(first.task, return_exceptions=True)
    log.now += OLDEST_MS + 1  # nobody was there for a minute
    second = SimulatedConsole(log, chance, "two", None)
    await ran(log, [second], [], chance)
    assert log.commands() == []
    third = SimulatedConsole(log, chance, "three", None)
    await ran(log, [third], [alert(log, 1)], chance)
    assert [each["session_id"] for each in log.commands()] == ["of e-1"]
    known = decided(folded(log.records).ledger.actions.values())
    assert [each.carried for each in known] == [Carried.FAILED, Carried.ISSUED]


async def test_who_can_never_ask_opens_the_breaker() -> None:
    chance, log = random.Random(1), Log()
    log.write(Topic.INTERVENTION_POLICY, "settings", policy(per_hour=3))
    for number in range(6):
        console = SimulatedConsole(log, chance, f"c{number}", None, refuses=True)
        await ran(log, [console], [alert(log, 1)], chance)
    known = decided(folded(log.records).ledger.actions.values())
    assert [each.carried for each in known] == [Carried.FAILED] * 3 + [Carried.NOT]
    assert known[-1].done.withheld


async def test_a_claim_that_failed_keeps_its_place_within_the_limits() -> None:
    chance, log = random.Random(1), Log()
    log.write(Topic.INTERVENTION_POLICY, "settings", policy(per_hour=1))
    first = SimulatedConsole(log, chance, "one", 1)  # it dies, or is only very slow, with its claim there
    first.deciding.on_alert(*alert(log, 1))
    await asyncio.gather(first.task, return_exceptions=True)
    log.now += OLDEST_MS + 1
    await ran(log, [SimulatedConsole(log, chance, "two", None)], [], chance)
    await ran(log, [SimulatedConsole(log, chance, "three", None)], [alert(log, 2)], chance)
    assert log.commands() == []

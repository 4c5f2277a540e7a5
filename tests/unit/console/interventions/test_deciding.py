"""Which alerts are decided on: new ones, once what was decided before is known; and no record ends it."""

import asyncio
import json
from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager
from typing import Any

import orjson
import pytest

from schemas.codec import Codec
from streams.console.intake import ReadModelIntake
from streams.console.interventions.deciding import OLDEST_MS, Deciding
from streams.console.read_model.model import ReadModel
from streams.control.audit import AuditRecord
from streams.core.domain.topic import Topic
from streams.kafka.stored import Stored
from tests.unit.console.interventions.test_decided import AT, fields
from tests.unit.console.told import Told, Topics, folded

POLICY = {"version": 1, "mode": "dry_run", "rules": [{"name": "costly", "do": {"action": "pause"}}]}


class Desk:
    """Keeps what the audit would get."""

    def __init__(self) -> None:
        self.records: list[AuditRecord] = []
        self.came = asyncio.Event()

    async def audit(self, record: AuditRecord) -> tuple[int, int]:
        self.records.append(record)
        self.came.set()
        return 0, len(self.records)


class Reading:
    """A feed that has caught up when the test says so."""

    def __init__(self) -> None:
        self.there = asyncio.Event()

    async def caught_up(self, topics: Iterable[Topic]) -> None:
        assert set(topics) == {Topic.CONSOLE_ACTIONS, Topic.INTERVENTION_POLICY}
        await self.there.wait()

    async def passed(self, topic: Topic, partition: int, offset: int) -> bool:
        return True


@asynccontextmanager
async def deciding(now: int = AT, *more: Told) -> AsyncIterator[tuple[Deciding, Desk, Reading]]:
    desk, reading = Desk(), Reading()
    model = folded([Topics().told(Topic.INTERVENTION_POLICY, "settings", POLICY, AT), *more])
    found = Deciding(model, desk, reading, lambda: now)  # type: ignore[arg-type]  # takes what a desk does
    task = asyncio.create_task(found.run())
    try:
        yield found, desk, reading
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


def stored(session_id: str, at: int = AT) -> Stored:
    return Stored(0, 5, at, session_id.encode(), b"{}", ())


@pytest.mark.parametrize("age", [-OLDEST_MS - 1, OLDEST_MS + 1, 86_400_000, -86_400_000])
async def test_neither_an_old_alert_nor_one_of_the_future_is_decided_on(age: int) -> None:
    async with deciding() as (found, desk, reading):
        reading.there.set()
        found.on_alert(stored("s-far", AT - age), fields("e-far"))
        found.on_alert(stored("s-now"), fields("e-now"))
        await desk.came.wait()
    assert [each.target for each in desk.records] == ["of e-now"]


async def test_nothing_is_decided_before_it_is_known_what_was_decided_before() -> None:
    async with deciding() as (found, desk, reading):
        found.on_alert(stored("s-now"), fields("e-now"))
        for _ in range(20):
            await asyncio.sleep(0)
        assert desk.records == []
        reading.there.set()
        await desk.came.wait()
    assert [each.target for each in desk.records] == ["of e-now"]


async def test_nothing_is_decided_on_what_somebody_called_no_loop() -> None:
    said = [Topics().triage(do, f"of {name}", AT) for do, name in (("not_a_loop", "e-no"), ("loop", "e-yes"))]
    async with deciding(AT, *said) as (found, desk, reading):
        reading.there.set()
        for name in ("e-no", "e-yes"):
            found.on_alert(stored("s-now"), {**fields(name), "episode_id": f"of {name}"})
        await desk.came.wait()
    assert [json.loads(each.request or "")["episode_id"] for each in desk.records] == ["of e-yes"]


async def test_an_alert_that_is_not_what_its_topic_promises_ends_nothing() -> None:
    async with deciding() as (found, desk, reading):
        reading.there.set()
        found.on_alert(stored("s-odd"), {"event_type": "loop_episode", "session_id": "s-odd"})
        found.on_alert(stored("s-now"), fields("e-now"))
        await desk.came.wait()
    assert [each.target for each in desk.records] == ["of e-now"]


@pytest.mark.parametrize("is_new", [True, False])
async def test_listeners_hear_of_what_is_new_and_never_of_history(is_new: bool) -> None:
    heard: list[Any] = []
    intake = ReadModelIntake(ReadModel(), Codec.bundled(), {"intervention-policy": Topic.INTERVENTION_POLICY})
    intake.listeners[Topic.INTERVENTION_POLICY] = lambda _, told: heard.append(told)
    record = Stored(0, 0, AT, b"settings", orjson.dumps(POLICY), ())
    await intake.take([("intervention-policy", record)], is_new=is_new)
    assert heard == ([POLICY] if is_new else [])

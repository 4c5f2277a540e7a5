"""A policy in dry run on a broker: the audit says what would have been done, the page what came of it."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import orjson
import pytest
from aiohttp.test_utils import TestServer

from schemas.codec import Codec
from streams.console.app import application
from streams.console.interventions.deciding import held, publish
from streams.console.live_console import live_console
from streams.console.settings import ConsoleSettings
from streams.control.audit import AuditRecord
from streams.core.domain.record import Outgoing
from streams.core.domain.topic import Topic
from streams.core.errors import ConflictError
from streams.core.policy.intervention import Mode
from streams.kafka.client import Brokers, connect
from streams.kafka.clock import now_ms
from streams.kafka.connection import Connection
from tests.integration.console_operator import Operator, logged_in
from tests.integration.stage import Stage
from tests.integration.worker_process import PATIENCE_SECONDS, until

pytestmark = pytest.mark.integration

POLICY = {
    "mode": "dry_run",
    "rules": [
        {
            "name": "costly",
            "when": {"phase": ["escalated", "still_open"], "min_tokens_since_onset": 20_000},
            "do": {"action": "pause"},
            "limits": {"per_10_min": 1},
        }
    ],
}
WHY = "to see whom it would pause"


@pytest.fixture
async def brokers(stage: Stage) -> AsyncIterator[Brokers]:
    async with connect(Connection(stage.broker.bootstrap)) as connected:
        yield connected


@asynccontextmanager
async def console(brokers: Brokers, directory: Path, *, automatic: bool = True) -> AsyncIterator[Operator]:
    settings = ConsoleSettings(_env_file=None, console_dir=directory, web_port=0, console_automatic=automatic)
    async with (
        live_console(settings, brokers, Codec.bundled(), "here", now_ms, from_beginning=True) as live,
        TestServer(application(live[0], live[1])) as server,
        logged_in(live[0], str(server.make_url("")).rstrip("/")) as operator,
    ):
        yield operator


async def publishes(operator: Operator, document: object, based_on: int, status: int = 200) -> dict[str, Any]:
    fields = {"document": orjson.dumps(document).decode(), "based_on": str(based_on), "why": WHY}
    answer = await operator.posts("/actions/policy", fields)
    said: dict[str, Any] = await answer.json()
    assert answer.status == status, said
    return said


async def alerts(brokers: Brokers, session_id: str, age_ms: int = 0, **given: Any) -> None:
    """Write an event of an episode as a worker does."""
    at = now_ms() - age_ms
    event = {
        "id": f"{session_id}/{given.get('phase')}/{given.get('offset', 5)}",
        "event_type": "loop_episode",
        "session_id": session_id,
        "agent_id": "coder-7",
        "event_id": "x",
        "timestamp": at,
        "partition": 0,
        "offset": 5,
        "phase": "escalated",
        "level": "LOOP",
        "reopened": False,
        "rule": "R1",
        "period": None,
        "count": 4,
        "tools": ["shell"],
        "signatures": ["a"],
        "first_offset": 1,
        "first_timestamp": at - 4_000,
        "last_offset": 5,
        "last_timestamp": at,
        "records": 4,
        "tokens_since_onset": 25_000,
        "cost_since_onset": 0.5,
        "episode_id": f"episode of {session_id}",
        "reason": None,
        **given,
    }
    encoder = Codec.bundled().encoder("session-alerts-value")
    absent = dict.fromkeys(
        ("severity", "signature", "repeat_count", "chain_id", "pattern", "ema", "step", "target")
    )
    value = encoder.encode({**absent, **event})
    await brokers.write(
        Topic.SESSION_ALERTS, [(0, Outgoing(session_id.encode(), value, at, list(encoder.headers)))]
    )


async def audit(brokers: Brokers) -> list[AuditRecord]:
    decoder = Codec.bundled().decoder("console-actions-value")
    found = [
        AuditRecord.of(decoder.decode(each.value, tuple(each.headers)))
        async for each in brokers.read(Topic.CONSOLE_ACTIONS)
    ]
    return [each for each in found if each.via == "automatic"]


async def decided(brokers: Brokers, count: int) -> list[AuditRecord]:
    async def enough() -> bool:
        return len(await audit(brokers)) >= count

    await until(enough, PATIENCE_SECONDS, f"{count} decisions")
    return await audit(brokers)


async def test_what_would_have_been_paused_is_in_the_audit_and_what_came_of_it_on_the_page(
    brokers: Brokers, tmp_path: Path
) -> None:
    async with console(brokers, tmp_path) as operator:
        await publishes(operator, POLICY, 0)
        await alerts(brokers, "s-cheap", tokens_since_onset=100)
        await alerts(brokers, "s-old", age_ms=120_000)
        await alerts(brokers, "s-17")
        [record] = await decided(brokers, 1)
        assert (record.target, record.result, record.who) == ("s-17", "dry_run", "policy costly")
        await alerts(brokers, "s-17", phase="still_open", offset=40, records=30, tokens_since_onset=90_000)

        async def told() -> bool:
            found: Any = await operator.reads_json("/policy")
            return bool(found["scores"] and found["scores"][0]["went_on"] == 1)

        await until(told, PATIENCE_SECONDS, "the score")
        found: Any = await operator.reads_json("/policy")
    assert found["scores"][0] | {"cost": 0} == {
        "rule": "costly",
        "version": 1,
        "live": False,
        "acted": 1,
        "went_on": 1,
        "recovered": 0,
        "open": 0,
        "ended": 0,
        "records_until_over": None,
        "tokens_until_over": None,
        "withheld": 0,
        "tokens": 65_000,
        "cost": 0,
    }
    assert not [each async for each in brokers.read(Topic.SESSION_COMMANDS)]


async def test_two_consoles_decide_alike_and_count_once(brokers: Brokers, tmp_path: Path) -> None:
    async with (
        console(brokers, tmp_path / "one") as operator,
        console(brokers, tmp_path / "two") as other,
    ):
        await publishes(operator, POLICY, 0)

        async def both_know() -> bool:
            found: Any = await other.reads_json("/policy")
            return bool(found["version"] == 1)

        await until(both_know, PATIENCE_SECONDS, "the policy in the other console")
        await alerts(brokers, "s-17")

        async def both_tell() -> bool:
            pages: list[Any] = [await each.reads_json("/policy") for each in (operator, other)]
            return [page["decisions"] for page in pages] == [1, 1]

        await until(both_tell, PATIENCE_SECONDS, "the decision in both consoles")
        assert {each.id for each in await audit(brokers)} == {(await decided(brokers, 1))[0].id}


async def test_a_limit_opens_the_breaker_until_a_version_is_published_again(
    brokers: Brokers, tmp_path: Path
) -> None:
    async with console(brokers, tmp_path) as operator:
        await publishes(operator, POLICY, 0)
        for number in range(2):
            await alerts(brokers, f"s-{number}")
            await decided(brokers, number + 1)
        first, second = await audit(brokers)
        assert (first.result, second.result) == ("dry_run", "withheld")
        assert second.why == "it decided 1 times in ten minutes, which is its limit"

        async def told() -> bool:
            return "The breaker of costly is open" in await operator.reads("/policy")

        await until(told, PATIENCE_SECONDS, "the breaker on the page")
        assert "The breaker of costly is open" in await operator.reads("/alerts")
        await publishes(operator, POLICY, 1)
        await alerts(brokers, "s-9")
        assert [each.result for each in await decided(brokers, 3)][-1] == "dry_run"
        assert "breaker of costly is open" not in await operator.reads("/alerts")


async def test_a_document_that_is_wrong_or_late_is_not_published(brokers: Brokers, tmp_path: Path) -> None:
    async with console(brokers, tmp_path) as operator:
        said = await publishes(operator, {**POLICY, "mode": "alive"}, 0, 400)
        assert "mode: must be off, dry_run or live." in said["detail"]
        said = await publishes(operator, {**POLICY, "mode": "live"}, 0, 400)
        assert "The rule 'costly' has no scoreboard yet" in said["detail"]
        await publishes(operator, POLICY, 0)
        said = await publishes(operator, POLICY, 0, 409)
        assert "Version 1 is in force by now" in said["detail"]
    assert len([each async for each in brokers.read(Topic.INTERVENTION_POLICY)]) == 1


async def test_who_publishes_the_same_version_at_the_same_moment_is_told(brokers: Brokers) -> None:
    document = {**POLICY, "version": 1, "changed": {"at": 1, "by": "ana", "why": WHY}}
    assert await publish(brokers, document) == 0
    with pytest.raises(ConflictError, match="published version 1 at the same moment"):
        await publish(brokers, {**document, "mode": "off"})
    assert (await held(brokers)).mode is Mode.DRY_RUN


async def test_what_the_brokers_hold_counts_and_not_what_the_console_has_read(
    brokers: Brokers, tmp_path: Path
) -> None:
    async with console(brokers, tmp_path) as operator:
        await publish(brokers, {**POLICY, "version": 1})
        said = await publishes(operator, POLICY, 0, 409)
        assert "Version 1 is in force by now" in said["detail"]


async def test_a_console_that_starts_later_knows_what_was_decided_and_decides_on(
    brokers: Brokers, tmp_path: Path
) -> None:
    async with console(brokers, tmp_path / "one") as operator:
        await publishes(operator, POLICY, 0)
        await alerts(brokers, "s-1")
        await decided(brokers, 1)
    async with console(brokers, tmp_path / "two"):
        await alerts(brokers, "s-2")
        first, second = await decided(brokers, 2)
    assert (first.target, first.result) == ("s-1", "dry_run")
    assert (second.target, second.result) == ("s-2", "withheld")


async def test_unless_it_is_wanted_nothing_is_computed(brokers: Brokers, tmp_path: Path) -> None:
    async with console(brokers, tmp_path, automatic=False) as operator:
        await publishes(operator, POLICY, 0)
        await alerts(brokers, "s-17")

        async def known() -> bool:
            found: Any = await operator.reads_json("/alerts?state=needs_you")
            return bool(found["rows"])

        await until(known, PATIENCE_SECONDS, "the alert in the inbox")
        assert "This console runs no policy" in await operator.reads("/policy")
    assert not await audit(brokers)

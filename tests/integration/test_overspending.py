"""Sessions that overspend are told once, and a live policy caps them."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest

from streams.core.domain.topic import Topic
from streams.kafka.client import connect
from streams.kafka.clock import now_ms
from streams.kafka.connection import Connection
from tests.integration.load import Sending, decision, keyed
from tests.integration.reference_fold import value_of
from tests.integration.stage import Stage
from tests.integration.test_console_policy import console, publishes
from tests.integration.test_policy_acts import guard_of
from tests.integration.worker_process import PATIENCE_SECONDS, until

pytestmark = pytest.mark.integration

CAP: dict[str, Any] = {
    "mode": "dry_run",
    "rules": [
        {
            "name": "cap",
            "when": {"spending": ["cost"]},
            "do": [{"action": "inject_message"}, {"action": "pause", "after_records": 4}],
            "limits": {"max_share_of_live": 1.0},
        }
    ],
}


def spends(session_id: str, number: int, *, tokens: int, cost: float | None = None) -> dict[str, Any]:
    value = decision(
        session_id, number, tool_input=f'{{"n": {number}}}', tool_output_summary=f"part {number}"
    )
    value["meta"]["timestamp"] = now_ms()  # what is older than a minute is history to a policy
    value["task_type"] = "api"
    value["state_delta"] = {"tokens_consumed": tokens, "cumulative_session_cost": cost}
    return value


def tasks(stage: Stage, count: int) -> Iterable[Sending]:
    for number in range(count):
        value = spends(f"task-{number}", 0, tokens=1_000)
        yield keyed({**value, "control": {"is_terminal": True}}, stage.partitions)


async def told(stage: Stage) -> list[tuple[str, str, str]]:
    values = [value_of(stored) for stored in await stage.read(Topic.SESSION_ALERTS)]
    spending = [each for each in values if each["event_type"] == "overspending"]
    return [(each["session_id"], each["rule"], each["phase"]) for each in spending]


async def test_far_more_than_its_kind_takes_is_told_wherever_the_session_is(stage: Stage) -> None:
    worker = stage.worker()
    await stage.send(tasks(stage, 20))

    async def known() -> bool:
        profiles = [value_of(each) for each in await stage.read(Topic.TASK_PROFILES)]
        return any(each["recommendation"]["samples"] == 20 for each in profiles)

    await until(known, PATIENCE_SECONDS, "twenty completed tasks", worker)
    names = [f"heavy-{number}" for number in range(8)]
    for number in range(4):
        await stage.send(keyed(spends(name, number, tokens=8_000), stage.partitions) for name in names)
    wanted = [(name, "kind", phase) for name in sorted(names) for phase in ("over", "still_over")]

    async def all_told() -> bool:
        return sorted(set(await told(stage))) == wanted

    await until(all_told, PATIENCE_SECONDS, "every session that uses too much", worker)
    await stage.processed()
    assert sorted(await told(stage)) == wanted
    assert await worker.metric("eddy_events_total", event_type="overspending") == len(wanted)


async def test_a_cap_on_cost_is_noted_and_then_enforced_without_a_person(
    stage: Stage, tmp_path: Path
) -> None:
    await stage.publish_settings(spend_cost=1.0, alert_heartbeat_records=2)
    stage.worker()
    guard = guard_of(stage.broker)
    try:
        async with (
            connect(Connection(stage.broker.bootstrap)) as brokers,
            console(brokers, tmp_path) as operator,
        ):

            async def page() -> Any:
                return await operator.reads_json("/policy")

            await publishes(operator, CAP, 0)
            for number in range(20):
                await stage.send(
                    [keyed(spends("alone", number, tokens=10, cost=0.2 * number), stage.partitions)]
                )

            async def scored() -> bool:
                return not (await page())["unproven"]

            await until(scored, PATIENCE_SECONDS, "the scoreboard of the dry run")
            await publishes(operator, {**CAP, "mode": "live"}, 1)
            notes: list[str] = []

            async def run() -> None:
                with guard.session("capped", agent_id="agent") as session:
                    for number in range(10_000):
                        notes.extend([note.text for note in await session.acheck()])
                        await stage.send(
                            [keyed(spends("capped", number, tokens=10, cost=0.2 * number), stage.partitions)]
                        )
                        await asyncio.sleep(0.05)

            running = asyncio.create_task(run())

            async def stopped() -> bool:
                found = {
                    each["session_id"]: each["steps"] for each in (await page())["outcomes"] if each["live"]
                }
                # On a slow machine a claim comes too late, and the next alert asks for the step again.
                return [each["state"] for each in found.get("capped", ())].count("in effect") == 2

            await until(stopped, PATIENCE_SECONDS, "a session that was noted and stands still")
            running.cancel()
            await asyncio.gather(running, return_exceptions=True)
    finally:
        await asyncio.to_thread(guard.close, PATIENCE_SECONDS)
    assert notes[0].startswith("This session spends too much: this session has cost 1.")
    assert ("capped", "cost", "over") in await told(stage)

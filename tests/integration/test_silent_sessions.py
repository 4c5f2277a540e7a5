"""Sessions that owe a step and are silent are told once, whichever worker has them, and to speak again."""

from __future__ import annotations

import time
from collections.abc import Iterable
from typing import Any

import pytest

from streams.core.domain.topic import Topic
from streams.core.policy.silence import PATIENCE, pace_of
from streams.worker.crash_point import AT_LEAST_ONCE, EXACTLY_ONCE, CrashPoint
from streams.worker.options import changelog_topic
from streams.worker.state.changelog import decode_session, session_key
from tests.integration.load import Sending, decision, keyed
from tests.integration.reference_fold import value_of
from tests.integration.stage import SOON_MISSED, Stage
from tests.integration.worker_process import PATIENCE_SECONDS, WorkerProcess, until

pytestmark = pytest.mark.integration
kafka_only = pytest.mark.kafka_only("the embedded broker has no transactions")

KILLED = 128 + 9
SILENCE_MS = 1_000
LIMIT_MS = PATIENCE * SILENCE_MS

#: Enough of them that each partition has some.
SILENT = [f"silent-{number}" for number in range(12)]
#: One for each reason to owe nothing, and one that a person sits beside.
OTHERS = ("answered", "ended", "asks", "attended")


def steps(stage: Stage, session_id: str, *, first: int = 0) -> Iterable[Sending]:
    """Yield two steps of a session, the last of which says what is owed."""
    at_ms = time.time_ns() // 1_000_000
    for number in (first, first + 1):
        value = decision(session_id, number)
        value["meta"]["timestamp"] = at_ms + number
        if number == first + 1:
            value = _last(session_id, value)
        yield keyed(value, stage.partitions)


def _last(session_id: str, value: dict[str, Any]) -> dict[str, Any]:
    match session_id:
        case "answered":
            value["action"] = {"status": "success"}
        case "ended":
            value["control"] = {"is_terminal": True}
        case "asks":
            value["control"] = {"hitl_required": True}
        case "attended":
            value["meta"]["user_turn"] = "correction"
    return value


async def told(stage: Stage, phase: str) -> list[dict[str, Any]]:
    """Return what was told of silent sessions, in a phase."""
    values = [value_of(stored) for stored in await stage.read(Topic.SESSION_ALERTS)]
    return [each for each in values if each["event_type"] == "silent_session" and each["phase"] == phase]


async def all_told(stage: Stage, phase: str, names: Iterable[str]) -> list[dict[str, Any]]:
    """Wait until all of them were told, and return what was."""
    wanted = set(names)

    async def are() -> bool:
        return {each["session_id"] for each in await told(stage, phase)} >= wanted

    await until(are, PATIENCE_SECONDS, f"{phase} of {sorted(wanted)}", *stage.workers)
    return await told(stage, phase)


async def all_remembered(stage: Stage) -> None:
    """Wait until the sessions themselves know that they were told."""

    async def are() -> bool:
        found = await stage.read(changelog_topic(stage.application_id))
        newest = {stored.key: stored.value for stored in found}
        states = [newest.get(session_key(name)) for name in SILENT]
        return all(pace_of(decode_session(each).states).told for each in states if each is not None)

    await until(are, PATIENCE_SECONDS, "sessions that know they were told", *stage.workers)


async def stopped(worker: WorkerProcess) -> None:
    worker.terminate()
    assert await worker.ended() == 0, worker.tail()


async def test_whoever_owes_a_step_is_told_silent_once_and_to_speak_again(stage: Stage) -> None:
    await stage.publish_settings(silence_ms=SILENCE_MS)
    worker = stage.worker()
    await stage.send(record for name in (*SILENT, *OTHERS) for record in steps(stage, name))
    silent = await all_told(stage, "silent", SILENT)
    assert sorted(each["session_id"] for each in silent) == sorted(SILENT), (
        "one was told twice, or owes nothing"
    )
    assert {(each["limit_ms"], each["decided_by"]) for each in silent} == {(LIMIT_MS, "clock")}
    assert await worker.metric("eddy_events_total", event_type="silent_session") == len(SILENT)

    await stage.send(record for name in SILENT for record in steps(stage, name, first=2))
    spoke = await all_told(stage, "spoke", SILENT)
    assert sorted(each["session_id"] for each in spoke) == sorted(SILENT)
    assert all(each["decided_by"] == "record" and each["silent_ms"] >= LIMIT_MS for each in spoke)
    # The enriched record of the step says it too.
    ids = {each["id"] for each in spoke}
    inside = {
        event["id"]
        for stored in await stage.read(Topic.ENRICHED)
        for event in value_of(stored)["eddy"]["events"]
    }
    assert ids <= inside


async def test_the_next_worker_tells_those_that_were_not_told_and_no_other(stage: Stage) -> None:
    await stage.publish_settings(silence_ms=SILENCE_MS)
    early, late = SILENT[:6], SILENT[6:]
    first = stage.worker()
    await stage.send(record for name in early for record in steps(stage, name))
    await all_told(stage, "silent", early)
    await stage.send(record for name in late for record in steps(stage, name))
    await stage.processed()
    await stopped(first)
    # One that has to restore everything, and one that has the disk of the first.
    second = stage.worker()
    await all_told(stage, "silent", late)
    await stopped(second)
    stage.worker(directory=first.directory / "data")
    await stage.send(record for name in SILENT for record in steps(stage, name, first=2))
    await all_told(stage, "spoke", SILENT)
    silent = await told(stage, "silent")
    # The last steps of all make them silent once more: those have other ids.
    first_time = [each["id"] for each in silent if each["event_id"].endswith(":1")]
    assert len(first_time) == len(set(first_time)) == len(SILENT)


async def killed_while_telling(stage: Stage, point: CrashPoint, **settings: object) -> None:
    """Kill a worker that does nothing but tell who is silent."""
    await stage.publish_settings(silence_ms=0)
    first = stage.worker(**settings)
    await stage.send(record for name in SILENT for record in steps(stage, name))
    await stage.processed()
    await stopped(first)
    data = first.directory / "data"
    await stage.publish_settings(silence_ms=SILENCE_MS)
    second = stage.worker(directory=data, crash_point=f"{point}:2", **SOON_MISSED, **settings)
    assert await second.ended() == KILLED, second.tail()
    third = stage.worker(directory=data, **settings)
    silent = await all_told(stage, "silent", SILENT)
    by_id = {each["id"]: each for each in silent}
    assert len(by_id) == len(SILENT)
    assert all(each == by_id[each["id"]] for each in silent), "one was told again in other words"
    if settings:
        assert len(silent) == len(SILENT), "one was told twice under exactly once"
    await all_remembered(stage)
    await stage.send(record for name in SILENT for record in steps(stage, name, first=2))
    spoke = await all_told(stage, "spoke", SILENT)
    assert len({each["id"] for each in spoke}) == len(SILENT)
    await stopped(third)


@pytest.mark.parametrize(
    "point",
    [point for point in AT_LEAST_ONCE if point.startswith(("outputs", "changelog", "stored"))],
)
async def test_a_worker_killed_while_it_tells_is_made_up_for_at(stage: Stage, point: CrashPoint) -> None:
    await killed_while_telling(stage, point)


@kafka_only
@pytest.mark.parametrize(
    "point", [point for point in EXACTLY_ONCE if point.startswith(("transaction", "committed", "stored"))]
)
async def test_a_worker_with_transactions_killed_while_it_tells_is_made_up_for_at(
    stage: Stage, point: CrashPoint
) -> None:
    await killed_while_telling(stage, point, processing_guarantee="exactly_once")

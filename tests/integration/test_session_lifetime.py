"""State that nothing can need any more goes: from the worker, from its database and from the changelog."""

import time
from collections import Counter
from collections.abc import Iterable
from typing import Any

import orjson
import pytest

from streams.core.domain.topic import Topic
from streams.kafka.client import Stored
from streams.worker.crash_point import AT_LEAST_ONCE, EXACTLY_ONCE, CrashPoint
from streams.worker.options import SESSIONS, changelog_topic
from streams.worker.state.changelog import SETTINGS_KEY, removed_value, session_key
from streams.worker.state.checkpoint import MARK_KEY
from streams.worker.state.store import PartitionStores, StoreOptions
from tests.integration.load import Sending, decision, keyed
from tests.integration.reference_fold import value_of
from tests.integration.stage import SOON_MISSED, Stage
from tests.integration.worker_process import PATIENCE_SECONDS, WorkerProcess, until, until_reached

pytestmark = pytest.mark.integration
kafka_only = pytest.mark.kafka_only("the embedded broker has no transactions")

KILLED = 128 + 9
TTL_MS, GRACE_MS = 1_000, 500
OFTEN = {"housekeeping_interval_s": 0.1, "stub_rest_s": 2}
NEVER = {**OFTEN, "housekeeping_interval_s": 0}

#: Enough of them that each partition has some.
QUIET = [f"quiet-{number}" for number in range(12)]


def now_ms() -> int:
    return time.time_ns() // 1_000_000


def records(
    stage: Stage,
    session_id: str,
    count: int,
    *,
    first: int = 0,
    at_ms: int = 0,
    ends: bool = False,
    **action: Any,
) -> Iterable[Sending]:
    """Yield records of a session, a millisecond apart."""
    for number in range(first, first + count):
        value = decision(session_id, number, **action)
        value["meta"]["timestamp"] = (at_ms or now_ms()) + number
        if ends and number == first + count - 1:
            value["control"] = {"is_terminal": True}
        yield keyed(value, stage.partitions)


def looping(stage: Stage, session_id: str, count: int = 5, **kwargs: Any) -> Iterable[Sending]:
    """Yield records of a session that loops."""
    return records(stage, session_id, count, intent="again", tool_input="{}", **kwargs)


async def changelog(stage: Stage) -> dict[bytes | None, Stored]:
    """Return the newest record of each session in the changelog."""
    found = await stage.read(changelog_topic(stage.application_id))
    return {stored.key: stored for stored in found if stored.key not in {SETTINGS_KEY, MARK_KEY}}


async def removed(stage: Stage, *session_ids: str) -> None:
    """Wait until sessions have tombstones."""

    async def gone() -> bool:
        newest = await changelog(stage)
        keys = [session_key(each) for each in session_ids]
        return all(key in newest and newest[key].value is None for key in keys)

    await until(gone, PATIENCE_SECONDS, f"tombstones of {session_ids}", *stage.workers)


async def told(stage: Stage, topic: Topic) -> list[dict[str, Any]]:
    """Return what the removals have told on a topic."""
    values = [value_of(stored) for stored in await stage.read(topic)]
    return [value for value in values if value["id"].endswith("/expired")]


async def health_of(stage: Stage, key: bytes) -> dict[str, Any]:
    """Return the newest health of an agent or tool."""
    return value_of([stored for stored in await stage.read(Topic.AGENT_HEALTH) if stored.key == key][-1])


async def stopped(worker: WorkerProcess) -> None:
    worker.terminate()
    assert await worker.ended() == 0, worker.tail()


async def due(stage: Stage) -> None:
    """Wait until whatever is in the changelog is older than sessions live."""
    newest = max(stored.timestamp for stored in (await changelog(stage)).values())
    await until(lambda: now_ms() > newest + TTL_MS + GRACE_MS, PATIENCE_SECONDS, "the end of the sessions")


def stored_keys(worker: WorkerProcess, stage: Stage) -> set[bytes]:
    """Return what the databases of a worker that has ended hold."""
    directory = worker.directory / "data" / stage.application_id / SESSIONS
    stores = PartitionStores(directory, StoreOptions(block_cache_bytes=1 << 20))
    try:
        return {
            key
            for path in directory.glob("*.db")
            for key, _ in stores[int(path.stem)].items()
            if not key.startswith(b"m")
        }
    finally:
        stores.close_all()


async def test_what_nobody_touches_goes_and_what_it_left_open_is_closed_first(stage: Stage) -> None:
    await stage.publish_settings(session_ttl_ms=TTL_MS, state_grace_ms=GRACE_MS)
    worker = await stage.worker(**OFTEN).ready()
    await stage.send(record for name in QUIET for record in records(stage, name, 2))
    await stage.send([*looping(stage, "looper"), *looping(stage, "ender", ends=True)])
    await stage.processed()
    await removed(stage, "looper", "ender", *QUIET)

    newest = await changelog(stage)
    offset = orjson.loads(removed_value(newest[session_key("looper")].headers) or b"")[2]
    assert [
        (each["id"], each["offset"], each["event_id"]) for each in await told(stage, Topic.SESSION_ALERTS)
    ] == [
        (
            f"looper/{newest[session_key('looper')].partition}/{offset}/loop_episode/recovered/expired",
            offset,
            "looper:4",
        )
    ]
    assert [(each["session_id"], each["state"]) for each in await told(stage, Topic.TOPOLOGY)] == [
        ("looper", "active")
    ]
    await stage.processed()
    assert (await health_of(stage, b"agent"))["looping_now"] == 0

    async def counted() -> float:
        # The worker hears of its tombstones after those who read them.
        return await worker.metric("eddy_sessions_removed_total")

    await until_reached(counted, 2 + len(QUIET), PATIENCE_SECONDS, "removals that are counted", worker)
    assert await worker.metric("eddy_sessions_removed_total", reason="expired") == 1 + len(QUIET)
    assert await worker.metric("eddy_sessions_removed_total", reason="ended") == 1
    assert (await worker.get("/sessions/looper"))[0] == 404

    # From the database, and for whoever restores it from the changelog alone.
    await stopped(worker)
    assert stored_keys(worker, stage) == set()
    other = await stage.worker(**OFTEN).ready()
    # More than the grace after its time, and without the state it would have belonged to.
    await stage.send(records(stage, "quiet-1", 1, first=9, at_ms=now_ms() - 60_000))
    await stage.processed()
    [late] = [
        value
        for stored in await stage.read(Topic.ENRICHED)
        if (value := value_of(stored))["event_id"] == "quiet-1:9"
    ]
    assert late["eddy"]["step"] == 1
    assert await other.metric("eddy_late_records_total") == 1
    await stopped(other)
    assert stored_keys(other, stage) <= {session_key("quiet-1")}


async def test_a_backlog_after_downtime_is_read_with_its_state(stage: Stage) -> None:
    await stage.publish_settings(session_ttl_ms=TTL_MS, state_grace_ms=GRACE_MS)
    first = stage.worker(**NEVER)
    names = [f"s{number}" for number in range(20)]
    began = now_ms()
    await stage.send(record for name in names for record in looping(stage, name, 3, at_ms=began))
    await stage.processed()
    await stopped(first)
    await stage.send(record for name in names for record in looping(stage, name, 3, first=3, at_ms=began))
    await due(stage)

    stage.worker(directory=first.directory / "data", **OFTEN)
    await stage.processed()
    steps: dict[str, list[int]] = {}
    for stored in await stage.read(Topic.ENRICHED):
        value = value_of(stored)
        steps.setdefault(value["session_id"], []).append(value["eddy"]["step"])
    assert steps == {name: [1, 2, 3, 4, 5, 6] for name in names}
    # And it goes when it has been read.
    await removed(stage, *names)
    assert Counter(each["event_type"] for each in await told(stage, Topic.SESSION_ALERTS)) == {
        "loop_episode": len(names)
    }


@pytest.mark.parametrize(
    "point",
    [point for point in AT_LEAST_ONCE if point.startswith(("outputs", "changelog", "stored"))],
)
async def test_a_worker_killed_while_it_removes_is_made_up_for_at(stage: Stage, point: CrashPoint) -> None:
    await killed_while_removing(stage, point)


@kafka_only
@pytest.mark.parametrize(
    "point", [point for point in EXACTLY_ONCE if point.startswith(("transaction", "stored"))]
)
async def test_with_transactions_nothing_comes_twice_of_a_worker_killed_while_it_removes_at(
    stage: Stage, point: CrashPoint
) -> None:
    ids = await killed_while_removing(stage, point, processing_guarantee="exactly_once")
    assert set(ids.values()) == {1}


async def killed_while_removing(stage: Stage, point: CrashPoint, **settings: object) -> Counter[str]:
    """Kill a worker that does nothing but remove sessions; return how often each event was told after all."""
    await stage.publish_settings(session_ttl_ms=TTL_MS, state_grace_ms=GRACE_MS)
    names = [f"s{number}" for number in range(12)]
    first = stage.worker(**NEVER, **settings)
    await stage.send(record for name in names for record in looping(stage, name))
    await stage.processed()
    assert (await health_of(stage, b"agent"))["looping_now"] == len(names)
    await stopped(first)
    await due(stage)

    settings |= OFTEN
    second = stage.worker(
        directory=first.directory / "data", crash_point=f"{point}:2", **SOON_MISSED, **settings
    )
    assert await second.ended() == KILLED, second.tail()
    third = stage.worker(directory=first.directory / "data", **settings)
    await removed(stage, *names)
    await stage.processed()
    events = [*await told(stage, Topic.SESSION_ALERTS), *await told(stage, Topic.TOPOLOGY)]
    by_id = {event["id"]: event for event in events}
    assert all(event == by_id[event["id"]] for event in events)
    assert {event["session_id"] for event in events} == set(names)
    assert len(by_id) == 2 * len(names)

    # Each is taken out of the counts once, however often its removal was told.
    async def none_loops() -> bool:
        return bool((await health_of(stage, b"agent"))["looping_now"] == 0)

    await until(none_loops, PATIENCE_SECONDS, "the end of the loops in the counts", third)
    await stage.publish_settings(session_ttl_ms=86_400_000)
    in_force = "Settings version 2 is in force"
    await until(lambda: in_force in third.log, PATIENCE_SECONDS, "longer lives", third)
    await stage.send(looping(stage, "another"))
    await stage.processed()
    assert (await health_of(stage, b"agent"))["looping_now"] == 1
    await stopped(third)
    assert stored_keys(first, stage) == {session_key("another")}
    return Counter(event["id"] for event in events)

"""A worker tells silent sessions once, when their limit has passed by the brokers' clock, and no other."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from schemas.codec import Codec
from streams.core.domain.topic import Topic
from streams.core.errors import InfrastructureError
from streams.core.policy.silence import PATIENCE, pace_of
from streams.observe.settings import WorkerSettings
from streams.worker.lifetime.silence import OWED
from streams.worker.state.changelog import encode_session
from streams.worker.state.store.partition import PartitionStore
from streams.worker.wiring import build
from tests.stream import Stream, decision_log
from tests.unit.worker.lifetime.house import PARTITION, SETTINGS, TOUCHED_MS, House

LEAST_MS = 60_000
#: Before there is a habit.
LIMIT_MS = PATIENCE * LEAST_MS
QUIET = replace(SETTINGS, silence_ms=LEAST_MS, session_ttl_ms=0)
DECODER = Codec.bundled().decoder("session-alerts-value")


@pytest.fixture
def house(tmp_path: Path) -> Iterator[House]:
    app = build(WorkerSettings(_env_file=None, data_dir=tmp_path, housekeeping_interval_s=0))
    house = House(app.sessions)
    house.settings.in_force = QUIET
    yield house
    app.sessions.stores.close_all()


async def told_at(house: House, now_ms: int, elapsed_s: float = 10.0) -> list[dict[str, Any]]:
    """Let the watch come round until a time; return all that was told since the beginning."""
    while house.now_ms < now_ms:
        house.now_ms = min(now_ms, house.now_ms + 30_000)
        await house.silence.tick(elapsed_s)
    await house.silence.tick(elapsed_s)
    return [dict(DECODER.decode(each.value, each.headers)) for each in house.outputs(Topic.SESSION_ALERTS)]


async def test_a_session_is_told_silent_once_and_not_before_its_limit(house: House) -> None:
    await told_at(house, TOUCHED_MS)
    house.process("s")
    assert await told_at(house, TOUCHED_MS + LIMIT_MS - 1) == []
    [alert] = await told_at(house, TOUCHED_MS + LIMIT_MS)
    assert (alert["event_type"], alert["phase"], alert["limit_ms"]) == ("silent_session", "silent", LIMIT_MS)
    assert len(await told_at(house, TOUCHED_MS + 9 * LIMIT_MS)) == 1
    assert house.metrics.events == {"silent_session": 1}
    assert len(house.carried_out) == 1, "an epoch was made for nothing"


async def test_that_it_was_told_is_stored_and_in_memory(house: House) -> None:
    house.process("s")
    await told_at(house, TOUCHED_MS + LIMIT_MS)
    in_memory = house.table.view(PARTITION, ["s"]).get("s")
    house.table.forget()
    stored = house.table.view(PARTITION, ["s"]).get("s")
    assert in_memory is not None
    assert stored is not None
    assert pace_of(in_memory.states) == pace_of(stored.states)
    assert pace_of(stored.states).told == LIMIT_MS


async def test_a_session_that_spoke_meanwhile_counts_from_then(house: House) -> None:
    await told_at(house, TOUCHED_MS)
    house.process("s")
    await told_at(house, TOUCHED_MS + LIMIT_MS - 1)
    house.process("s")
    assert await told_at(house, TOUCHED_MS + LIMIT_MS) == []
    assert len(await told_at(house, TOUCHED_MS + 2 * LIMIT_MS - 1)) == 1


async def test_one_that_speaks_again_may_fall_silent_again(house: House) -> None:
    house.process("s")
    await told_at(house, TOUCHED_MS + LIMIT_MS)
    house.process("s")
    told = await told_at(house, TOUCHED_MS + 2 * LIMIT_MS)
    assert [each["id"] for each in told] == ["s/3/0/silent_session/silent", "s/3/1/silent_session/silent"]


async def test_an_ended_session_is_none(house: House) -> None:
    house.process("s", ends=True)
    assert await told_at(house, TOUCHED_MS + 9 * LIMIT_MS) == []


async def test_nobody_is_silent_whose_record_may_wait_in_the_partition(house: House) -> None:
    house.process("s")
    house.worker.read_ms = TOUCHED_MS + LIMIT_MS - 1
    assert await told_at(house, TOUCHED_MS + 9 * LIMIT_MS) == []
    house.worker.read_ms = TOUCHED_MS + LIMIT_MS
    assert len(await told_at(house, TOUCHED_MS + 9 * LIMIT_MS)) == 1


async def test_sessions_that_another_worker_has_left_are_found(house: House) -> None:
    for number in range(3):
        house.process(f"s{number}")
    house.worker.generation += 1
    house.silence = house.silence_watch()
    assert len(await told_at(house, TOUCHED_MS + LIMIT_MS)) == 3


async def test_what_was_told_before_a_restart_is_not_told_again(house: House) -> None:
    house.process("s")
    await told_at(house, TOUCHED_MS + LIMIT_MS)
    house.silence = house.silence_watch()
    assert len(await told_at(house, TOUCHED_MS + 9 * LIMIT_MS)) == 1


async def test_an_alert_that_a_crash_repeats_has_the_same_bytes(house: House) -> None:
    house.process("s")
    write = house.table.write

    def fails(*_: object, **__: object) -> None:
        raise InfrastructureError("the disk is full")

    house.table.write = fails  # type: ignore[method-assign]
    with pytest.raises(InfrastructureError):
        await told_at(house, TOUCHED_MS + LIMIT_MS)
    house.table.write = write  # type: ignore[method-assign]
    house.process("another, so that the partition is not quiet")
    house.silence = house.silence_watch()
    await told_at(house, TOUCHED_MS + LIMIT_MS + 77)
    first, second = house.outputs(Topic.SESSION_ALERTS)
    assert first == second


async def test_a_worker_that_heard_no_broker_for_a_while_begins_to_count_anew(house: House) -> None:
    await told_at(house, TOUCHED_MS)
    house.process("s")
    await told_at(house, TOUCHED_MS + 1_000)
    house.now_ms = back_ms = TOUCHED_MS + LIMIT_MS
    assert await told_at(house, back_ms) == []
    assert await told_at(house, back_ms + LIMIT_MS - 1) == []
    assert len(await told_at(house, back_ms + LIMIT_MS)) == 1


async def test_settings_that_change_hold_for_those_that_wait_already(house: House) -> None:
    await told_at(house, TOUCHED_MS)
    house.process("s")
    house.settings.in_force = replace(QUIET, version=2, silence_ms=1_000)
    assert len(await told_at(house, TOUCHED_MS + PATIENCE * 1_000)) == 1


async def test_off_tells_nobody_and_on_again_finds_those_that_are_there(house: House) -> None:
    house.settings.in_force = replace(QUIET, version=2, silence_ms=0)
    house.process("s")
    assert await told_at(house, TOUCHED_MS + 9 * LIMIT_MS) == []
    house.settings.in_force = replace(QUIET, version=3)
    await told_at(house, TOUCHED_MS + 9 * LIMIT_MS)
    assert len(await told_at(house, TOUCHED_MS + 10 * LIMIT_MS)) == 1, (
        "it counts from when it was switched on"
    )


async def test_a_worker_without_partitions_or_without_the_brokers_time_tells_nothing(house: House) -> None:
    house.process("s")
    house.clock.asked = False
    assert await told_at(house, TOUCHED_MS + LIMIT_MS) == []
    house.clock.asked = True
    house.worker.partitions = []
    assert await told_at(house, TOUCHED_MS + LIMIT_MS) == []


async def test_a_partition_that_is_taken_away_while_the_watch_waits_is_left_alone(house: House) -> None:
    house.process("s")

    def taken() -> None:
        house.worker.partitions = []

    house.worker.on_entry = taken
    assert await told_at(house, TOUCHED_MS + LIMIT_MS) == []


async def test_a_large_partition_is_searched_within_its_share(
    house: House, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("streams.worker.lifetime.silence.SLICE", 10)
    for number in range(55):
        house.process(f"s{number:02}")
    scan, seen = PartitionStore.scan, []

    def counted(store: PartitionStore, after: bytes, limit: int) -> list[tuple[bytes, int, bytes]]:
        seen.append(after)
        return scan(store, after, limit)

    monkeypatch.setattr(PartitionStore, "scan", counted)
    await house.silence.tick(1e-9)
    assert len(seen) == 1
    await house.silence.tick(10.0)
    await house.silence.tick(10.0)
    assert len(seen) == 6, "it was searched again at once"
    assert len(await told_at(house, TOUCHED_MS + LIMIT_MS)) == 55


async def test_no_session_is_held_that_a_later_search_finds_in_time(house: House) -> None:
    house.settings.in_force = replace(QUIET, silence_ms=40 * LEAST_MS)
    for number in range(50):
        house.process(f"s{number:02}")
    await told_at(house, TOUCHED_MS + 15 * LEAST_MS)
    [watched] = house.silence.watched.values()
    assert not watched.due
    await told_at(house, TOUCHED_MS + 39 * LEAST_MS)
    assert len(watched.due) == len(watched.names) == 50
    await told_at(house, TOUCHED_MS + 41 * LEAST_MS)
    assert not watched.due, "their limit is far away, for they have no habit yet"
    assert len(await told_at(house, TOUCHED_MS + PATIENCE * 40 * LEAST_MS)) == 50


async def test_a_session_that_cannot_be_read_keeps_no_other_from_being_told(
    house: House, caplog: pytest.LogCaptureFixture
) -> None:
    house.process("good")
    session = house.process("bad")
    # As it is stored it may pass for one that owes a step, and still be none.
    house.write({"bad": session._replace(node="nowhere")})
    [told] = await told_at(house, TOUCHED_MS + LIMIT_MS)
    assert told["session_id"] == "good"
    assert "The state of session 'bad' stays" in caplog.text


def test_what_an_agent_wrote_cannot_pass_for_a_pace() -> None:
    stream = Stream()
    stream.send(decision_log(tool=None, status="success", agent='"pace":["A",true,false,0]'))
    assert OWED.search(encode_session(stream.sessions["s1"])) is None
    stream.send(decision_log(tool="Bash", status="success", number=1))
    assert OWED.search(encode_session(stream.sessions["s1"]))


async def test_a_worker_that_takes_a_quiet_partition_over_begins_to_count_anew(house: House) -> None:
    house.process("s")
    house.silence = house.silence_watch()
    house.now_ms = took_over_ms = TOUCHED_MS + LIMIT_MS
    await told_at(house, took_over_ms)
    assert await told_at(house, took_over_ms + LIMIT_MS - 1) == []
    assert len(await told_at(house, took_over_ms + LIMIT_MS)) == 1


async def test_neither_a_rebalance_nor_other_settings_make_an_outage_forgotten(house: House) -> None:
    await told_at(house, TOUCHED_MS)
    house.process("s")
    house.now_ms = back_ms = TOUCHED_MS + LIMIT_MS
    assert await told_at(house, back_ms) == []
    house.worker.generation += 1
    assert await told_at(house, back_ms + 1_000) == []
    house.settings.in_force = replace(QUIET, version=2, silence_habit=9)
    assert await told_at(house, back_ms + LIMIT_MS - 1) == []
    assert len(await told_at(house, back_ms + LIMIT_MS)) == 1


async def test_a_lag_that_comes_and_goes_is_no_outage(house: House) -> None:
    await told_at(house, TOUCHED_MS)
    house.process("s")
    for lag in range(10):
        house.worker.read_ms = TOUCHED_MS + lag * 90_000
        await told_at(house, house.now_ms + 30_000)
    assert len(house.outputs(Topic.SESSION_ALERTS)) == 1


async def test_who_could_not_be_told_because_the_lane_was_taken_is_told_later(house: House) -> None:
    await told_at(house, TOUCHED_MS)
    house.process("s")
    partitions = house.worker.partitions

    def taken() -> None:
        house.worker.partitions = []

    await told_at(house, TOUCHED_MS + LIMIT_MS - 1)
    house.worker.on_entry = taken
    assert await told_at(house, TOUCHED_MS + LIMIT_MS) == []
    house.worker.partitions, house.worker.on_entry = partitions, lambda: None
    assert len(await told_at(house, TOUCHED_MS + LIMIT_MS)) == 1


async def test_many_that_fall_silent_at_once_fill_no_cache(house: House) -> None:
    await told_at(house, TOUCHED_MS)
    for number in range(100):
        house.process(f"s{number}")
    assert len(await told_at(house, TOUCHED_MS + LIMIT_MS)) == 100
    assert not house.table.view(PARTITION, []).get("s1")

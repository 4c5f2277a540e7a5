"""Housekeeping removes what is due, nothing else, and in an order in which its contributions count."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from schemas.codec import Codec
from streams.core.domain.aggregates.agent_health import AgentHealth
from streams.core.domain.aggregates.contribution import Contribution, agent_key
from streams.core.domain.session import Session
from streams.core.domain.topic import Topic
from streams.core.errors import InfrastructureError, ProducerFencedError
from streams.kafka.client import Stored
from streams.observe.settings import WorkerSettings
from streams.worker.contribution_record import read
from streams.worker.effects import BatchOutput, changes
from streams.worker.lifetime import housekeeping as tested
from streams.worker.state.changelog import SETTINGS_KEY, encode_session, session_key
from streams.worker.state.table import StateView
from streams.worker.wiring import build
from tests.unit.worker.lifetime.house import KEPT_MS, PARTITION, REST_MS, SETTINGS, TOUCHED_MS, House


@pytest.fixture
def house(tmp_path: Path) -> Iterator[House]:
    app = build(WorkerSettings(_env_file=None, data_dir=tmp_path, housekeeping_interval_s=0))
    yield House(app.sessions)
    app.sessions.stores.close_all()


async def test_a_session_is_kept_for_exactly_its_life_and_the_grace(house: House) -> None:
    house.process("s")
    assert await house.at(KEPT_MS) == {"s"}
    assert await house.at(KEPT_MS + 1) == set()
    assert house.metrics.sessions == {"expired": 1}
    assert house.table.view(PARTITION, ["s"]).get("s") is None


async def test_a_session_that_was_touched_again_counts_from_then(house: House) -> None:
    house.process("s")
    house.now_ms += 1_000
    house.process("s")
    assert await house.at(KEPT_MS + 1_000) == {"s"}
    assert await house.at(KEPT_MS + 1_001) == set()


async def test_a_session_ahead_of_the_clock_is_kept_so_much_longer_as_far_as_records_may_be(
    house: House,
) -> None:
    house.now_ms += 700  # the record's time
    session = house.process("s")
    house.table.stores[PARTITION].write(
        [(session_key("s"), encode_session(session))], house.offset, TOUCHED_MS
    )
    assert await house.at(KEPT_MS + 700) == {"s"}
    assert await house.at(KEPT_MS + 701) == set()


async def test_nothing_expires_while_the_partition_has_lag(house: House) -> None:
    house.process("s")
    house.worker.read_ms = 0
    assert await house.at(KEPT_MS + 10_000) == {"s"}
    # All that came before the end of the session has been read, much of what came later has not.
    house.worker.read_ms = KEPT_MS
    assert await house.at(KEPT_MS + 20_000) == {"s"}
    house.worker.read_ms = KEPT_MS + 1
    assert await house.at(KEPT_MS + 30_000) == set()


async def test_nothing_goes_before_the_commit_has_passed_it(house: House) -> None:
    house.process("first")
    house.process("second", ends=True)
    house.worker.offset = 0
    assert await house.at(KEPT_MS + 10_000) == {"first", "second"}
    house.worker.offset = 1
    assert await house.at(KEPT_MS + 20_000) == {"second"}
    house.worker.offset = 2
    assert await house.at(KEPT_MS + 30_000) == set()


async def test_sessions_without_an_end_stay_for_ever_and_stubs_go(house: House) -> None:
    house.settings.in_force = replace(SETTINGS, session_ttl_ms=0)
    house.process("s")
    house.process("stub", ends=True)
    assert await house.at(KEPT_MS + 10**12) == {"s"}
    house.settings.in_force = replace(SETTINGS, version=2)
    assert await house.at(KEPT_MS + 10**12 + 1) == set()


async def test_a_stub_goes_after_its_rest_also_under_lag(house: House) -> None:
    house.process("s", ends=True)
    house.worker.read_ms = 0
    assert await house.at(TOUCHED_MS + REST_MS - 1) == {"s"}
    assert await house.at(TOUCHED_MS + REST_MS) == set()
    assert house.metrics.sessions == {"ended": 1}
    assert house.outputs(Topic.SESSION_ALERTS) == []


async def test_a_session_that_began_again_after_its_end_stays(house: House) -> None:
    house.process("s", ends=True)
    house.now_ms += 1_000
    house.process("s")
    assert await house.at(TOUCHED_MS + REST_MS) == {"s"}
    house.process("s", ends=True)
    assert await house.at(TOUCHED_MS + 2 * REST_MS - 1) == {"s"}
    assert await house.at(TOUCHED_MS + 2 * REST_MS) == set()


async def test_sessions_that_come_while_there_are_none_are_found_too(house: House) -> None:
    assert await house.at(TOUCHED_MS) == set()
    house.process("s")
    assert await house.at(KEPT_MS) == {"s"}
    assert await house.at(KEPT_MS + 1) == set()


async def test_stubs_that_no_epoch_of_this_worker_has_written_are_found_by_the_search(house: House) -> None:
    for number in range(10):
        house.process(f"s{number}", ends=True)
    house.table.forget()
    assert await house.at(TOUCHED_MS + REST_MS) == set()
    assert house.metrics.sessions == {"ended": 10}


async def test_a_burst_of_ended_sessions_is_gone_at_once_and_without_a_search(
    house: House, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tested, "STUBS_AT_ONCE", 20)
    for number in range(60):
        house.process(f"s{number}", ends=True)
    house.now_ms += REST_MS
    await house.housekeeping.tick(0.0)
    assert house.kept() == set()
    assert house.metrics.entries == 0
    assert [len(outcome.view.removed) for outcome in house.carried_out] == [20, 20, 20]


async def test_more_stubs_than_are_noted_are_found_all_the_same(
    house: House, monkeypatch: pytest.MonkeyPatch
) -> None:
    house.process("kept")
    assert await house.at(TOUCHED_MS) == {"kept"}
    monkeypatch.setattr("streams.worker.lifetime.due.MOST_STUBS", 4)
    house.table.forget()
    for number in range(10):
        house.process(f"s{number}", ends=True)
    house.settings.in_force = replace(SETTINGS, version=2, session_ttl_ms=86_400_000)
    assert await house.at(TOUCHED_MS + REST_MS) == {"kept"}


async def test_what_is_open_is_closed_at_the_time_of_the_end(house: House) -> None:
    session = house.process("s", 5, loops=True)
    house.process("quiet")
    await house.at(KEPT_MS + 5_000)
    (alert,) = house.outputs(Topic.SESSION_ALERTS)
    told = Codec.bundled().decoder(f"{Topic.SESSION_ALERTS}-value").decode(alert.value, alert.headers)
    assert told["id"] == f"s/{PARTITION}/{session.offset}/loop_episode/recovered/expired"
    assert (alert.key, alert.timestamp) == (b"s", KEPT_MS)
    assert house.metrics.events == {"loop_episode": 1, "node_state": 1}
    assert house.metrics.sessions == {"expired": 2}


async def test_removals_that_are_repeated_give_the_same_records(house: House) -> None:
    for number in range(5):
        house.process(f"s{number}", 5, loops=True)
    outcomes: list[BatchOutput[Session]] = []

    async def killed(outcome: BatchOutput[Session]) -> None:
        outcomes.append(outcome)
        raise InfrastructureError("the broker is gone")

    house.carry_out = killed  # type: ignore[method-assign]
    for later in (1, 5_000):
        house.worker.generation += 1
        with pytest.raises(InfrastructureError):
            await house.at(KEPT_MS + later)
        house.worker.inside.clear()
    first, second = outcomes
    assert first.outputs == second.outputs
    assert first.outputs


def contributions(house: House) -> list[Contribution]:
    found = [
        read(Stored(0, 0, 0, record.key, record.value, ())) for record in house.outputs(Topic.REPARTITION)
    ]
    assert all(isinstance(each, Contribution) for each in found)
    return [each for each in found if isinstance(each, Contribution)]


async def test_what_sessions_contribute_when_they_go_counts_once_each_whatever_their_names(
    house: House, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tested, "CLOSED_AT_ONCE", 3)
    names = [f"s{number}" for number in (5, 3, 8, 1, 9, 2, 7)]
    for name in names:
        house.process(name, 5, loops=True)
    for later in range(1, 10):
        await house.at(KEPT_MS + 1_000 * later)
    assert house.kept() == set()
    mine = [each for each in contributions(house) if each.key == agent_key("agent")]
    assert [each.offset for each in mine] == sorted(each.offset for each in mine)
    assert len(mine) == len(names)
    counted = AgentHealth()
    for each in [*mine, *mine]:
        counted = counted.plus(each)
    assert counted.hour["looping"] == {mine[0].at // 300_000: -len(names)}


async def test_a_session_that_contributes_waits_for_one_that_was_before_it_and_stays(house: House) -> None:
    early = house.process("early")
    house.process("late", 5, loops=True)
    # By a clock that was ahead; the one who has taken over since goes by another.
    house.table.stores[PARTITION].write(
        [(session_key("early"), encode_session(early))], house.offset, TOUCHED_MS + 5_000
    )
    assert await house.at(KEPT_MS + 1) == {"early", "late"}
    assert await house.at(KEPT_MS + 5_000) == {"early", "late"}
    for later in (5_001, 5_500):
        await house.at(KEPT_MS + later)
    assert house.kept() == set()
    assert [sorted(outcome.view.removed) for outcome in house.carried_out] == [["early"], ["late"]]


async def test_when_the_clock_steps_back_nobody_goes_before_one_that_was_before_and_stays_after_all(
    house: House, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tested, "SLICE", 1)
    monkeypatch.setattr(tested, "SLICES_AT_ONCE", 1)
    house.now_ms = TOUCHED_MS + 200
    house.process("a", 5, loops=True)
    house.now_ms = TOUCHED_MS
    house.process("b", 5, loops=True)
    entries = iter(range(100))

    def step_back() -> None:
        if next(entries) == 2:  # both were found to be due, and the round is at its end
            house.now_ms = KEPT_MS + 100

    house.worker.on_entry = step_back
    assert await house.at(KEPT_MS + 201) == {"a", "b"}
    assert await house.at(KEPT_MS + 1_000) == set()
    mine = [each.offset for each in contributions(house) if each.key == agent_key("agent")]
    assert mine == sorted(mine)
    assert len(mine) == 2


async def test_a_large_partition_is_searched_a_slice_at_a_time_and_within_the_share(
    house: House, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tested, "SLICE", 10)
    for number in range(35):
        house.process(f"s{number:02}")
    seen = []
    for _ in range(6):
        await house.housekeeping.tick(1e-9)
        seen.append(house.metrics.entries)
        house.housekeeping._saved_s = 0.0
    assert seen == [10, 20, 30, 35, 35, 35]
    # Nothing of what is there can be due before that.
    await house.at(KEPT_MS)
    assert house.metrics.entries == 35
    assert house.kept() == {f"s{number:02}" for number in range(35)}
    for _ in range(5):
        await house.at(KEPT_MS + 1)
    assert house.kept() == set()


async def test_a_flood_of_silent_sessions_goes_in_few_epochs(
    house: House, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tested, "CLOSED_AT_ONCE", 3)
    monkeypatch.setattr(tested, "REMOVED_AT_ONCE", 12)
    for number in range(40):
        house.process(f"s{number:02}")
    await house.at(KEPT_MS + 1)
    assert house.kept() == set()
    assert [len(outcome.view.removed) for outcome in house.carried_out] == [12, 12, 12, 4]


async def test_other_lanes_go_on_between_two_slices_of_an_epoch(
    house: House, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tested, "CLOSED_AT_ONCE", 3)
    for number in range(12):
        house.process(f"s{number:02}")
    seen: list[int] = []

    async def another_lane() -> None:
        while not house.carried_out:
            seen.append(house.metrics.entries)
            await asyncio.sleep(0)

    await asyncio.gather(another_lane(), house.at(KEPT_MS + 1))
    assert [len(outcome.view.removed) for outcome in house.carried_out] == [12]
    assert sorted({0, 3, 6, 9} & set(seen)) == [0, 3, 6, 9]


async def test_what_goes_pays_for_the_search_among_what_stays(
    house: House, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tested, "SLICE", 10)
    monkeypatch.setattr(tested, "_ADDED_S", 1.0)
    for number in range(5):
        house.process(f"due{number}")
    house.now_ms += 1_000
    for number in range(80):
        house.process(f"stays{number:02}")
    house.now_ms = KEPT_MS
    await house.housekeeping.tick(1e-9)
    assert house.metrics.entries == 10
    house.now_ms = KEPT_MS + 1
    house.housekeeping._rounds.clear()
    house.housekeeping._saved_s = 0.0
    await house.housekeeping.tick(1e-9)
    assert house.metrics.sessions == {"expired": 5}
    assert house.metrics.entries == 10 + 85


async def test_a_busy_lane_keeps_no_other_partition_waiting(
    house: House, monkeypatch: pytest.MonkeyPatch
) -> None:
    house.process("s")
    house.worker.partitions = [PARTITION - 1, PARTITION]
    removed, alone = asyncio.Event(), house.worker.alone

    @asynccontextmanager
    async def busy(partition: int) -> AsyncIterator[None]:
        if partition != PARTITION:
            await removed.wait()
        async with alone(partition):
            yield
        if house.kept() == set():
            removed.set()

    monkeypatch.setattr(house.worker, "alone", busy)
    async with asyncio.timeout(60):
        assert await house.at(KEPT_MS + 1) == set()


@pytest.mark.parametrize("fenced", [PARTITION - 1, PARTITION])
async def test_a_failure_beside_a_lost_partition_is_the_one_that_counts(
    house: House, monkeypatch: pytest.MonkeyPatch, fenced: int
) -> None:
    house.worker.partitions = [PARTITION - 1, PARTITION]

    def entered(partition: int) -> Any:
        raise ProducerFencedError if partition == fenced else InfrastructureError("the broker is gone")

    monkeypatch.setattr(house.worker, "alone", entered)
    with pytest.raises(InfrastructureError, match="the broker is gone"):
        await house.at(KEPT_MS + 1)


async def test_a_rebalance_that_began_while_somebody_waited_for_the_lane_stops_it(house: House) -> None:
    house.process("s")
    house.process("stub", ends=True)

    def rebalance() -> None:
        house.worker.generation += 1

    house.worker.on_entry = rebalance
    assert await house.at(KEPT_MS + 10_000) == {"s", "stub"}
    house.worker.on_entry = lambda: None
    house.worker.partitions = []
    assert await house.at(KEPT_MS + 20_000) == {"s", "stub"}
    house.worker.partitions = [PARTITION]
    house.worker.generation += 1
    assert await house.at(KEPT_MS + 30_000) == set()


async def test_a_session_that_nobody_can_read_stays_and_is_told_of(
    house: House, caplog: pytest.LogCaptureFixture
) -> None:
    house.process("s")
    house.table.stores[PARTITION].write(
        [(session_key("broken"), b'[1,0,0,"active"]'), (session_key("other"), b"[9,0,0]")], 5, TOUCHED_MS
    )
    assert await house.at(KEPT_MS + 10_000) == {"broken", "other"}
    told = [record.message for record in caplog.records if "stays" in record.message]
    assert {message.split("'")[1] for message in told} == {"broken", "other"}


async def test_the_settings_ledger_is_no_session(house: House) -> None:
    house.table.stores[PARTITION].write([(SETTINGS_KEY, b"[2,900,[],[]]")], 0, 0)
    await house.at(KEPT_MS + 10_000)
    assert house.table.stores[PARTITION].get(SETTINGS_KEY) is not None


async def test_a_shadow_goes_with_its_session_and_tells_nothing(house: House) -> None:
    live, tried = house.process("s"), house.process("t", 5, loops=True)
    view = StateView[Session]({})
    view.put(live._replace(shadow=tried._replace(partition=live.partition, offset=live.offset)), "s")
    view.remove(tried, "t")
    items = list(changes(house.table, view))
    house.offset += len(items)
    house.table.write(PARTITION, view, items, house.offset, TOUCHED_MS)
    assert await house.at(KEPT_MS + 1) == set()
    assert [dict(outcome.outputs) for outcome in house.carried_out] == [{}]

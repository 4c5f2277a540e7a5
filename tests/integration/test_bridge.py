"""`eddy bridge otlp` on a broker: the records of all spans, each once, whatever happens to it."""

from __future__ import annotations

import pytest

from streams.core.domain.topic import Topic
from streams.worker.crash_point import AT_LEAST_ONCE, EXACTLY_ONCE, CrashPoint
from tests.integration.spans import Bridges, Sent, agents, expected, shuffled_twice
from tests.integration.stage import SOON_MISSED, Stage
from tests.integration.worker_process import PATIENCE_SECONDS, WorkerProcess, until

pytestmark = pytest.mark.integration
kafka_only = pytest.mark.kafka_only("the embedded broker has no transactions")

KILLED = 128 + 9
RUN = 40
TRACES, CALLS = 30, 12

#: Long enough that all records of a test have arrived: the runs before let nothing go.
HOLD_MS = 60_000

#: The topic ids are written once for each partition, where brokers have any.
TIMES = dict.fromkeys(CrashPoint, 4) | {CrashPoint.SETTINGS_ACKED: 1, CrashPoint.COMMITTED: 1}
POINTS = [point for point in AT_LEAST_ONCE if point is not CrashPoint.SETTINGS_ACKED]


async def counts(bridge: WorkerProcess, wanted: int, metric: str, **labels: str) -> None:
    """Wait until a bridge reports a figure. It counts when an epoch ends, after its records are there."""

    async def reported() -> bool:
        return await bridge.metric(metric, **labels) == wanted

    await until(reported, PATIENCE_SECONDS, f"{metric} of {wanted}", bridge)


async def test_spans_become_the_records_of_sessions_though_nothing_comes_after_them(stage: Stage) -> None:
    bridges = Bridges(stage, bridge_hold_ms=500)
    await bridges.send(agents(TRACES, CALLS))
    bridge = bridges.start()
    await bridges.until_there(TRACES * CALLS, bridge)
    assert await bridges.sessions() == expected(TRACES, CALLS)
    assert not await bridges.repeated()
    await counts(bridge, TRACES * CALLS, "eddy_bridge_spans_total", result="tool")
    await counts(bridge, TRACES, "eddy_bridge_sessions_total", key="conversation")
    await counts(bridge, 0, "eddy_bridge_held")
    bridge.terminate()
    assert await bridge.ended() == 0, bridge.tail()


async def test_requests_in_any_order_and_twice_give_the_same_records(stage: Stage) -> None:
    bridges = Bridges(stage, bridge_hold_ms=15_000)  # longer than sending all of it can take
    await bridges.send(shuffled_twice(agents(TRACES, CALLS), seed=7))
    bridge = bridges.start()
    await bridges.until_there(TRACES * CALLS, bridge)
    assert await bridges.sessions() == expected(TRACES, CALLS)
    assert not await bridges.repeated()
    await counts(bridge, 2 * TRACES * CALLS, "eddy_bridge_spans_total", result="repeated")


@pytest.mark.parametrize("point", POINTS)
async def test_nothing_is_lost_by_a_bridge_killed_at(stage: Stage, point: CrashPoint) -> None:
    await killed_at(stage, point)


@kafka_only
@pytest.mark.parametrize("point", EXACTLY_ONCE)
async def test_with_transactions_nothing_comes_twice_of_a_bridge_killed_at(
    stage: Stage, point: CrashPoint
) -> None:
    bridges = await killed_at(stage, point, processing_guarantee="exactly_once")
    assert not await bridges.repeated()


async def killed_at(stage: Stage, point: CrashPoint, **settings: object) -> Bridges:
    """Let a bridge die, a successor make up for it, and compare all that came out."""
    # Without a hold each run lets go what the one before it has brought, so each has outputs.
    bridges = Bridges(stage, bridge_hold_ms=0, run_max_records=RUN, **settings)
    await bridges.send(agents(TRACES, CALLS))
    first = bridges.start(crash_point=f"{point}:{TIMES[point]}", **SOON_MISSED)
    assert await first.ended() == KILLED, first.tail()
    second = bridges.start(predecessor=first)
    await bridges.until_there(TRACES * CALLS, second)
    assert await bridges.sessions() == expected(TRACES, CALLS)
    return bridges


async def test_a_successor_without_local_state_knows_the_spans_that_wait(stage: Stage) -> None:
    bridges = Bridges(stage)
    await bridges.send(shuffled_twice(agents(TRACES, CALLS), seed=3))
    first = bridges.start(bridge_hold_ms=HOLD_MS, **SOON_MISSED)
    await bridges.until_held(2 * TRACES * CALLS, first)
    first.kill()
    second = bridges.start(bridge_hold_ms=0)
    await bridges.until_there(TRACES * CALLS, second)
    assert await bridges.sessions() == expected(TRACES, CALLS)
    assert not await bridges.repeated()


async def test_what_cannot_be_read_becomes_a_dead_letter_and_stops_nothing(stage: Stage) -> None:
    bridges = Bridges(stage, bridge_hold_ms=0)
    hostile = [Sent(b"k", value) for value in (b"\xff", b"{", b"[]", b'{"resourceLogs": []}', b"\x00" * 100)]
    await bridges.send([*hostile, *agents(1, CALLS), *hostile])
    bridge = bridges.start()
    await bridges.until_there(CALLS, bridge)

    async def all_letters() -> bool:
        return len(await stage.read(Topic.SPAN_DEAD_LETTERS)) >= 2 * len(hostile)

    await until(all_letters, PATIENCE_SECONDS, "the dead letters", bridge)
    letters = await stage.read(Topic.SPAN_DEAD_LETTERS)
    assert sorted(letter.value or b"" for letter in letters) == sorted(
        2 * [record.value for record in hostile]
    )
    assert {dict(letter.headers)["x-dlq-reason"] for letter in letters} == {b"undecodable"}
    assert {dict(letter.headers)["x-dlq-consumer-group"] for letter in letters} == {
        f"{stage.application_id}-bridge".encode()
    }
    await until(lambda: "undecodable" in bridge.log, PATIENCE_SECONDS, "a line in the log", bridge)


async def test_two_bridges_share_the_partitions(stage: Stage) -> None:
    bridges = Bridges(stage, bridge_hold_ms=200)
    first, second = bridges.start(), bridges.start()
    await first.ready()
    await second.ready()
    await bridges.send(agents(TRACES, CALLS))
    await bridges.until_there(TRACES * CALLS, first, second)
    assert await bridges.sessions() == expected(TRACES, CALLS)

"""More than a worker can take at once: it waits, in bounded memory, and says when it does not get on."""

from __future__ import annotations

import itertools
import json
import random
import re
from collections.abc import Iterable, Iterator

import pytest

from streams.core.domain.topic import Topic
from streams.worker.health.liveness import EXIT_STALLED
from streams.worker.options import changelog_topic
from streams.worker.state.changelog import session_key
from tests.integration.load import Sending, decision, keyed, load
from tests.integration.stage import SOON_MISSED, Stage
from tests.integration.worker_process import PATIENCE_SECONDS, WorkerProcess, until, until_reached
from tests.network import Link, Slowness

pytestmark = pytest.mark.integration

MEBIBYTE = 1 << 20

#: So that what RocksDB keeps in memory is small beside what is looked for.
SMALL_ROCKSDB = {
    "rocksdb_write_buffer_bytes": MEBIBYTE,
    "rocksdb_max_write_buffers": 2,
    "rocksdb_block_cache_bytes": MEBIBYTE,
}

#: Two records at a time, so that much is left to do when the broker does not answer any more.
IN_SMALL_STEPS = {"run_max_records": 2, "lane_max_runs": 16}

#: So that much of a backlog is left when the test comes to look, however quick the machine is, and however
#: seldom it lets the test look.
SLOW = Slowness(delay_s=0.02, bytes_per_s=200_000)

#: Without progress for so long a worker stands still. One that only gets no CPU for a while does not.
STALL_S = 10

#: Which partition stands still first is chance: one of the source or one of what sessions contribute.
STALLED = re.compile(r"[a-z-]+\[\d\] has \d+ records of lag and no progress for \d+ s")


async def livez(worker: WorkerProcess) -> tuple[int, str]:
    status, body = await worker.get("/livez")
    return status, json.loads(body)["detail"]


async def told_to_stall(worker: WorkerProcess) -> None:
    """Wait until `/livez` says which partition stands still."""

    async def told() -> bool:
        status, detail = await livez(worker)
        return status == 503 and STALLED.fullmatch(detail) is not None

    await until(told, PATIENCE_SECONDS, "a partition that stands still", worker)


async def behind(stage: Stage, link: Link, records: int, **settings: object) -> WorkerProcess:
    """Return a worker with a backlog that it gets from a slow broker."""
    worker = await stage.worker(**settings).ready()
    link.slow(SLOW)
    await stage.send(itertools.islice(load(stage.partitions), records))
    return worker


async def test_connections_that_hang_for_a_while_are_told_and_cost_nothing_but_time(
    linked_stage: tuple[Stage, Link],
) -> None:
    stage, link = linked_stage
    worker = await behind(stage, link, 1000, stall_timeout_s=STALL_S, **IN_SMALL_STEPS)
    await worker.has_processed(100)
    link.hang()
    await told_to_stall(worker)
    assert await worker.metric("eddy_decisions_total") < 1000
    link.heal()

    async def lives() -> bool:
        return (await livez(worker))[0] == 200

    await until(lives, PATIENCE_SECONDS, "a worker that gets on again", worker)
    await stage.processed()
    await stage.verdict()


async def test_a_worker_whose_connections_hang_for_too_long_ends_itself_and_its_successor_continues(
    linked_stage: tuple[Stage, Link],
) -> None:
    stage, link = linked_stage
    worker = await behind(stage, link, 1000, stall_timeout_s=STALL_S, **SOON_MISSED, **IN_SMALL_STEPS)
    await worker.has_processed(100)
    link.hang()
    assert await worker.ended() == EXIT_STALLED, worker.tail()
    assert re.search(rf"The worker is about to end itself: {STALLED.pattern}", worker.log), worker.tail()
    link.heal()
    stage.worker(directory=worker.directory / "data")
    await stage.processed()
    await stage.verdict()


async def test_while_a_broker_is_slow_a_bounded_number_of_runs_waits_and_the_worker_gets_on(
    linked_stage: tuple[Stage, Link],
) -> None:
    stage, link = linked_stage
    most, records = 3, 1000
    worker = await behind(stage, link, records, run_max_records=10, lane_max_runs=most, stall_timeout_s=60)
    waiting: set[float] = set()

    async def processed() -> float:
        for partition in range(stage.partitions):
            place = {"topic": str(Topic.DECISION_LOGS), "partition": str(partition)}
            waiting.add(await worker.metric("eddy_waiting_runs", **place))
        status, detail = await livez(worker)
        assert status == 200, detail
        return await worker.metric("eddy_decisions_total")

    await until_reached(processed, records, PATIENCE_SECONDS, "the end of the backlog", worker)
    assert max(waiting) == most
    link.heal()
    await stage.processed()
    await stage.verdict()


async def test_a_session_that_has_all_the_records_is_scored_and_its_state_does_not_grow(
    stage: Stage,
) -> None:
    # Nothing in them repeats: whatever is remembered of each record adds up.
    hot = (
        keyed(decision("hot", number, tool_call=f"tool-{number}", tool_input=f"input {number}"), 4)
        for number in range(1500)
    )
    worker = await stage.worker(checkpoint_s=0).ready()
    await stage.send(hot)
    await stage.processed()
    await stage.verdict()
    assert await worker.metric("eddy_decisions_total") == 1500
    states = [
        len(stored.value)
        for stored in await stage.read(changelog_topic(stage.application_id))
        if stored.key == session_key("hot") and stored.value is not None
    ]
    half = len(states) // 2
    assert max(states) < 64 * 1024
    assert max(states[half:]) < 1.05 * max(states[:half])


def of_sessions(numbers: Iterable[int]) -> Iterator[Sending]:
    """Yield a record of each of so many sessions."""
    return (keyed(decision(f"s-{number}", number % 3600), 4) for number in numbers)


def large(number: int, size: int) -> Sending:
    """Return a record whose value has nearly so many bytes that no compression makes small."""
    value = decision(f"s-{number % 40}", number)
    value["action"]["tool_input"] = random.Random(number).randbytes((size - 1000) // 2).hex()
    return keyed(value, 4)


async def test_memory_does_not_follow_the_number_of_sessions(stage: Stage) -> None:
    together = 20_000
    worker = await stage.worker(
        session_cache=100, run_max_records=500, rocksdb_max_open_files=16, **SMALL_ROCKSDB
    ).ready()
    # The first ones bring everything to its size: buffers of RocksDB, the heap of an epoch, the aggregates,
    # and what waits while the worker is behind so many.
    await stage.send(of_sessions(range(together)))
    await worker.has_processed(together)
    before = worker.memory()
    for sent in range(together, 4 * together, together):
        await stage.send(of_sessions(range(sent, sent + together)))
        await worker.has_processed(sent + together)
    assert await worker.metric("eddy_decisions_total", result="scored") == 4 * together
    # Were they all kept decoded, it would be 210 MiB.
    assert worker.memory() - before < 70 * MEBIBYTE


async def test_memory_does_not_follow_the_size_of_the_backlog(stage: Stage) -> None:
    largest, records = 300_000, 300
    backlog = [large(number, largest) for number in range(records)]
    run, runs, fetch = 100_000, 2, 400_000
    worker = await stage.worker(
        max_value_bytes=largest, run_max_bytes=run, lane_max_runs=runs, fetch_max_bytes=fetch, **SMALL_ROCKSDB
    ).ready()
    # As above: the first ones bring everything to its size.
    await stage.send(itertools.islice(load(stage.partitions), 500))
    await worker.has_processed(500)
    before = most = worker.memory()
    await stage.send(backlog)

    async def processed() -> float:
        nonlocal most
        most = max(most, worker.memory())
        return await worker.metric("eddy_decisions_total")

    await until_reached(processed, 500 + records, PATIENCE_SECONDS, "the end of the backlog", worker)
    # As docs/limits.md computes it, twice: a record larger than a run is a run of its own.
    waiting = stage.partitions * ((runs + 1) * largest + 2 * fetch) + 9 * largest
    epochs = stage.partitions * 4 * largest
    rocksdb = MEBIBYTE + 2 * stage.partitions * 2 * MEBIBYTE
    assert most - before < 2 * (waiting + epochs + rocksdb) < records * largest

"""From sending an event to receiving its enriched record, at a steady rate."""

from __future__ import annotations

import asyncio
import contextlib
import tempfile
import time
from collections import defaultdict
from collections.abc import Callable
from typing import NamedTuple

from aiokafka import AIOKafkaConsumer, AIOKafkaProducer

from benchmarks.backlog import Backlog
from benchmarks.contender import Contender, running
from benchmarks.cost import Bench
from benchmarks.stages import Input
from streams.domain.topic import Topic

_TICK_SECONDS = 0.005
_READY_SECONDS = 60.0
_LOOKS = 400
_LOOK_SECONDS = 0.05


class Latency(NamedTuple):
    """Milliseconds, over the events after the warm-up."""

    events: int
    events_s: float
    p50_ms: float
    p99_ms: float
    longest_ms: float
    busy: float
    """CPU of the worker's process while the events came, as a share of one core."""


async def measure(bench: Bench, contender: Contender, backlog: Backlog, *, rate: int) -> Latency:
    """Send the backlog at ``rate`` events/s to a worker that is ready, and time each record's way.

    Sender and receiver share this process and its clock. A session's output stands in the partition of its
    input, and in order, so the n-th record out of a partition belongs to the n-th record into it.
    """
    client = bench.client
    group = await bench.group(contender, backlog)
    with tempfile.TemporaryDirectory(prefix="eddy-bench-state-") as directory:
        config = bench.config(contender, backlog, group, directory)
        consumer = AIOKafkaConsumer(
            bootstrap_servers=client.bootstrap, enable_auto_commit=False, isolation_level="read_committed"
        )
        producer = AIOKafkaProducer(bootstrap_servers=client.bootstrap, acks="all")
        async with consumer, producer:
            ends = await client.ends(Topic.ENRICHED)
            partitions = client.of(Topic.ENRICHED)
            consumer.assign(partitions)
            for tp in partitions:
                consumer.seek(tp, ends[tp.partition])
            with running(contender, config) as worker:
                received: dict[int, list[float]] = defaultdict(list)
                reading = asyncio.create_task(_receive(consumer, received))
                try:
                    sent, elapsed, cpu = await _send(producer, backlog, rate, received, worker.cpu_seconds)
                    for _ in range(_LOOKS):
                        if _count(received) >= backlog.workload.total:
                            break
                        await asyncio.sleep(_LOOK_SECONDS)
                finally:
                    reading.cancel()
                    with contextlib.suppress(asyncio.CancelledError):
                        await reading
    return _summary(backlog, sent, received, elapsed, cpu)


def _count(received: dict[int, list[float]]) -> int:
    return sum(len(times) for times in received.values())


async def _receive(consumer: AIOKafkaConsumer, received: dict[int, list[float]]) -> None:
    while True:
        fetched = await consumer.getmany(timeout_ms=1000)
        now = time.perf_counter()
        for tp, messages in fetched.items():
            received[tp.partition] += [now] * len(messages)


async def _send(
    producer: AIOKafkaProducer,
    backlog: Backlog,
    rate: int,
    received: dict[int, list[float]],
    cpu_seconds: Callable[[], float],
) -> tuple[dict[int, list[float]], float, float]:
    """Send the first record alone and wait for it, so that the worker is up; then the rest, evenly.

    Return when each was sent, by partition, and the seconds and the worker's CPU seconds that took.
    """
    waiting = sorted(
        ((record.timestamp, part, record) for part, records in backlog.records.items() for record in records),
        key=lambda item: item[0],
    )
    sent: dict[int, list[float]] = defaultdict(list)

    async def send(partition: int, record: Input) -> None:
        sent[partition].append(time.perf_counter())
        await producer.send(
            Topic.DECISION_LOGS,
            record.value,
            key=record.key,
            partition=partition,
            timestamp_ms=int(time.time() * 1000),
        )

    await send(*waiting[0][1:])
    deadline = time.monotonic() + _READY_SECONDS
    while not _count(received):
        cpu_seconds()  # raises when the worker is gone
        if time.monotonic() > deadline:
            raise TimeoutError(f"the worker did nothing in {_READY_SECONDS:g} s")
        await asyncio.sleep(0.05)
    started, before, number = time.perf_counter(), cpu_seconds(), 0
    rest = waiting[1:]
    while number < len(rest):
        due = min(len(rest), int((time.perf_counter() - started) * rate) + 1)
        for _, partition, record in rest[number:due]:
            await send(partition, record)
        number = due
        await asyncio.sleep(_TICK_SECONDS)
    return sent, time.perf_counter() - started, cpu_seconds() - before


def _summary(
    backlog: Backlog,
    sent: dict[int, list[float]],
    received: dict[int, list[float]],
    elapsed: float,
    cpu: float,
) -> Latency:
    begins = min(min(times) for times in sent.values())
    all_times = sorted(time for times in sent.values() for time in times)
    warm = all_times[min(backlog.workload.warm_up, len(all_times) - 1)]
    assert begins <= warm
    waits = sorted(
        (out - into) * 1000
        for partition, times in sent.items()
        for into, out in zip(times, received[partition], strict=True)
        if into >= warm
    )
    return Latency(
        len(waits),
        backlog.workload.total / elapsed,
        waits[len(waits) // 2],
        waits[int(len(waits) * 0.99)],
        waits[-1],
        cpu / elapsed,
    )

"""From sending an event to receiving its enriched record, at a steady rate."""

from __future__ import annotations

import asyncio
import contextlib
import tempfile
import time
from collections import defaultdict
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from typing import NamedTuple

from aiokafka import AIOKafkaConsumer, AIOKafkaProducer

from benchmarks.backlog import Backlog
from benchmarks.broker import Client
from benchmarks.contender import Contender, running
from benchmarks.cost import Bench
from benchmarks.stages import Input
from streams.core.domain.topic import Topic

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


class Passage:
    """Records that go in at a steady rate, enriched records that come out, and when each did.

    Sender and receiver share this process and its clock. A session's output stands in the partition of its
    input, and in order, so the n-th record out of a partition belongs to the n-th record into it; but not
    where a worker has died and its successor repeats what it had put out.

    Attributes:
        sent: By partition.
        received: By partition.
    """

    def __init__(self, producer: AIOKafkaProducer) -> None:
        self.sent: dict[int, list[float]] = defaultdict(list)
        self.received: dict[int, list[float]] = defaultdict(list)
        self._producer = producer

    @classmethod
    @contextlib.asynccontextmanager
    async def open(cls, client: Client) -> AsyncIterator[Passage]:
        """Connect, and receive what comes out from now on."""
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
            passage = cls(producer)
            reading = asyncio.create_task(passage._receive(consumer))
            try:
                yield passage
            finally:
                reading.cancel()
                with contextlib.suppress(asyncio.CancelledError):
                    await reading

    async def _receive(self, consumer: AIOKafkaConsumer) -> None:
        while True:
            fetched = await consumer.getmany(timeout_ms=1000)
            now = time.perf_counter()
            for tp, messages in fetched.items():
                self.received[tp.partition] += [now] * len(messages)

    def _count(self) -> int:
        return sum(len(times) for times in self.received.values())

    async def _send_one(self, partition: int, record: Input) -> None:
        self.sent[partition].append(time.perf_counter())
        await self._producer.send(
            Topic.DECISION_LOGS,
            record.value,
            key=record.key,
            partition=partition,
            timestamp_ms=int(time.time() * 1000),
        )

    async def first(self, partition: int, record: Input, look: Callable[[], object]) -> None:
        """Send a record alone and wait for it, so that the worker is up; ``look`` raises when it is gone."""
        await self._send_one(partition, record)
        deadline = time.monotonic() + _READY_SECONDS
        while not self._count():
            look()
            if time.monotonic() > deadline:
                raise TimeoutError(f"the worker did nothing in {_READY_SECONDS:g} s")
            await asyncio.sleep(0.05)

    async def send(self, records: Sequence[tuple[int, Input]], rate: int) -> float:
        """Send records evenly; return how many seconds that took."""
        started, number = time.perf_counter(), 0
        while number < len(records):
            due = min(len(records), int((time.perf_counter() - started) * rate) + 1)
            for partition, record in records[number:due]:
                await self._send_one(partition, record)
            number = due
            await asyncio.sleep(_TICK_SECONDS)
        return time.perf_counter() - started

    async def arrived(self) -> None:
        """Wait until as many came out as went in, for a while."""
        sent = sum(len(times) for times in self.sent.values())
        for _ in range(_LOOKS):
            if self._count() >= sent:
                break
            await asyncio.sleep(_LOOK_SECONDS)

    def waits_ms(self, warm_up: int) -> list[float]:
        """Return how long each event took but for the first ones, sorted."""
        all_times = sorted(time for times in self.sent.values() for time in times)
        warm = all_times[min(warm_up, len(all_times) - 1)]
        return sorted(
            (out - into) * 1000
            for partition, times in self.sent.items()
            for into, out in zip(times, self.received[partition], strict=True)
            if into >= warm
        )


def in_order(records: Mapping[int, Sequence[Input]]) -> list[tuple[int, Input]]:
    """Return records with their partitions in the order of their timestamps."""
    flat = ((partition, record) for partition, inputs in records.items() for record in inputs)
    return sorted(flat, key=lambda item: item[1].timestamp)


async def measure(bench: Bench, contender: Contender, backlog: Backlog, *, rate: int) -> Latency:
    """Send the backlog at ``rate`` events/s to a worker that is ready, and time each record's way."""
    group = await bench.group(contender, backlog)
    first, *rest = in_order(backlog.records)
    with tempfile.TemporaryDirectory(prefix="eddy-bench-state-") as directory:
        config = bench.config(contender, backlog, group, directory)
        async with Passage.open(bench.client) as passage:
            with running(contender, config) as worker:
                await passage.first(*first, worker.cpu_seconds)
                before = worker.cpu_seconds()
                elapsed = await passage.send(rest, rate)
                cpu = worker.cpu_seconds() - before
                await passage.arrived()
    waits = passage.waits_ms(backlog.workload.warm_up)
    return Latency(
        len(waits),
        backlog.workload.total / elapsed,
        waits[len(waits) // 2],
        waits[int(len(waits) * 0.99)],
        waits[-1],
        cpu / elapsed,
    )

"""What standbys cost while nothing happens, and what they save when a worker dies.

    python -m benchmarks.standby [--rounds 2] [--rate 500] [--sessions 300000] [--write]

Two workers, without standbys and with one of each partition, in turns on one broker. The first worker
restores everything, the second takes half of it over; then come a steady stream, a backlog, and kill -9 of
the first worker under that stream. The second has never had the partitions it takes over then.

Housekeeping is off: whether one of its searches falls into a measured time would be chance.
"""

from __future__ import annotations

import asyncio
import contextlib
import math
import shlex
import statistics
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Sequence
from contextlib import asynccontextmanager
from itertools import pairwise
from pathlib import Path
from typing import Any

import aiohttp
import click
from prometheus_client.parser import text_string_to_metric_families
from prometheus_client.samples import Sample

from benchmarks import broker, recovery
from benchmarks.backlog import Backlog, placed
from benchmarks.contender import Contender, Running, running
from benchmarks.contenders.config import ContenderConfig
from benchmarks.cost import Bench
from benchmarks.drain import Drained, drain
from benchmarks.latency import Passage, in_order
from benchmarks.machine import describe, pace
from benchmarks.report import update_document
from benchmarks.standby_tables import Steady, Takeover, Turn, as_markdown, cost_row, takeover_row
from benchmarks.workload import Workload
from streams.core.domain.topic import Topic
from streams.kafka.embedded.embedded import free_port
from tests.integration.worker_process import until

_DOCUMENT = Path(__file__).parents[1] / "docs" / "recovery.md"

_PARTITIONS = 8
_SHARE = _PARTITIONS // 2
_SESSIONS = 1_000
_SESSION_TIMEOUT_S = 6.0
_PATIENCE_SECONDS = 120.0
_LOOK_SECONDS = 1.0

#: What a killed worker had put out comes within this; nobody takes its partitions over as soon.
_IN_FLIGHT_SECONDS = 1.0

#: Records of the stream under which a worker is killed: it continues until the takeover is over.
_TAKEOVER_SECONDS = 60


class Worker:
    """A worker's process and its metrics."""

    def __init__(self, process: Running, port: int, http: aiohttp.ClientSession) -> None:
        self.process = process
        self._url = f"http://127.0.0.1:{port}"
        self._http = http

    async def samples(self, name: str, **labels: str) -> list[Sample]:
        """Return the samples of a metric with these labels."""
        async with self._http.get(f"{self._url}/metrics") as answer:
            text = await answer.text()
        return [
            sample
            for family in text_string_to_metric_families(text)
            for sample in family.samples
            if sample.name == name and labels.items() <= sample.labels.items()
        ]

    async def partitions(self) -> set[int]:
        """Return the partitions of `decision-logs` it processes."""
        found = await self.samples("eddy_consumer_lag", topic=str(Topic.DECISION_LOGS))
        return {int(sample.labels["partition"]) for sample in found}

    async def restored(self) -> tuple[float, float]:
        """Return how many records it has restored so far, and how long the latest restores took."""
        records = await self.samples("eddy_restored_records_total")
        seconds = await self.samples("eddy_restore_seconds")
        return sum(sample.value for sample in records), sum(sample.value for sample in seconds)

    async def has(self, share: int, standing_by: int) -> None:
        """Wait until it is ready with so many partitions, and as many standbys have been up to date."""

        async def so() -> bool:
            self.process.cpu_seconds()  # raises when it is gone
            async with self._http.get(f"{self._url}/readyz") as answer:
                ready = answer.status == 200
            return (
                ready
                and len(await self.partitions()) == share
                and len(await self.samples("eddy_standby_lag_seconds")) == standing_by
            )

        await until(so, _PATIENCE_SECONDS, f"{share} partitions and {standing_by} standbys")


class _Together:
    """Several processes, watched as one."""

    def __init__(self, workers: Sequence[Worker]) -> None:
        self._processes = [worker.process for worker in workers]

    @property
    def log(self) -> str:
        return "\n".join(process.log for process in self._processes)

    def cpu_seconds(self) -> float:
        return sum(process.cpu_seconds() for process in self._processes)

    def rss_mb(self) -> float:
        return sum(process.rss_mb() for process in self._processes)


class Measure:
    """Takes turns on one broker."""

    def __init__(
        self, bench: Bench, states: Backlog, *, rate: int, seconds: int, records: int, sessions: int
    ):
        self._bench = bench
        self._states = states
        self._rate = rate
        self._seconds = seconds
        self._records = records
        self._sessions = sessions

    async def turn(self, standbys: int) -> Turn:
        """Measure with so many standbys."""
        client = self._bench.client
        ends = await client.ends(Topic.DECISION_LOGS)
        group = await self._bench.group(Contender.EDDY, self._states)
        await client.commit(group, Topic.DECISION_LOGS, ends)
        await recovery.fill(client, group, self._states, self._sessions)
        async with self._two_workers(group, standbys) as workers:
            load = pace()["load_average"]
            async with _looks(workers) as looked:
                steady = await self._stream(workers)
                drained = await self._drain(workers)
            takeover = await self._kill(*workers)
        behind = (statistics.median(looked), max(looked)) if looked else (math.nan, math.nan)
        return Turn(standbys, load, steady, drained, behind, takeover)

    @asynccontextmanager
    async def _two_workers(self, group: str, standbys: int) -> AsyncIterator[tuple[Worker, Worker]]:
        timeout = aiohttp.ClientTimeout(_PATIENCE_SECONDS)
        async with aiohttp.ClientSession(timeout=timeout) as http, contextlib.AsyncExitStack() as open_:
            first = open_.enter_context(self._worker(group, standbys, http))
            await first.has(_PARTITIONS, 0)
            second = open_.enter_context(self._worker(group, standbys, http))
            for worker in (first, second):
                # Each of the two tables has one.
                await worker.has(_SHARE, 2 * _SHARE * standbys)
            yield first, second

    @contextlib.contextmanager
    def _worker(self, group: str, standbys: int, http: aiohttp.ClientSession) -> Iterator[Worker]:
        port = free_port()
        with tempfile.TemporaryDirectory(prefix="eddy-bench-state-", ignore_cleanup_errors=True) as directory:
            config = ContenderConfig(
                self._bench.client.bootstrap,
                group,
                _PARTITIONS,
                directory,
                idempotent=self._bench.client.kind != "embedded",
                session_timeout_s=_SESSION_TIMEOUT_S,
            )
            extra = {
                "EDDY_WEB_PORT": str(port),
                "EDDY_STANDBY_REPLICAS": str(standbys),
                "EDDY_HOUSEKEEPING_INTERVAL_S": "0",
            }
            with running(Contender.EDDY, config, extra) as process:
                yield Worker(process, port, http)

    async def _stream(self, workers: tuple[Worker, Worker]) -> Steady:
        workload = Workload(200, _SESSIONS, self._rate * self._seconds, self._rate * 2)
        records = in_order(placed(workload, await self._bench.client.ends(Topic.DECISION_LOGS)))
        warm, measured = records[: workload.warm_up], records[workload.warm_up :]
        shares = [await worker.partitions() for worker in workers]
        async with Passage.open(self._bench.client) as passage:
            await passage.send(warm, self._rate)
            before = [worker.process.cpu_seconds() for worker in workers]
            elapsed = await passage.send(measured, self._rate)
            cpu = [worker.process.cpu_seconds() - was for worker, was in zip(workers, before, strict=True)]
            await passage.arrived()
        waits = passage.waits_ms(workload.warm_up)
        events = [sum(1 for partition, _ in measured if partition in share) for share in shares]
        first, second = (used / max(1, own) * 1e6 for used, own in zip(cpu, events, strict=True))
        return Steady(
            len(measured) / elapsed,
            (first, second),
            waits[len(waits) // 2],
            waits[int(len(waits) * 0.99)],
            (workers[0].process.rss_mb(), workers[1].process.rss_mb()),
        )

    async def _drain(self, workers: tuple[Worker, Worker]) -> Drained:
        client = self._bench.client
        since = await client.ends(Topic.ENRICHED)
        warm_up = self._records // 4
        workload = Workload(200, _SESSIONS, self._records, warm_up)
        records = placed(workload, await client.ends(Topic.DECISION_LOGS))
        await client.write(Topic.DECISION_LOGS, records)
        total = workload.total
        return await drain(_Together(workers), client, since, warm_up=warm_up, total=total, seconds=60.0)

    async def _kill(self, first: Worker, second: Worker) -> Takeover:
        before, _ = await second.restored()
        lost, own = await first.partitions(), await second.partitions()
        workload = Workload(200, _SESSIONS, self._rate * _TAKEOVER_SECONDS, 0)
        records = in_order(placed(workload, await self._bench.client.ends(Topic.DECISION_LOGS)))
        async with Passage.open(self._bench.client) as passage:
            sending = asyncio.create_task(passage.send(records, self._rate))
            try:
                await asyncio.sleep(_LOOK_SECONDS)
                first.process.kill()
                killed = time.perf_counter()

                def back() -> bool:
                    second.process.cpu_seconds()  # raises when it is gone
                    return all(_after(passage, partition, killed) is not None for partition in lost)

                await until(back, _PATIENCE_SECONDS, "outputs of the partitions of the killed worker")
                await second.has(_PARTITIONS, 0)
            finally:
                sending.cancel()
                with contextlib.suppress(asyncio.CancelledError):
                    await sending
        restored, seconds = await second.restored()
        again = sorted(_after(passage, partition, killed) or 0.0 for partition in lost)
        still = max((_gap(passage.received[partition], killed) for partition in own), default=0.0)
        return Takeover(again[0], again[-1], still, int(restored - before), seconds)


def _after(passage: Passage, partition: int, killed: float) -> float | None:
    """Return how long after the kill a partition had an output of its new owner, None before it has."""
    times = passage.received[partition]
    return next((at - killed for at in times if at > killed + _IN_FLIGHT_SECONDS), None)


def _gap(times: Sequence[float], since: float) -> float:
    """Return the longest time between two outputs after ``since``."""
    later = [at for at in times if at >= since]
    return max((after - before for before, after in pairwise(later)), default=0.0)


@asynccontextmanager
async def _looks(workers: Iterable[Worker]) -> AsyncIterator[list[float]]:
    """Look from time to time how far the standbys of workers are behind, seconds."""
    behind: list[float] = []

    async def look() -> None:
        while True:
            await asyncio.sleep(_LOOK_SECONDS)
            for worker in workers:
                behind.extend(sample.value for sample in await worker.samples("eddy_standby_lag_seconds"))

    looking = asyncio.create_task(look())
    try:
        yield behind
    finally:
        looking.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await looking


async def measure(
    *,
    kind: str,
    rounds: int,
    rate: int,
    seconds: int,
    records: int,
    sessions: int,
    say: Callable[[str], None],
) -> dict[str, Any]:
    """Take turns; return what is reported."""
    results: dict[str, Any] = {
        "started": time.strftime("%Y-%m-%d %H:%M:%S %z"),
        "broker": {"kafka": "Apache Kafka, one node", "embedded": "embedded (Tansu)"}[kind],
        "machine": describe(),
        "partitions": _PARTITIONS,
        "pace": [pace()],
        "rate": rate,
        "sessions": sessions,
        "session_timeout_s": _SESSION_TIMEOUT_S,
        "turns": [],
    }
    began = time.monotonic()
    with broker.running(kind) as node, tempfile.TemporaryDirectory(prefix="eddy-bench-") as directory:
        await broker.provision(node.bootstrap, "bench", _PARTITIONS)
        async with broker.Client(node.bootstrap, _PARTITIONS, kind).open() as client:
            bench = Bench(client, say)
            states = await Backlog.make(client, Workload(200, 2_000, 1, 2_000), Path(directory))
            taking = Measure(bench, states, rate=rate, seconds=seconds, records=records, sessions=sessions)
            for turn in range(rounds):
                for standbys in (0, 1)[:: -1 if turn % 2 else 1]:
                    found = await taking.turn(standbys)
                    results["turns"].append(found)
                    say(" | ".join(["standbys", *cost_row(found), "killed", *takeover_row(found)]))
    results["pace"].append(pace())
    results["minutes"] = round((time.monotonic() - began) / 60, 1)
    return results


@click.command()
@click.option("--rounds", type=click.IntRange(1), default=2, show_default=True, help="Each with and without.")
@click.option("--rate", type=click.IntRange(1), default=500, show_default=True, help="Events/s.")
@click.option("--seconds", type=click.IntRange(1), default=15, show_default=True, help="Of the stream.")
@click.option("--records", type=click.IntRange(8), default=15_000, show_default=True, help="Of the backlog.")
@click.option("--sessions", type=click.IntRange(8), default=300_000, show_default=True, help="To restore.")
@click.option(
    "--broker", "kind", type=click.Choice(["kafka", "embedded"]), default="kafka", show_default=True
)
@click.option("--write", is_flag=True, help="Put the tables into docs/recovery.md.")
def main(
    *, rounds: int, rate: int, seconds: int, records: int, sessions: int, kind: str, write: bool
) -> None:
    """Measure two workers without and with standbys, in turns."""
    started = time.monotonic()

    def say(line: str) -> None:
        click.echo(f"{time.monotonic() - started:4.0f} s  {line}", err=True)

    results = asyncio.run(
        measure(
            kind=kind, rounds=rounds, rate=rate, seconds=seconds, records=records, sessions=sessions, say=say
        )
    )
    results["command"] = shlex.join(["python", "-m", "benchmarks.standby", *sys.argv[1:]])
    text = as_markdown(results)
    click.echo(text)
    if write:
        update_document(_DOCUMENT, {"standby": text})


if __name__ == "__main__":
    main()

"""`python -m benchmarks.small`: Eddy's engine beside Kafka Streams, both with little to do for each record.

Both run the small job (`contenders/small_job.py`, `contenders/kafka_streams/SmallJob.java`) on the same
records. What they write is compared with the same fold in one process first; if one byte differs, nothing is
timed.
"""

from __future__ import annotations

import asyncio
import os
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from typing import Final

import click
import orjson

from benchmarks import broker, jvm
from benchmarks.backlog import placed
from benchmarks.contender import program, worker_settings
from benchmarks.contenders.config import ContenderConfig
from benchmarks.contenders.small_job import scored
from benchmarks.cost import UnequalError
from benchmarks.drain import Drained, drain
from benchmarks.machine import describe
from benchmarks.markdown import table
from benchmarks.stages import Input
from benchmarks.workload import Workload
from streams.core.detectors.uniqueness.detector import UniquenessState
from streams.core.domain.topic import Topic

PARTITIONS: Final = 8
EDDY, KAFKA_STREAMS = "Eddy", "Kafka Streams"
_CHECKED: Final = Workload(200, 200, 4_000, 1_000, "json")
_SECONDS: Final = 120.0


class Small:
    """The small job of both, on one broker."""

    def __init__(self, client: broker.Client) -> None:
        self._client = client
        self._runs = 0

    async def write(self, workload: Workload) -> tuple[dict[int, int], dict[int, list[Input]]]:
        """Append the records of a workload; return where they begin, and what they are."""
        begins = await self._client.ends(Topic.DECISION_LOGS)
        records = placed(workload, begins)
        await self._client.write(Topic.DECISION_LOGS, records, "lz4")
        return begins, records

    async def drain(
        self, name: str, begins: Mapping[int, int], workload: Workload
    ) -> tuple[Drained, dict[int, int]]:
        """Let a contender drain what begins there; return what it cost, and where its outputs begin."""
        self._runs += 1
        group = f"small-{self._runs}"
        await broker.provision(self._client.bootstrap, group, PARTITIONS)
        await self._client.commit(group, Topic.DECISION_LOGS, begins)
        since = await self._client.ends(Topic.ENRICHED)
        with tempfile.TemporaryDirectory(prefix="eddy-bench-state-") as directory:
            config = ContenderConfig(self._client.bootstrap, group, PARTITIONS, directory)
            with program(*_started(name, config)) as running:
                drained = await drain(
                    running,
                    self._client,
                    since,
                    warm_up=workload.warm_up,
                    total=workload.total,
                    seconds=_SECONDS,
                )
        return drained, since

    async def check(self) -> None:
        """Compare what both write, in order, with the fold in one process.

        Raises:
            UnequalError: something is different.
        """
        begins, records = await self.write(_CHECKED)
        expected = {partition: list(folded(inputs)) for partition, inputs in records.items()}
        for name in (EDDY, KAFKA_STREAMS):
            _, since = await self.drain(name, begins, _CHECKED)
            found = await self._client.read(Topic.ENRICHED, since)
            for partition, rows in found.items():
                if rows != expected.get(partition, []):
                    raise UnequalError(f"{name} writes other records to partition {partition} than the fold")


def _started(name: str, config: ContenderConfig) -> tuple[Sequence[str], Mapping[str, str]]:
    if name == KAFKA_STREAMS:
        return jvm.command(config.bootstrap, config.group, config.directory), {}
    # As Kafka Streams is set, so that both compress alike.
    settings = {**worker_settings(config), "EDDY_PRODUCER_COMPRESSION": "lz4", "EDDY_CHECKPOINT_S": "1"}
    return [sys.executable, "-m", "benchmarks.contenders.small_job", "worker"], settings


def folded(inputs: Sequence[Input]) -> Iterator[tuple[bytes, bytes]]:
    """Yield key and value of what must come of the records of a partition."""
    states: dict[bytes, UniquenessState] = {}
    for record in inputs:
        state = states.get(record.key, UniquenessState())
        states[record.key], output = scored(state, orjson.loads(record.value))
        yield record.key, output


async def measure(workload: Workload, rounds: int) -> list[tuple[Drained, Drained]]:
    """Return what both cost in each round; they take turns."""
    with broker.running("kafka") as node:
        await broker.provision(node.bootstrap, "bench", PARTITIONS)
        async with broker.Client(node.bootstrap, PARTITIONS, "kafka").open() as client:
            small = Small(client)
            await small.check()
            click.echo("Both write the same bytes as the fold in one process.", err=True)
            begins, _ = await small.write(workload)
            found = []
            for number in range(rounds):
                pair = [(await small.drain(name, begins, workload))[0] for name in (EDDY, KAFKA_STREAMS)]
                click.echo(f"round {number + 1}: {pair[0].cpu_us:.1f} and {pair[1].cpu_us:.1f} µs", err=True)
                found.append((pair[0], pair[1]))
            return found


@click.command()
@click.option("--records", type=click.IntRange(1_000), default=200_000, show_default=True, help="Measured.")
@click.option(
    "--warm-up",
    type=click.IntRange(0),
    default=400_000,
    show_default=True,
    help="Records before those: the JVM compiles meanwhile.",
)
@click.option("--rounds", type=click.IntRange(1), default=3, show_default=True)
def main(*, records: int, warm_up: int, rounds: int) -> None:
    """Measure the CPU of the small job: Eddy's engine beside Kafka Streams."""
    workload = Workload(200, 1_000, records, warm_up, "json")
    started = time.strftime("%Y-%m-%d %H:%M:%S %z")
    load = os.getloadavg()[0]
    found = asyncio.run(measure(workload, rounds))
    on = describe()
    machine = f"{on['processor']}, {on['cores']} cores, {on['system']}, Python {on['python']}"
    click.echo(f"{started}; {machine}; load {load:.1f} to {os.getloadavg()[0]:.1f}")
    header = (
        "round",
        *(f"{name}, {what}" for name in (EDDY, KAFKA_STREAMS) for what in ("CPU µs", "events/s")),
        "ratio",
    )
    rows = [
        (
            str(number),
            *(text for one in pair for text in (f"{one.cpu_us:.1f}", f"{one.events_s:,.0f}")),
            f"{pair[0].cpu_us / pair[1].cpu_us:.2f}",
        )
        for number, pair in enumerate(found, 1)
    ]
    click.echo(table(header, rows))


if __name__ == "__main__":
    main()

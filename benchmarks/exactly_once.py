"""What transactions cost: both guarantees on the same backlog and the same broker, in one run.

    python -m benchmarks.exactly_once [--rate 500] [--records 40000] [--rounds 3]

Latency is measured in rounds, which the guarantees begin in turn: a broker is quicker the longer it runs.
Drained records are counted by the ends of the output topic, where the marker of each transaction counts as
one: 0.2 % of them at 500 records to a run.
"""

from __future__ import annotations

import asyncio
import itertools
import json
import os
import tempfile
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import Any

import click

from benchmarks import broker, latency
from benchmarks.backlog import Backlog
from benchmarks.contender import Contender
from benchmarks.cost import Bench
from benchmarks.machine import describe, pace
from benchmarks.workload import Workload

_PARTITIONS = 8
_SECONDS = 60.0

AT_LEAST_ONCE, EXACTLY_ONCE = "at_least_once", "exactly_once"


@contextmanager
def environment(settings: Mapping[str, object]) -> Iterator[None]:
    """Let the workers that are started meanwhile have these settings."""
    names = {f"EDDY_{name.upper()}": str(value) for name, value in settings.items()}
    before = {name: os.environ.get(name) for name in names}
    os.environ.update(names)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value


@asynccontextmanager
async def _bench() -> AsyncIterator[tuple[Bench, Path]]:
    with broker.running("kafka") as node, tempfile.TemporaryDirectory(prefix="eddy-bench-") as directory:
        await broker.provision(node.bootstrap, "bench", _PARTITIONS)
        async with broker.Client(node.bootstrap, _PARTITIONS, "kafka").open() as client:
            yield Bench(client, click.echo), Path(directory)


async def measure(
    records: int, rate: int, seconds: int, rounds: int, run_sizes: tuple[int, ...]
) -> dict[str, Any]:
    """Return CPU per event of the engine and of the whole job, and latency, under both guarantees."""
    results: dict[str, Any] = {"machine": describe(), "pace": [pace()], "drained": [], "latency": []}
    if records:
        async with _bench() as (bench, directory):
            backlog = await Backlog.make(bench.client, Workload(200, 1_000, records, records // 4), directory)
            await backlog.append(bench.client)
            for run in run_sizes:
                results["drained"] += await _drain(bench, backlog, run)
    # On a broker of their own: a transaction that a killed worker leaves open keeps readers waiting.
    async with _bench() as (bench, directory):
        for number, run in itertools.product(range(rounds), run_sizes):
            for guarantee in (AT_LEAST_ONCE, EXACTLY_ONCE)[:: -1 if number % 2 else 1]:
                workload = Workload(200, 1_000, rate * seconds, rate * 5)
                timed = await Backlog.make(bench.client, workload, directory)
                with environment({"processing_guarantee": guarantee, "run_max_records": run}):
                    taken = await latency.measure(bench, Contender.EDDY, timed, rate=rate)
                load = pace()["load_average"]
                results["latency"].append([guarantee, run, load, taken._asdict()])
                click.echo(
                    f"{guarantee}, runs of {run}, {rate} events/s: p50 {taken.p50_ms:.0f} ms, "
                    f"p99 {taken.p99_ms:.0f} ms, load {load}"
                )
    results["pace"].append(pace())
    return results


async def _drain(bench: Bench, backlog: Backlog, run: int) -> list[list[Any]]:
    results: list[list[Any]] = []
    for judging in (False, True):
        for guarantee in (AT_LEAST_ONCE, EXACTLY_ONCE):
            with environment({"processing_guarantee": guarantee, "run_max_records": run}):
                found = await bench.drain(Contender.EDDY, backlog, seconds=_SECONDS, judging=judging)
            what = "whole job" if judging else "engine"
            results.append([guarantee, run, what, found._asdict()])
            click.echo(
                f"{guarantee}, runs of {run}, {what}: {found.cpu_us:.0f} µs CPU per event, "
                f"{found.events_s:,.0f} events/s"
            )
    return results


@click.command()
@click.option(
    "--records", default=40_000, show_default=True, help="Measured records of the backlog; 0: none."
)
@click.option("--rate", default=500, show_default=True, help="Events/s while latency is measured.")
@click.option("--seconds", default=20, show_default=True, help="Of measured latency.")
@click.option("--rounds", default=1, show_default=True, help="Of latency, each with both guarantees.")
@click.option("--run", "runs", multiple=True, type=int, default=(500,), help="EDDY_RUN_MAX_RECORDS.")
@click.option("--json", "file", type=click.Path(path_type=Path), help="Where to write the figures.")
def main(
    *, records: int, rate: int, seconds: int, rounds: int, runs: tuple[int, ...], file: Path | None
) -> None:
    """Measure both guarantees on one broker, one after another."""
    results = asyncio.run(measure(records, rate, seconds, rounds, runs))
    if file is not None:
        file.write_text(json.dumps(results, indent=1))


if __name__ == "__main__":
    main()

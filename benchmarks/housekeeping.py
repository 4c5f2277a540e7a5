"""The state of a million sessions passing through RocksDB and housekeeping, without Kafka.

    python -m benchmarks.housekeeping --sessions 1000000

One partition. Every second session ends at once, the others are silent from then on; five hundred come in
each second of its clock, and sessions live for 50 seconds and the grace as long. Then a million sessions that
stay are searched once.
"""

from __future__ import annotations

import asyncio
import tempfile
import time
from collections.abc import AsyncIterator, Collection, Mapping
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path

import click
import psutil

from schemas.codec import Codec
from streams.core.detectors.settings import DEFAULTS, DetectionSettings
from streams.core.domain.run import Run
from streams.core.domain.session import Session
from streams.core.settings_document import ShadowDocument
from streams.kafka.client import Stored
from streams.kafka.clock import ClusterClock
from streams.observe.settings import WorkerSettings, load
from streams.worker.batch import Job
from streams.worker.effects import BatchOutput, changes
from streams.worker.lifetime.housekeeping import Housekeeping
from streams.worker.run_result import RunResult
from streams.worker.state.table import SessionTable, StateView
from streams.worker.wiring import build
from tests.integration.load import as_json, decision

_AT_ONCE = 1_000
_PARTITION = 0
_SETTINGS = replace(DEFAULTS, version=1, session_ttl_ms=50_000, state_grace_ms=50_000)
_JOB = Job(Codec.bundled(), group="g", version="1")


class _Passing:
    """Sessions that come and go, and everything housekeeping asks for."""

    in_force: DetectionSettings = _SETTINGS
    shadow = ShadowDocument()

    def __init__(self, table: SessionTable) -> None:
        self.table = table
        self.clock_ms = 1_700_000_000_000
        self.generation = 1
        self.offset = -1
        self.written = 0
        self.gone = 0
        self.entries = 0
        self.searching = 0.0
        clock = ClusterClock(lambda: self.clock_ms, lambda: 0.0)
        clock.heard(None)
        self.housekeeping = Housekeeping(
            job=_JOB,
            table=table,
            effects=self,
            settings=self,
            worker=self,
            metrics=self,
            interval_ms=1_000,
            rest_ms=6_000,
            clock=clock,
        )

    def in_charge(self) -> tuple[int, Collection[int]]:
        return self.generation, (_PARTITION,)

    def read_up_to(self, _partition: int) -> int:
        return self.clock_ms

    def passed(self, _partition: int) -> int:
        return self.written

    @asynccontextmanager
    async def alone(self, _partition: int) -> AsyncIterator[None]:
        yield

    async def carry_out(self, outcome: BatchOutput[Session]) -> None:
        self.write(outcome.view)

    def searched(self, entries: int, seconds: float) -> None:
        self.entries += entries
        self.searching += seconds

    def removed(self, _reason: str, sessions: int, _events: Mapping[str, int]) -> None:
        self.gone += sessions

    def write(self, view: StateView[Session]) -> None:
        items = list(changes(self.table, view))
        self.offset += len(items)
        self.table.write(_PARTITION, view, items, self.offset, self.clock_ms)

    def come(self, session: Session, numbers: range, *, ends: bool) -> None:
        """Let an epoch write the states of new sessions, those with even numbers being stubs."""
        names = [f"session-{number:08d}" for number in numbers]
        view = self.table.view(_PARTITION, names)
        for number, name in zip(numbers, names, strict=True):
            state = session._replace(partition=_PARTITION, offset=number, latest=self.clock_ms)
            view.put(Session(_PARTITION, number) if ends and number % 2 == 0 else state, name)
        self.written = numbers.stop
        self.write(view)


def _session() -> Session:
    """Return the state of a session after three records."""
    messages = [
        Stored(_PARTITION, number, -1, b"s", as_json(decision("s", number)), ()) for number in range(3)
    ]
    view = StateView[Session]({})
    _JOB.fold(Run("decision-logs", _PARTITION, messages), view, DEFAULTS, RunResult())
    found = view.get("s")
    assert found is not None
    return found


async def pass_through(directory: Path, sessions: int, samples: int) -> None:
    """Let so many sessions come and go."""
    app = build(load(WorkerSettings, data_dir=directory, housekeeping_interval_s=0, session_cache=20_000))
    passing, session, process = _Passing(app.sessions), _session(), psutil.Process()
    click.echo("| sessions | there | RSS, MB | disk, MB | looked at | CPU s of searching | CPU s of all |")
    click.echo("|---|---|---|---|---|---|---|")
    for first in range(0, sessions, _AT_ONCE):
        passing.come(session, range(first, first + _AT_ONCE), ends=True)
        for _ in range(2):
            passing.clock_ms += 1_000
            await passing.housekeeping.tick(1.0)
        if (first // _AT_ONCE) % max(1, sessions // _AT_ONCE // samples) == 0:
            click.echo(_row(passing, process, directory, first + _AT_ONCE))
    for _ in range(sessions):
        if passing.gone >= sessions:
            break
        passing.clock_ms += 1_000
        await passing.housekeeping.tick(1.0)
    click.echo(_row(passing, process, directory, sessions))

    click.echo(f"\nOne search of {sessions:,} sessions that stay:")
    passing.entries, passing.searching = 0, 0.0
    for first in range(sessions, 2 * sessions, _AT_ONCE):
        passing.come(session, range(first, first + _AT_ONCE), ends=False)
    passing.generation += 1
    started, ticks = time.perf_counter(), 0
    while passing.entries < sessions:
        await passing.housekeeping.tick(10.0)
        ticks += 1
    click.echo(
        f"{passing.entries:,} looked at in {passing.searching:.2f} s of CPU, {ticks:,} ticks, "
        f"{time.perf_counter() - started:.1f} s; disk {_disk(directory):.1f} MB"
    )
    app.sessions.stores.close_all()


def _disk(directory: Path) -> float:
    return sum(file.stat().st_size for file in directory.rglob("*") if file.is_file()) / 1e6


def _row(passing: _Passing, process: psutil.Process, directory: Path, sent: int) -> str:
    there = passing.written - passing.gone
    times = process.cpu_times()
    return (
        f"| {sent:,} | {there:,} | {process.memory_info().rss / 1e6:.0f} | {_disk(directory):.1f} "
        f"| {passing.entries:,} | {passing.searching:.1f} | {times.user + times.system:.0f} |"
    )


@click.command()
@click.option("--sessions", type=click.IntRange(_AT_ONCE), default=1_000_000, show_default=True)
@click.option("--samples", type=click.IntRange(2), default=12, show_default=True)
def main(sessions: int, samples: int) -> None:
    """Measure what very many sessions leave behind, without Kafka."""
    with tempfile.TemporaryDirectory(prefix="eddy-housekeeping-", ignore_cleanup_errors=True) as directory:
        asyncio.run(pass_through(Path(directory), sessions, samples))


if __name__ == "__main__":
    main()

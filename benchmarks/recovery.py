"""Restoring the state of many sessions from the changelog, on a worker without local state."""

from __future__ import annotations

import asyncio
import re
import tempfile
import time
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from benchmarks.backlog import Backlog
from benchmarks.broker import Client
from benchmarks.contender import Contender, Running, running
from benchmarks.cost import Bench
from benchmarks.stages import Input
from streams.core.domain.session import Session
from streams.core.domain.topic import Topic
from streams.worker.state.changelog import encode_session

#: Bytes of a state that is restored, at most.
STATE_BYTES = 500

_PATIENCE_SECONDS = 600.0
_SAMPLE_SECONDS = 0.02
#: As the log of a worker has it, and `contenders/naive_faust.py`.
_RESTORED = re.compile(r"Restored the state of sessions: ([\d,]+) records from .* in ([\d.]+) s")


class Recovery(NamedTuple):
    """One restore; ``seconds`` from the begin of the restore to the table being ready."""

    records: int
    seconds: float
    cpu_us: float
    """CPU of the process while it restored, µs per record."""
    bytes: int = 0
    """Bytes of a state, on average."""

    @property
    def records_s(self) -> float:
        """Records per second."""
        return self.records / self.seconds


async def measure(bench: Bench, contender: Contender, backlog: Backlog, sessions: int) -> Recovery:
    """Write the last states of so many sessions to a changelog and let a fresh worker restore them."""
    client = bench.client
    group = await bench.group(contender, backlog)
    ends = await client.ends(Topic.DECISION_LOGS)
    await client.commit(group, Topic.DECISION_LOGS, ends)
    prefix = "s" if contender is Contender.EDDY else ""
    total, size = await fill(client, group, backlog, sessions, prefix)
    with tempfile.TemporaryDirectory(prefix="eddy-bench-state-") as directory:
        config = bench.config(contender, backlog, group, directory)
        with running(contender, config) as worker:
            restored = await _watch(worker)
    if restored.records != total:
        raise AssertionError(f"{contender.title} restored {restored.records} records of {total}")
    return restored._replace(bytes=round(size / total))


async def fill(
    client: Client, group: str, backlog: Backlog, sessions: int, prefix: str = "s"
) -> tuple[int, int]:
    """Write the last states of so many sessions to a group's changelog; return how many, and their bytes.

    The states are those of the backlog's sessions, over and over, each at an offset of its own and without so
    many detectors' states that it has `STATE_BYTES`; compressed and in batches as a worker writes them.
    ``prefix`` stands before the session's id in the key.
    """
    total = size = 0
    for partition in range(client.partitions):
        states = list(_states(backlog, partition, range(partition, sessions, client.partitions), prefix))
        total += len(states)
        size += sum(len(state.value) for state in states)
        await client.write(f"{group}-sessions-changelog", {partition: states}, compression="zstd")
    return total, size


def _states(backlog: Backlog, partition: int, numbers: Iterable[int], prefix: str) -> Iterator[Input]:
    known = [_cut(entry.session) for entries in backlog.known.entries.values() for entry in entries]
    now = int(time.time() * 1000)
    for offset, number in enumerate(numbers):
        session = known[number % len(known)]._replace(partition=partition, offset=offset)
        yield Input(0, f"{prefix}session-{number:08d}".encode(), encode_session(session), now)


def _cut(session: Session) -> Session:
    states = dict(session.states)
    while len(encode_session(session._replace(states=states))) > STATE_BYTES and states:
        states.popitem()
    return session._replace(states=states)


async def _watch(worker: Running) -> Recovery:
    """Follow the log until it tells of the restore, with the CPU time of every moment."""
    samples: list[tuple[float, float]] = []
    while len(samples) < _PATIENCE_SECONDS / _SAMPLE_SECONDS:
        now = time.monotonic()
        samples.append((now, worker.cpu_seconds()))
        if found := _RESTORED.search(worker.log):
            records, seconds = int(found[1].replace(",", "")), float(found[2])
            before = max((cpu for at, cpu in samples if at <= now - seconds), default=0.0)
            return Recovery(records, seconds, (samples[-1][1] - before) / records * 1e6)
        await asyncio.sleep(_SAMPLE_SECONDS)
    raise TimeoutError(f"the restore did not end in {_PATIENCE_SECONDS:g} s\n{worker.log[-4000:]}")

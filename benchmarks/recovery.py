"""Restoring the state of many sessions from the changelog, on a worker without local state."""

from __future__ import annotations

import asyncio
import re
import tempfile
import time
from typing import NamedTuple

from benchmarks.backlog import Backlog
from benchmarks.contender import Contender, Running, running
from benchmarks.cost import Bench
from benchmarks.stages import Input
from streams.domain.topic import Topic
from streams.engine.changelog import encode_session

_PATIENCE_SECONDS = 180.0
_SAMPLE_SECONDS = 0.02
_RESTORED = re.compile(r"Restored (\d+) records of \d+ partitions of sessions in ([\d.]+) s")


class Recovery(NamedTuple):
    """One restore; ``seconds`` from the begin of the restore to the table being ready."""

    records: int
    seconds: float
    cpu_us: float
    """CPU of the process while it restored, µs per record."""

    @property
    def records_s(self) -> float:
        """Records per second."""
        return self.records / self.seconds


async def measure(bench: Bench, contender: Contender, backlog: Backlog) -> Recovery:
    """Write the last state of every session to a changelog and let a fresh worker restore it."""
    client = bench.client
    group = await bench.group(contender, backlog)
    ends = await client.ends(Topic.DECISION_LOGS)
    await client.commit(group, Topic.DECISION_LOGS, ends)
    states: dict[int, list[Input]] = {}
    for partition, records in backlog.records.items():
        newest = {
            record.key: entry.session
            for record, entry in zip(records, backlog.known.entries[partition], strict=True)
        }
        prefix = b"s" if contender is Contender.EDDY else b""
        states[partition] = [
            Input(0, prefix + key, encode_session(session), records[-1].timestamp)
            for key, session in newest.items()
        ]
    await client.write(f"{group}-sessions-changelog", states)
    total = sum(len(part) for part in states.values())
    with tempfile.TemporaryDirectory(prefix="eddy-bench-state-") as directory:
        config = bench.config(contender, backlog, group, directory)
        with running(contender, config) as worker:
            restored = await _watch(worker)
    if restored.records != total:
        raise AssertionError(f"{contender.title} restored {restored.records} records of {total}")
    return restored


async def _watch(worker: Running) -> Recovery:
    """Follow the log until it tells of the restore, with the CPU time of every moment."""
    samples: list[tuple[float, float]] = []
    while len(samples) < _PATIENCE_SECONDS / _SAMPLE_SECONDS:
        now = time.monotonic()
        samples.append((now, worker.cpu_seconds()))
        if found := _RESTORED.search(worker.log):
            records, seconds = int(found[1]), float(found[2])
            before = max((cpu for at, cpu in samples if at <= now - seconds), default=0.0)
            return Recovery(records, seconds, (samples[-1][1] - before) / records * 1e6)
        await asyncio.sleep(_SAMPLE_SECONDS)
    raise TimeoutError(f"the restore did not end in {_PATIENCE_SECONDS:g} s\n{worker.log[-4000:]}")

"""Draining a backlog with one worker, and what that cost its process."""

from __future__ import annotations

import asyncio
import math
import time
from collections.abc import Mapping
from typing import NamedTuple, Protocol

from benchmarks.broker import Client
from benchmarks.contender import ContenderDiedError
from streams.core.domain.topic import Topic

_SAMPLE_SECONDS = 0.1
_START_SECONDS = 60.0


class Drained(NamedTuple):
    """What one worker did in the steady state; not a number where it was too quick to tell."""

    records: int
    cpu_us: float
    """CPU of the whole process, µs per record."""
    events_s: float
    rss_mb: float


class Watched(Protocol):
    """A worker's process, or several of them as one."""

    @property
    def log(self) -> str:
        """Everything it said."""

    def cpu_seconds(self) -> float:
        """CPU time so far."""

    def rss_mb(self) -> float:
        """Resident memory, MB."""


class _Sample(NamedTuple):
    at: float
    cpu: float
    done: int


async def drain(
    running: Watched, client: Client, since: Mapping[int, int], *, warm_up: int, total: int, seconds: float
) -> Drained:
    """Watch a worker until ``total`` enriched records came out, or for ``seconds`` after the warm-up.

    Measured is from the moment ``warm_up`` records are out, or ``seconds`` after the first, to the last:
    start and group join do not count. CPU is that of all threads of the process, in the kernel's 10 ms steps.

    Raises:
        ContenderDiedError: the worker ended, or nothing came out in a minute.
    """
    began = time.monotonic()
    appeared: float | None = None
    first: _Sample | None = None
    last: _Sample | None = None
    while True:
        sample = await _sample(running, client, sum(since.values()))
        if appeared is None and sample.done > 0:
            appeared = sample.at
        if appeared is None and sample.at - began > _START_SECONDS:
            raise ContenderDiedError(f"nothing came out in {_START_SECONDS:g} s\n{running.log[-4000:]}")
        warm = appeared is not None and (sample.done >= warm_up or sample.at - appeared > seconds)
        if first is None and warm:
            first = sample
        if first is not None and (last is None or sample.done > last.done):
            last = sample
        if sample.done >= total or (first is not None and sample.at - first.at > seconds):
            break
        await asyncio.sleep(_SAMPLE_SECONDS)
    assert first is not None
    assert last is not None
    records, rss = last.done - first.done, running.rss_mb()
    if records == 0:
        return Drained(0, math.nan, math.nan, rss)
    return Drained(records, (last.cpu - first.cpu) / records * 1e6, records / (last.at - first.at), rss)


async def _sample(running: Watched, client: Client, before: int) -> _Sample:
    # The look-up takes a moment in which the worker goes on: its CPU time in the middle is the right one.
    asked = running.cpu_seconds()
    ends = await client.ends(Topic.ENRICHED)
    return _Sample(time.monotonic(), (asked + running.cpu_seconds()) / 2, sum(ends.values()) - before)

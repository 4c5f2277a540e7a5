"""What is to be measured, and how large."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Self

from benchmarks.contender import Contender
from benchmarks.workload import Workload

PARTS = ("judging", "cost", "latency", "recovery")

_RECORDS = 60_000
_QUICK_RECORDS = 16_000
_WARM_UP_SHARE = 4
_MANY_SESSIONS = 10_000
_LATENCY_SESSIONS = 10_000
_QUICK = (Contender.EDDY, Contender.PLAIN)


@dataclass(frozen=True, slots=True)
class Plan:
    """One run of the benchmark.

    ``seconds`` bounds each drain of a contender after its warm-up. ``repeats`` of an engine measurement are
    interleaved over the contenders. ``rates`` are in events/s, each with its workload in ``latency``. What is
    restored are ``restored`` sessions, with the states of ``recovery``. ``trajectories`` is a file or folder
    of recorded sessions to judge too.
    """

    broker: str
    parts: tuple[str, ...]
    contenders: tuple[Contender, ...]
    workloads: tuple[Workload, ...]
    check: Workload
    latency: tuple[Workload, ...]
    recovery: Workload
    restored: int
    partitions: int
    seconds: float
    repeats: int
    rates: tuple[int, ...]
    quick: bool
    trajectories: Path | None
    complete: bool

    @classmethod
    def of(
        cls,
        *,
        quick: bool,
        parts: Sequence[str],
        contenders: Sequence[str],
        workloads: Sequence[str],
        records: int | None,
        sessions: int | None,
        repeats: int | None,
        broker: str | None,
        trajectories: Path | None,
    ) -> Self:
        """Make the plan of what the command line asks for; what it leaves open is the full run's."""
        size = records or (_QUICK_RECORDS if quick else _RECORDS)
        names = workloads or (
            ("200:100",) if quick else ("200:100000", "2000:100000", "200:1000", "2000:1000", "200:1000:json")
        )
        rates, timed, warming = ((500,), 3, 1) if quick else ((500, 1_000, 2_000), 20, 10)
        return cls(
            broker=broker or "kafka",
            parts=tuple(parts) or PARTS,
            contenders=tuple(Contender(name) for name in contenders)
            or (_QUICK if quick else tuple(Contender)),
            workloads=tuple(_workload(name, size) for name in names),
            check=Workload(200, 50, 500, 100) if quick else Workload(200, 200, 4_000, 1_000),
            latency=tuple(Workload(200, _LATENCY_SESSIONS, rate * timed, rate * warming) for rate in rates),
            recovery=Workload(200, 2_000, 1, 2_000),
            restored=sessions or (2_000 if quick else 100_000),
            partitions=8,
            seconds=5.0 if quick else 15.0,
            repeats=repeats or (1 if quick else 2),
            rates=rates,
            quick=quick,
            trajectories=trajectories,
            complete=not (
                quick or parts or contenders or workloads or records or sessions or broker == "embedded"
            ),
        )


def _workload(name: str, records: int) -> Workload:
    size, sessions, *encoding = name.split(":")
    count = int(sessions)
    warm_up = count if count >= _MANY_SESSIONS else records // _WARM_UP_SHARE
    return Workload(int(size), count, records, warm_up, *encoding)

"""One run of the benchmark, from the broker's start to the results."""

from __future__ import annotations

import os
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from benchmarks import broker, judging, latency, recovery
from benchmarks.backlog import Backlog
from benchmarks.contender import Contender
from benchmarks.cost import Bench
from benchmarks.drain import Drained
from benchmarks.machine import describe, pace
from benchmarks.plan import Plan
from benchmarks.workload import Workload
from streams.worker.garbage import collect_rarely

Say = Callable[[str], None]
Results = dict[str, Any]

_RESTORERS = (Contender.EDDY, Contender.FAUST)
_TIMED = (Contender.EDDY, Contender.PLAIN)


async def measure(plan: Plan, *, say: Say) -> Results:
    """Run the plan.

    Raises:
        UnequalError: a contender writes something else than the pipeline gives.
        ContenderDiedError: a contender failed.
    """
    # As the worker does: judging is to cost here what it costs there.
    collect_rarely()
    results: Results = {
        "started": time.strftime("%Y-%m-%d %H:%M:%S %z"),
        "broker": {"kafka": "Apache Kafka, one node", "embedded": "embedded (Tansu)"}[plan.broker],
        "machine": describe(),
        "partitions": plan.partitions,
        "pace": [pace()],
    }
    if "judging" in plan.parts:
        results["judging"] = judging.measure(quick=plan.quick, trajectories=plan.trajectories)
        results["pace"].append(pace())
    on_broker = [part for part in plan.parts if part != "judging"]
    if on_broker:
        await _measure_on_broker(plan, on_broker, results, say)
    results["pace"].append(pace())
    results["minutes"] = round((time.time() - _epoch(results["started"])) / 60, 1)
    return results


async def _measure_on_broker(plan: Plan, parts: list[str], results: Results, say: Say) -> None:
    with broker.running(plan.broker) as node, tempfile.TemporaryDirectory(prefix="eddy-bench-") as directory:
        await broker.provision(node.bootstrap, "bench", plan.partitions)
        async with broker.Client(node.bootstrap, plan.partitions, plan.broker).open() as client:
            session = _Session(plan, Bench(client, say), Path(directory), results, say)
            await session.check()
            for part in parts:
                results[part] = await getattr(session, part)()


def _epoch(started: str) -> float:
    return time.mktime(time.strptime(started[:19], "%Y-%m-%d %H:%M:%S"))


class _Session:
    def __init__(self, plan: Plan, bench: Bench, directory: Path, results: Results, say: Say) -> None:
        self._plan = plan
        self._bench = bench
        self._directory = directory
        self._results = results
        self._say = say

    async def _backlog(self, workload: Workload) -> Backlog:
        return await Backlog.make(self._bench.client, workload, self._directory)

    async def check(self) -> None:
        backlog = await self._backlog(self._plan.check)
        await backlog.append(self._bench.client)
        await self._bench.check(self._plan.contenders, backlog)

    async def cost(self) -> list[Results]:
        return [await self._cost(workload) for workload in self._plan.workloads]

    async def _cost(self, workload: Workload) -> Results:
        backlog = await self._backlog(workload)
        await backlog.append(self._bench.client)
        self._results["pace"].append(pace())
        self._say(f"{workload.name}: judging costs {backlog.stages.judging:.0f} µs")
        engines: dict[Contender, list[Drained]] = {contender: [] for contender in self._plan.contenders}
        for _ in range(self._plan.repeats):
            for contender, runs in engines.items():
                runs.append(await self._drain(contender, backlog, judging=False))
        wholes = {
            contender: await self._drain(contender, backlog, judging=True)
            for contender in self._plan.contenders
            if contender is not Contender.PLAIN
        }
        backlog.file.unlink()
        return {
            "workload": workload.name,
            "records": workload.records,
            "warm_up": workload.warm_up,
            "stages_us": {**backlog.stages._asdict(), "judging": backlog.stages.judging},
            "contenders": {
                str(contender): _contender(runs, wholes.get(contender), backlog.stages.judging)
                for contender, runs in engines.items()
            },
        }

    async def _drain(self, contender: Contender, backlog: Backlog, *, judging: bool) -> Drained:
        drained = await self._bench.drain(contender, backlog, seconds=self._plan.seconds, judging=judging)
        what = "whole job" if judging else "engine alone"
        self._say(f"  {contender.title}, {what}: {drained.cpu_us:.1f} µs, {drained.events_s:.0f} events/s")
        return drained

    async def latency(self) -> list[Results]:
        pairs = zip(self._plan.rates, self._plan.latency, strict=True)
        return [await self._latency(rate, workload) for rate, workload in pairs]

    async def _latency(self, rate: int, workload: Workload) -> Results:
        measured = {}
        for contender in _TIMED:
            if contender in self._plan.contenders:
                backlog = await self._backlog(workload)
                found = await latency.measure(self._bench, contender, backlog, rate=rate)
                told = f"p50 {found.p50_ms:.0f} ms, p99 {found.p99_ms:.0f} ms"
                self._say(f"{contender.title}, {rate} events/s: {told}")
                measured[str(contender)] = found._asdict()
        return {"rate": rate, "contenders": measured}

    async def recovery(self) -> Results:
        backlog, sessions = await self._backlog(self._plan.recovery), self._plan.restored
        measured: dict[str, Results] = {}
        for contender in _RESTORERS:
            if contender in self._plan.contenders:
                runs = [
                    await recovery.measure(self._bench, contender, backlog, sessions)
                    for _ in range(self._plan.repeats if contender is Contender.EDDY else 1)
                ]
                for run in runs:
                    self._say(
                        f"{contender.title}: restored {run.records} sessions of {run.bytes} B in "
                        f"{run.seconds} s, {run.cpu_us:.1f} µs of CPU each"
                    )
                best = min(runs, key=lambda run: run.seconds)
                measured[str(contender)] = {
                    **best._asdict(),
                    "records_s": best.records_s,
                    "runs_s": [run.seconds for run in runs],
                    "load": os.getloadavg()[0],
                }
        return {"sessions": sessions, "contenders": measured}


def _contender(runs: list[Drained], whole: Drained | None, judging: float) -> Results:
    """The lowest of the engine's runs: what disturbs a run only ever adds to it."""
    best = min(runs, key=lambda run: run.cpu_us)
    found: Results = {
        "engine_us": best.cpu_us,
        "engine_runs_us": [run.cpu_us for run in runs],
        "engine_events_s": best.events_s,
    }
    if whole is not None:
        found |= {
            "total_us": whole.cpu_us,
            "total_minus_judging_us": whole.cpu_us - judging,
            "events_s": whole.events_s,
            "records": whole.records,
            "rss_mb": whole.rss_mb,
        }
    return found

"""What many partitions cost: start, idle and rebalance of workers that have nothing to do.

    python -m benchmarks.partitions [--partitions 512] [--seconds 15] [--write]

For each number of partitions, on a broker of its own: the topics are made, a worker starts and is left alone,
a second one joins, and is killed. Each partition has nothing in it, so what is measured is what partitions
cost by themselves. ``--write`` keeps the figures in benchmarks/results.json, from which `benchmarks.scale`
writes docs/scale.md.
"""

from __future__ import annotations

import asyncio
import contextlib
import shlex
import sys
import tempfile
import time
from collections.abc import Iterator
from typing import Any

import aiohttp
import click
import psutil

from benchmarks import broker
from benchmarks.contender import Contender, running
from benchmarks.contenders.config import ContenderConfig
from benchmarks.machine import describe, pace
from benchmarks.report import as_json, keep
from benchmarks.standby import Worker
from streams.kafka.embedded.embedded import free_port

_SESSION_TIMEOUT_S = 15.0
_GROUP = "many"


@contextlib.contextmanager
def _worker(
    bootstrap: str, partitions: int, http: aiohttp.ClientSession, *, idempotent: bool
) -> Iterator[Worker]:
    port = free_port()
    with tempfile.TemporaryDirectory(prefix="eddy-bench-state-", ignore_cleanup_errors=True) as directory:
        config = ContenderConfig(
            bootstrap,
            _GROUP,
            partitions,
            directory,
            idempotent=idempotent,
            session_timeout_s=_SESSION_TIMEOUT_S,
        )
        with running(Contender.EDDY, config, {"EDDY_WEB_PORT": str(port)}) as process:
            yield Worker(process, port, http)


class _Broker:
    """The processes that came with the broker."""

    def __init__(self, before: set[int]) -> None:
        after = psutil.Process().children(recursive=True)
        self._processes = [process for process in after if process.pid not in before]

    def cpu_seconds(self) -> float:
        return sum(sum(process.cpu_times()[:2]) for process in self._processes)

    def rss_mb(self) -> float:
        return sum(process.memory_info().rss for process in self._processes) / 1e6


async def measure(kind: str, partitions: int, seconds: float) -> dict[str, Any]:
    """Measure with so many partitions of each session topic."""
    before = {process.pid for process in psutil.Process().children(recursive=True)}
    clock = time.monotonic
    timeout = aiohttp.ClientTimeout(60)
    with broker.running(kind) as node:
        server = _Broker(before)
        began = clock()
        await broker.provision(node.bootstrap, _GROUP, partitions)
        found: dict[str, Any] = {"partitions": partitions, "topics_s": clock() - began}
        async with aiohttp.ClientSession(timeout=timeout) as http:
            idempotent = kind != "embedded"
            began = clock()
            with _worker(node.bootstrap, partitions, http, idempotent=idempotent) as first:
                await first.has(partitions, 0)
                found |= {
                    "start_s": clock() - began,
                    "start_cpu_s": first.process.cpu_seconds(),
                    "worker_mb": first.process.rss_mb(),
                    "load": pace()["load_average"],
                }
                spent, theirs, began = first.process.cpu_seconds(), server.cpu_seconds(), clock()
                await asyncio.sleep(seconds)
                idle = clock() - began
                found |= {
                    "idle_worker_cores": (first.process.cpu_seconds() - spent) / idle,
                    "idle_broker_cores": (server.cpu_seconds() - theirs) / idle,
                }
                began = clock()
                with _worker(node.bootstrap, partitions, http, idempotent=idempotent) as second:
                    await second.has(partitions // 2, 0)
                    await first.has(partitions // 2, 0)
                    found["join_s"] = clock() - began
                    began = clock()
                    second.process.kill()
                    await first.has(partitions, 0)
                    found["takeover_s"] = clock() - began
                found |= {"worker_mb_after": first.process.rss_mb(), "broker_mb": server.rss_mb()}
    return found


async def _measure_all(kind: str, counts: tuple[int, ...], seconds: float) -> dict[str, Any]:
    began, before = time.monotonic(), pace()
    return {
        "started": time.strftime("%Y-%m-%d %H:%M:%S %z"),
        "broker": {"kafka": "Apache Kafka, one node", "embedded": "embedded (Tansu)"}[kind],
        "machine": describe(),
        "session_timeout_s": _SESSION_TIMEOUT_S,
        "cases": [await measure(kind, count, seconds) for count in counts],
        "pace": [before, pace()],
        "minutes": round((time.monotonic() - began) / 60, 1),
    }


@click.command()
@click.option(
    "--partitions",
    "counts",
    type=click.IntRange(2),
    multiple=True,
    default=(8, 64, 512),
    show_default=True,
    help="Of each session topic; repeatable.",
)
@click.option("--seconds", type=click.FloatRange(1), default=15.0, show_default=True, help="Of being idle.")
@click.option(
    "--broker", "kind", type=click.Choice(["kafka", "embedded"]), default="kafka", show_default=True
)
@click.option("--write", is_flag=True, help="Keep the figures in benchmarks/results.json.")
def main(*, counts: tuple[int, ...], seconds: float, kind: str, write: bool) -> None:
    """Measure what many partitions cost."""
    results = asyncio.run(_measure_all(kind, counts, seconds))
    results["command"] = shlex.join(["python", "-m", "benchmarks.partitions", *sys.argv[1:]])
    click.echo(as_json(results))
    if write:
        keep("partitions_cost", results)


if __name__ == "__main__":
    main()

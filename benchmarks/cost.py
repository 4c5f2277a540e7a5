"""CPU per event: the same backlog drained by every contender, one after another."""

from __future__ import annotations

import asyncio
import tempfile
from collections.abc import Callable, Sequence

from benchmarks.backlog import Backlog
from benchmarks.broker import OUTPUT_TOPICS, Client, provision
from benchmarks.contender import Contender, running
from benchmarks.contenders.config import ContenderConfig
from benchmarks.drain import Drained, drain
from streams.core.domain.topic import Topic

Say = Callable[[str], None]
Outputs = dict[tuple[str, int], list[tuple[bytes, bytes]]]
"""(key, value) in order by (topic, partition)."""

_SETTLE_LOOKS = 100
_LOOK_SECONDS = 0.1


class UnequalError(AssertionError):
    """A contender wrote something else than it should have: its time would mean nothing."""


class Bench:
    """Runs contenders over backlogs on one broker."""

    def __init__(self, client: Client, say: Say) -> None:
        self.client = client
        self.say = say
        self._runs = 0

    async def group(self, contender: Contender, backlog: Backlog) -> str:
        """Return a new consumer group with its topics, which will begin at the backlog."""
        self._runs += 1
        group = f"bench-{self._runs}-{contender.replace('_', '-')}"
        await provision(self.client.bootstrap, group, self.client.partitions)
        await self.client.commit(group, Topic.DECISION_LOGS, backlog.begins)
        return group

    def config(
        self, contender: Contender, backlog: Backlog, group: str, directory: str, *, judging: bool = True
    ) -> ContenderConfig:
        """Return what a contender is told. Without ``judging`` it looks outcomes up."""
        looked_up = not judging or contender is Contender.PLAIN
        embedded = self.client.kind == "embedded"
        return ContenderConfig(
            self.client.bootstrap,
            group,
            self.client.partitions,
            directory,
            idempotent=not embedded,
            # Its rebalances take half of the session timeout.
            session_timeout_s=4.0 if embedded else 15.0,
            precomputed=str(backlog.file) if looked_up else None,
        )

    async def drain(
        self, contender: Contender, backlog: Backlog, *, seconds: float, judging: bool = True
    ) -> Drained:
        """Drain a backlog with one worker.

        Without ``judging`` outcomes are looked up, and what is measured is the engine alone.
        """
        group = await self.group(contender, backlog)
        since = await self.client.ends(Topic.ENRICHED)
        workload = backlog.workload
        with tempfile.TemporaryDirectory(prefix="eddy-bench-state-") as directory:
            config = self.config(contender, backlog, group, directory, judging=judging)
            with running(contender, config) as worker:
                return await drain(
                    worker,
                    self.client,
                    since,
                    warm_up=workload.warm_up,
                    total=workload.total,
                    seconds=seconds,
                )

    async def check(self, contenders: Sequence[Contender], backlog: Backlog) -> None:
        """Compare what each contender writes, byte by byte and in order, with the pipeline in one process.

        Raises:
            UnequalError: something is different.
        """
        expected = backlog.outputs()
        for contender in contenders:
            for judging in (True, False) if contender is not Contender.PLAIN else (False,):
                group = await self.group(contender, backlog)
                since = {topic: await self.client.ends(topic) for topic in OUTPUT_TOPICS}
                with tempfile.TemporaryDirectory(prefix="eddy-bench-state-") as directory:
                    config = self.config(contender, backlog, group, directory, judging=judging)
                    with running(contender, config) as worker:
                        total = backlog.workload.total
                        await drain(
                            worker, self.client, since[Topic.ENRICHED], warm_up=0, total=total, seconds=60
                        )
                        await self._settle(expected, since)
                await self._compare(contender, expected, since)
            self.say(f"{contender.title}: the same bytes as the pipeline in one process")

    async def _settle(self, expected: Outputs, since: dict[str, dict[int, int]]) -> None:
        """Wait until as many records are out as there should be; what is wrong `_compare` will say."""
        for topic in OUTPUT_TOPICS:
            wanted = sum(len(rows) for (name, _), rows in expected.items() if name == topic)
            wanted += sum(since[topic].values())
            for _ in range(_SETTLE_LOOKS):
                if sum((await self.client.ends(topic)).values()) >= wanted:
                    break
                await asyncio.sleep(_LOOK_SECONDS)

    async def _compare(
        self, contender: Contender, expected: Outputs, since: dict[str, dict[int, int]]
    ) -> None:
        for topic in OUTPUT_TOPICS:
            found = await self.client.read(topic, since[topic])
            for partition, rows in found.items():
                wanted = expected.get((topic, partition), [])
                if rows != wanted:
                    raise UnequalError(
                        f"{contender.title} wrote {len(rows)} records to {topic}[{partition}] that are not "
                        f"the {len(wanted)} records of the pipeline"
                    )

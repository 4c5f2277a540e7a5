"""Faults one after another under a steady load, each followed until everything is well again."""

from __future__ import annotations

import itertools
import time
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path

from streams.engine.options import changelog_topic
from tests.faults.cluster import NODES, KafkaCluster
from tests.faults.disk import SmallDisk
from tests.faults.fleet import Fleet, Place, supervised
from tests.faults.kinds import Bed, DiskFull, Fault
from tests.faults.outputs import OutputWatch, watched
from tests.faults.plan import plan
from tests.faults.report import Outcome, Report
from tests.integration.load import load
from tests.integration.stage import Stage, prepared
from tests.integration.worker_process import PATIENCE_SECONDS

PLACES = 4
WORKERS = 2
_DISK_BYTES = 256 << 20
#: Of `Stage.pouring`.
_SENDS_PER_SECOND = 10

_PATIENCE_SECONDS = 2 * PATIENCE_SECONDS


@asynccontextmanager
async def bed(directory: Path, *, small_disks: bool) -> AsyncIterator[Bed]:
    """Yield a cluster with the topics of the job and a fleet without workers; all is gone afterwards.

    Args:
        directory: Existing. The logs of the workers stay in it.
        small_disks: Whether each place has a file system of its own.

    Raises:
        PermissionError: it may not have one.
    """
    async with AsyncExitStack() as stack:
        disks: list[SmallDisk | None] = [None] * PLACES
        for number in range(PLACES if small_disks else 0):
            disk = disks[number] = SmallDisk(directory / f"disk-{number}", size=_DISK_BYTES)
            stack.callback(disk.close)
        (brokers := directory / "brokers").mkdir()
        cluster = KafkaCluster(brokers, links=PLACES)
        stack.push_async_callback(cluster.close)
        await cluster.start()
        stage = await stack.enter_async_context(
            prepared(Stage(cluster, directory / "workers", application_id="eddy", replicas=NODES))
        )
        places = [
            Place(number, (directory / f"disk-{number}" if disk is None else disk.path) / "data", link, disk)
            for number, (disk, link) in enumerate(zip(disks, cluster.links, strict=True))
        ]
        yield Bed(cluster, Fleet(stage, places), stage)


async def run(
    directory: Path,
    *,
    seed: int,
    count: int,
    kinds: Sequence[str],
    rate: int,
    tell: Callable[[str], None],
) -> Report:
    """Carry out a plan on a cluster of its own and judge all that came out.

    Args:
        directory: Existing and empty.
        seed: Decides the plan.
        count: Of faults.
        kinds: Of faults.
        rate: Records a second.
        tell: Told the outcome of each fault.

    Raises:
        AssertionError: the job did not recover from a fault.
    """
    skipped: dict[str, str] = {}
    if small_disks := DiskFull.kind in kinds:
        try:
            SmallDisk(directory / "probe", size=1 << 20).close()
        except PermissionError as error:
            small_disks, skipped = False, {DiskFull.kind: str(error)}
    faults = plan(seed, count, [kind for kind in kinds if kind not in skipped])
    at_once = max(1, rate // _SENDS_PER_SECOND)
    outcomes: list[Outcome] = []
    async with bed(directory, small_disks=small_disks) as made:
        stage = made.stage
        watch = OutputWatch(made.cluster.bootstrap, stage.partitions, changelog_topic(stage.application_id))
        for _ in range(WORKERS):
            made.fleet.add()
        async with supervised(made.fleet), watched(watch):
            records = load(stage.partitions)
            async with stage.pouring(records, at_once):
                driver = Driver(made, watch, at_once)
                await driver.well("before the first fault")
                for number, fault in enumerate(faults, 1):
                    outcome = await driver.carry_out(number, fault)
                    outcomes.append(outcome)
                    tell(
                        f"{number:4} {outcome.kind} ({outcome.what}): outputs flow again after "
                        f"{outcome.recovered_s:.1f} s, all is well after {outcome.well_s:.1f} s; "
                        f"repeated {outcome.repeated}, outdated {outcome.outdated}, "
                        f"ended {list(outcome.ended)}"
                    )
            await stage.send(itertools.islice(records, 20 * stage.partitions))
            await stage.processed(within=_PATIENCE_SECONDS)
        tell("All is processed; comparing with the reference fold.")
        verdict = await stage.judged()
        return Report(seed, sum(stage.sent.values()), outcomes, skipped, verdict)


class Driver:
    """Carries out faults one by one.

    Args:
        made: What they happen to.
        watch: Sees the outputs.
        at_once: How many records are on their way to the input topic at most.
    """

    def __init__(self, made: Bed, watch: OutputWatch, at_once: int) -> None:
        self._bed = made
        self._watch = watch
        self._at_once = at_once

    async def carry_out(self, number: int, fault: Fault) -> Outcome:
        """Do the damage, and return when everything is well again."""
        name = f"fault {number}, {fault.kind}"
        watch, ends = self._watch, self._bed.fleet.ends
        repeated, outdated, ended = watch.repeated, watch.outdated, len(ends)
        what = await fault.inject(self._bed)
        damaged = time.monotonic()
        await self._flowing(f"outputs after {name}: {what}")
        recovered = time.monotonic()
        await fault.heal(self._bed)
        await self.well(f"after {name}: {what}")
        return Outcome(
            number,
            fault.kind,
            what,
            round(recovered - damaged, 2),
            round(time.monotonic() - damaged, 2),
            watch.repeated - repeated,
            watch.outdated - outdated,
            tuple(status for _, status in ends[ended:]),
        )

    async def well(self, when: str) -> None:
        """Wait until every worker is ready, every replica in sync, and outputs flow."""
        await self._bed.fleet.ready()
        await self._bed.cluster.in_sync()
        await self._flowing(f"outputs {when}")

    async def _flowing(self, what: str) -> None:
        # What is on its way already proves nothing: it may have been processed before the damage.
        marks = {partition: sent + self._at_once for partition, sent in self._bed.stage.sent.items()}
        await self._watch.pass_by(marks, _PATIENCE_SECONDS, what)

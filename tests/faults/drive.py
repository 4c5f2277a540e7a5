"""Faults one after another, or two at once, under a steady load, followed until everything is well again."""

from __future__ import annotations

import itertools
import math
import os
import time
from collections import deque
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from types import MappingProxyType

from streams.worker.options import changelog_topic
from tests.faults.cluster import NODES, KafkaCluster
from tests.faults.disk import SmallDisk
from tests.faults.fleet import Fleet, Place, supervised
from tests.faults.kinds import Bed, DiskFull
from tests.faults.outputs import OutputWatch, watched
from tests.faults.plan import Step, plan
from tests.faults.report import Circumstances, Guarantee, Outcome, Report, machine
from tests.faults.silences import silences
from tests.integration.load import load
from tests.integration.removals import Lives
from tests.integration.stage import Stage, prepared
from tests.integration.worker_process import PATIENCE_SECONDS
from tests.wall_clock import WallClock

PLACES = 4
WORKERS = 2
_DISK_BYTES = 256 << 20
#: Of `Stage.pouring`.
_SENDS_PER_SECOND = 10

_PATIENCE_SECONDS = 2 * PATIENCE_SECONDS

#: With sessions that expire. Longer than a worker is suspended or cut off: what it writes when it wakes must
#: not stand behind the tombstone of what its successor has removed, see "Without fencing" in decision 11.
_TTL_MS, _GRACE_MS, _REST_S = 7_000, 5_000, 20
_OFTEN: Mapping[str, object] = {"housekeeping_interval_s": 1, "stub_rest_s": _REST_S}


@asynccontextmanager
async def bed(directory: Path, *, small_disks: bool, settings: Mapping[str, object]) -> AsyncIterator[Bed]:
    """Yield a cluster with the topics of the job and a fleet without workers; all is gone afterwards.

    Args:
        directory: Existing. The logs of the workers stay in it.
        settings: The settings of the workers, beside the usual ones.
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
            Place(
                number,
                (directory / f"disk-{number}" if disk is None else disk.path) / "data",
                link,
                disk,
                WallClock(directory / "clocks" / str(number)),
            )
            for number, (disk, link) in enumerate(zip(disks, cluster.links, strict=True))
        ]
        yield Bed(cluster, Fleet(stage, places, settings), stage)


async def run(
    directory: Path,
    *,
    seed: int,
    count: int,
    kinds: Sequence[str],
    rate: int,
    tell: Callable[[str], None],
    overlap: float = 0.0,
    guarantee: Guarantee = "at_least_once",
    transactions: bool = False,
    minutes: float = math.inf,
    settings: Mapping[str, object] = MappingProxyType({}),
    expire: bool = False,
) -> Report:
    """Carry out a plan on a cluster of its own and judge all that came out.

    Args:
        directory: Existing and empty.
        seed: Decides the plan.
        count: The count of faults.
        kinds: The kinds of faults.
        rate: Records a second.
        tell: Told the outcome of each fault.
        overlap: How probable it is that a second fault comes while one is in force.
        guarantee: The guarantee of the workers. Where it is exactly once, whatever comes twice is wrong.
        transactions: Whether the records come in transactions, of which one in ten is aborted.
        minutes: No fault begins after so many.
        settings: The settings of the workers, beside the usual ones.
        expire: Whether sessions fall silent and are removed by the clock while faults happen, all of them in
            the end.

    Raises:
        AssertionError: the job did not recover from a fault.
    """
    skipped: dict[str, str] = {}
    if small_disks := DiskFull.kind in kinds:
        try:
            SmallDisk(directory / "probe", size=1 << 20).close()
        except PermissionError as error:
            small_disks, skipped = False, {DiskFull.kind: str(error)}
    steps = plan(seed, count, [kind for kind in kinds if kind not in skipped], overlap)
    at_once = max(1, rate // _SENDS_PER_SECOND)
    outcomes: list[Outcome] = []
    started, busy = time.monotonic(), [os.getloadavg()[0]]
    # The default need not be said, so that the suite also tests versions that know no other.
    own = {**(_OFTEN if expire else {}), **settings}
    if guarantee != "at_least_once":
        own["processing_guarantee"] = guarantee
    async with bed(directory, small_disks=small_disks, settings=own) as made:
        stage = made.stage
        watch = OutputWatch(made.cluster.bootstrap, stage.partitions, changelog_topic(stage.application_id))
        if expire:
            await stage.publish_settings(session_ttl_ms=_TTL_MS, state_grace_ms=_GRACE_MS)
        for _ in range(WORKERS):
            made.fleet.add()
        async with supervised(made.fleet), watched(watch):
            records = (
                silences(stage.partitions, _TTL_MS + _GRACE_MS, seed) if expire else load(stage.partitions)
            )
            async with stage.pouring(records, at_once, transactions=transactions, steady=True):
                driver = Driver(made, watch, at_once)
                await driver.well("before the first fault")
                for number, step in enumerate(steps, 1):
                    if time.monotonic() - started > minutes * 60:
                        tell(f"{minutes:g} minutes are over: the others of {count} faults are left out.")
                        break
                    outcome = await driver.carry_out(number, step)
                    outcomes.append(outcome)
                    busy.append(os.getloadavg()[0])
                    tell(
                        f"{number:4} {' + '.join(outcome.kinds)} ({outcome.what}): outputs flow again after "
                        f"{outcome.recovered_s:.1f} s, all is well after {outcome.well_s:.1f} s; "
                        f"repeated {outcome.repeated}, outdated {outcome.outdated}, "
                        f"ended {list(outcome.ended)}"
                    )
            await stage.send(itertools.islice(records, 20 * stage.partitions))
            await stage.processed(within=_PATIENCE_SECONDS)
            left: list[str] = []
            if expire:
                left = await watch.emptied(stage.sent, _PATIENCE_SECONDS)
                # What the removals have contributed is counted, too.
                await stage.processed(within=_PATIENCE_SECONDS)
        minutes_taken = round((time.monotonic() - started) / 60, 1)
        tell("All is processed; comparing with the reference fold.")
        rest_ms = int(float(str(own.get("stub_rest_s", 0))) * 1000)
        lives = Lives(rest_ms, watch.seen_ms, fenced=guarantee == "exactly_once") if expire else None
        verdict = await stage.judged(lives=lives)
        verdict.blame("sessions that were never removed", left)
        return Report(
            Circumstances(
                seed=seed,
                guarantee=guarantee,
                rate=rate,
                machine=machine(),
                busy=(round(min(busy), 1), round(max(busy), 1)),
                minutes=minutes_taken,
                transactions=transactions,
                settings=dict(settings),
                expire=expire,
            ),
            sum(stage.sent.values()) - stage.gaps,
            outcomes,
            skipped,
            verdict,
        )


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

    async def carry_out(self, number: int, step: Step) -> Outcome:
        """Do the damage, and return when everything is well again."""
        bed, watch, ends = self._bed, self._watch, self._bed.fleet.ends
        kind = " + ".join(fault.kind for fault in step)
        repeated, outdated, ended = watch.repeated, watch.outdated, len(ends)
        what = await self._damage(step)
        damaged = time.monotonic()
        left = deque(step)
        if all(fault.absent for fault in step[1:]) and step[0].absent and len(step) > 1:
            # Nobody may be left who does anything.
            await left.popleft().heal(bed)
        await self._flowing(f"outputs after fault {number}, {kind}: {what}")
        recovered = time.monotonic()
        for fault in left:
            await fault.heal(bed)
        await self.well(f"after fault {number}, {kind}: {what}")
        return Outcome(
            number,
            tuple(fault.kind for fault in step),
            what,
            round(recovered - damaged, 2),
            round(time.monotonic() - damaged, 2),
            watch.repeated - repeated,
            watch.outdated - outdated,
            tuple(status for _, status in ends[ended:]),
        )

    async def _damage(self, step: Step) -> str:
        """Inject one fault, and the second at once or as soon as a worker takes over because of the first."""
        bed, first = self._bed, step[0]
        before = bed.fleet.assignments()
        what = [await first.inject(bed)]
        for second in step[1:]:
            if first.regroups and second.late:
                await bed.fleet.assigned_again(before)
                what.append("then, in the restore")
            what.append(await second.inject(bed))
        return ", ".join(what)

    async def well(self, when: str) -> None:
        """Wait until every worker is ready, every replica in sync, and outputs flow."""
        await self._bed.fleet.ready()
        await self._bed.cluster.in_sync()
        await self._flowing(f"outputs {when}")

    async def _flowing(self, what: str) -> None:
        # What is on its way already proves nothing: it may have been processed before the damage.
        marks = {partition: sent + self._at_once for partition, sent in self._bed.stage.sent.items()}
        await self._watch.pass_by(marks, _PATIENCE_SECONDS, what)

"""The faults: one class per kind. Each does its damage, and says what makes it good where it does not pass.

A fault returns from `inject` when the damage is done. The driver then waits until outputs flow again, calls
`heal`, and waits until everything is as before. Nothing waits for a time: always for something that is seen.
A second fault may be injected before the first is healed: it chooses among the workers that are there.
"""

from __future__ import annotations

import asyncio
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from random import Random
from typing import ClassVar

from streams.core.domain.record import Outgoing
from streams.core.domain.topic import Topic
from streams.worker.options import changelog_topic, repartition_topic
from tests.damage import DAMAGES
from tests.faults.cluster import KafkaCluster, Node
from tests.faults.fleet import Fleet, Place
from tests.integration.load import Sending, as_json, decision, keyed
from tests.integration.stage import Stage
from tests.integration.worker_process import PATIENCE_SECONDS, until
from tests.network import Slowness

#: What aiokafka says of a write that was refused and is tried again.
_REFUSED = "NotEnoughReplicas"

#: One way, longer than a worker's timers wait between two looks.
SLOW_TO_START = Slowness(delay_s=0.8, bytes_per_s=1e9)

DAY_S = 86_400

SLOW = Slowness(delay_s=0.03, bytes_per_s=250_000)


@dataclass(frozen=True, slots=True)
class Bed:
    """What faults happen to."""

    cluster: KafkaCluster
    fleet: Fleet
    stage: Stage


class Fault(ABC):
    """One fault.

    Args:
        random: Decides whatever is open about it, and nothing else does.
    """

    kind: ClassVar[str]
    regroups: ClassVar[bool] = False
    """Whether partitions change hands when the damage is done."""
    absent: ClassVar[bool] = False
    """Whether a worker does nothing until this is healed."""
    takes_a_node: ClassVar[bool] = False
    """Whether a node is down until this is healed; without a second one there is no quorum."""

    def __init__(self, random: Random) -> None:
        self._chance = random.random()
        self._variant = random.random() < 0.5
        self.late = self._chance < 0.25 or self._chance >= 0.75
        """Whether, as the second of two, it waits until partitions change hands."""

    def _chosen(self, bed: Bed) -> Place:
        present = bed.fleet.present
        return present[int(self._chance * len(present))]

    def _chosen_node(self, bed: Bed) -> Node:
        return bed.cluster.nodes[int(self._chance * len(bed.cluster.nodes))]

    @abstractmethod
    async def inject(self, bed: Bed) -> str:
        """Do the damage and return what was done, in words."""

    async def heal(self, bed: Bed) -> None:  # noqa: B027 - most faults pass
        """Make good what does not pass by itself."""


class WorkerKilled(Fault):
    """kill -9; half of them lose their state, too."""

    kind = "worker killed"
    regroups = True

    async def inject(self, bed: Bed) -> str:
        place = self._chosen(bed)
        place.running_worker().kill()
        if self._variant:
            place.wipe()
        return f"worker {place.number}, state {'lost' if self._variant else 'kept'}"


class WorkerTerminated(Fault):
    """SIGTERM, as a rolling restart does it."""

    kind = "worker terminated"
    regroups = True

    async def inject(self, bed: Bed) -> str:
        place = self._chosen(bed)
        place.running_worker().terminate()
        return f"worker {place.number}"


class WorkerSuspended(Fault):
    """SIGSTOP until others have taken over, then SIGCONT: the zombie."""

    kind = "worker suspended"
    regroups = absent = True

    async def inject(self, bed: Bed) -> str:
        self._place = self._chosen(bed)
        self._place.held = True
        self._worker = self._place.running_worker()
        self._worker.signal("STOP")
        return f"worker {self._place.number}"

    async def heal(self, bed: Bed) -> None:
        self._place.held = False
        if self._worker.running():
            self._worker.signal("CONT")


class WorkersExchanged(Fault):
    """One more worker; then one of the old ones leaves for good."""

    kind = "workers added and removed"

    async def inject(self, bed: Bed) -> str:
        self._leaves = self._chosen(bed)
        added = bed.fleet.add()
        await bed.fleet.ready()
        return f"worker {added.number} comes, worker {self._leaves.number} goes"

    async def heal(self, bed: Bed) -> None:
        status = await bed.fleet.remove(self._leaves)
        assert status == 0, f"worker {self._leaves.number} left with status {status}"


class BrokerKilled(Fault):
    """kill -9 of a node that is broker and controller; it is started again."""

    kind = "broker killed"
    takes_a_node = True

    async def inject(self, bed: Bed) -> str:
        self._node = self._chosen_node(bed)
        await asyncio.to_thread(self._node.kill)
        return f"node {self._node.number}"

    async def heal(self, bed: Bed) -> None:
        await asyncio.to_thread(self._node.start)


class ReplicasTooFew(Fault):
    """A node is killed while state, or everything, may be written to all three replicas only.

    The brokers refuse what the workers write until one of them has been seen to be refused; from then on two
    replicas do again. A transaction that has written before the replica is missed hears nothing any more:
    then its worker gives up.
    """

    kind = "replicas too few"
    takes_a_node = True

    async def inject(self, bed: Bed) -> str:
        stage = bed.stage
        topics = [changelog_topic(stage.application_id)]
        if self._variant:
            topics += [str(Topic.ENRICHED), str(Topic.TOPOLOGY), repartition_topic(stage.application_id)]
        self._node = self._chosen_node(bed)
        refused = {worker: worker.log.count(_REFUSED) for worker in bed.fleet.workers()}
        await bed.cluster.require_replicas(topics, len(bed.cluster.nodes))
        await asyncio.to_thread(self._node.kill)

        def was_refused() -> bool:
            return any(
                worker.log.count(_REFUSED) > n or not worker.running() for worker, n in refused.items()
            )

        try:
            await until(was_refused, PATIENCE_SECONDS, "a write that is refused, or a worker that gives up")
        finally:
            await bed.cluster.require_replicas(topics, len(bed.cluster.nodes) - 1)
        return f"node {self._node.number}, {'outputs and state' if self._variant else 'state'}"

    async def heal(self, bed: Bed) -> None:
        await asyncio.to_thread(self._node.start)


class LeadersMoved(Fault):
    """Every partition of every topic gets another leader."""

    kind = "leaders moved"

    async def inject(self, bed: Bed) -> str:
        return f"{await bed.cluster.move_leaders()} partitions"


class NetworkCut(Fault):
    """A worker reaches no broker until others have taken over: refused, or without a word."""

    kind = "network cut"
    regroups = absent = True

    async def inject(self, bed: Bed) -> str:
        place = self._place = self._chosen(bed)
        place.held = True
        self._link = place.link
        if self._variant:
            await self._link.cut()
        else:
            self._link.silence()
        return f"worker {place.number}, {'refused' if self._variant else 'silent'}"

    async def heal(self, bed: Bed) -> None:
        self._place.held = False
        self._link.heal()


class NetworkSlow(Fault):
    """Everything between the workers and the brokers takes its time."""

    kind = "network slow"

    async def inject(self, bed: Bed) -> str:
        for place in bed.fleet.places:
            place.link.slow(SLOW)
        return f"{SLOW.delay_s * 1000:.0f} ms more each way, {SLOW.bytes_per_s / 1000:.0f} kB/s"

    async def heal(self, bed: Bed) -> None:
        for place in bed.fleet.places:
            place.link.heal()


class BootstrapSlow(Fault):
    """A worker is killed, and its successor starts with brokers that take their time to answer."""

    kind = "bootstrap slow"
    regroups = True

    async def inject(self, bed: Bed) -> str:
        place = self._chosen(bed)
        before = place.running_worker()
        place.link.slow(SLOW_TO_START)
        before.kill()

        def has_started_again() -> bool:
            worker = place.worker
            return worker is not None and worker is not before and bool(bed.fleet.assignments().get(worker))

        try:
            await until(has_started_again, PATIENCE_SECONDS, "a successor that has joined the group")
        finally:
            place.link.heal()
        return f"worker {place.number}, {SLOW_TO_START.delay_s * 1000:.0f} ms more each way"


class ClockWrong(Fault):
    """The clock of a worker's machine is a day ahead or behind; half of them start with it."""

    kind = "clock off by a day"

    def __init__(self, random: Random) -> None:
        super().__init__(random)
        self._shift_s = random.choice((-1, 1)) * DAY_S

    async def inject(self, bed: Bed) -> str:
        place = self._place = self._chosen(bed)
        place.clock.set_off(self._shift_s)
        if self._variant:
            place.running_worker().terminate()
        how = "starts with it" if self._variant else "runs"
        return f"worker {place.number}, {self._shift_s / DAY_S:+.0f} day, {how}"

    async def heal(self, bed: Bed) -> None:
        self._place.clock.set_off(0)


class StateDamaged(Fault):
    """A file of a database is lost, cut or overwritten, while the worker is down, or while it runs.

    What is damaged while it runs may show at once or never: the worker is killed later, to open it again.
    """

    kind = "state damaged"

    def __init__(self, random: Random) -> None:
        super().__init__(random)
        self._which, self._number = random.random(), random.randrange(len(DAMAGES))

    async def inject(self, bed: Bed) -> str:
        place = self._chosen(bed)
        self._worker = worker = place.running_worker()
        if self._variant:
            worker.signal("STOP")  # files must not come and go meanwhile
        else:
            worker.kill()
        databases = sorted(path for path in place.data.glob("*/*/*.db") if path.stem.isdigit())
        what = "no database yet"
        if databases:
            path = databases[int(self._which * len(databases))]
            what = f"{path.parent.name}/{path.name}, {DAMAGES[self._number](path)}"
        if self._variant:
            worker.signal("CONT")
        return f"worker {place.number} {'runs' if self._variant else 'is down'}, {what}"

    async def heal(self, bed: Bed) -> None:
        if self._worker.running():
            self._worker.kill()


class DiskFull(Fault):
    """The disk under a worker's state is full; once the worker has ended, there is space again."""

    kind = "disk full"
    regroups = True

    async def inject(self, bed: Bed) -> str:
        place = self._chosen(bed)
        worker, disk = place.running_worker(), place.disk
        assert disk is not None, "the plan has disks that can be filled only where they can be"
        await asyncio.to_thread(disk.fill)
        try:
            await until(lambda: not worker.running(), PATIENCE_SECONDS, f"its end; {worker.tail()}")
        finally:
            disk.empty()
        assert "Check the free space of the disk" in worker.log, worker.tail()
        return f"worker {place.number}"


class RecordsCorrupt(Fault):
    """A burst of records that nobody should write."""

    kind = "records corrupt"

    def __init__(self, random: Random) -> None:
        super().__init__(random)
        self._seed = random.getrandbits(32)

    async def inject(self, bed: Bed) -> str:
        records = list(corrupt(Random(self._seed), bed.stage.partitions))
        await bed.stage.send(records)
        return f"{len(records)} records"


class SettingsChanged(Fault):
    """Other settings in force, and others that are tried out."""

    kind = "settings changed"

    def __init__(self, random: Random) -> None:
        super().__init__(random)
        self._window = random.randint(3, 9)
        self._tried = random.randint(3, 9)

    async def inject(self, bed: Bed) -> str:
        await bed.stage.publish_settings(entropy_window_size=self._window, alert_every_record=self._variant)
        trial = {"entropy_window_size": self._tried} if self._variant else {}
        await bed.stage.publish_shadow(**trial)
        return f"window {self._window}, tried out: {trial.get('entropy_window_size', 'nothing')}"


KINDS: dict[str, Callable[[Random], Fault]] = {
    fault.kind: fault
    for fault in (
        WorkerKilled,
        WorkerTerminated,
        WorkerSuspended,
        WorkersExchanged,
        BrokerKilled,
        ReplicasTooFew,
        LeadersMoved,
        NetworkCut,
        NetworkSlow,
        BootstrapSlow,
        ClockWrong,
        StateDamaged,
        DiskFull,
        RecordsCorrupt,
        SettingsChanged,
    )
}


def corrupt(random: Random, partitions: int) -> Iterator[Sending]:
    """Yield records that are damaged in every way a topic has seen."""
    for number in range(40):
        value = decision(f"s{number}", number)
        partition, record = keyed(value, partitions)
        good = record.value or b""
        yield partition, record._replace(value=_damaged(random, number % 8, good, value))
    for partition in range(partitions):
        yield partition, Outgoing(random.randbytes(200), random.randbytes(3000), 0)


def _damaged(random: Random, way: int, good: bytes, value: dict[str, object]) -> bytes | None:
    match way:
        case 0:
            return random.randbytes(300)
        case 1:
            return good[: random.randrange(len(good))]
        case 2:
            at = random.randrange(len(good))
            return good[:at] + random.randbytes(3) + good[at + 3 :]
        case 3:
            return b"[" * 20_000
        case 4:
            return as_json({**value, "meta": {"trace_id": "t", "timestamp": "now"}})
        case 5:
            return b"\0" + random.randbytes(4) + good
        case 6:
            return as_json({**value, "padding": "x" * 900_000})
        case _:
            return None

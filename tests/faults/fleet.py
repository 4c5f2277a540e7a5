"""The workers under test, and the orchestrator that starts again what has ended."""

from __future__ import annotations

import asyncio
import shutil
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

from tests.faults.disk import SmallDisk
from tests.integration.stage import SOON_MISSED, Stage
from tests.integration.worker_process import PATIENCE_SECONDS, WorkerProcess, until
from tests.network import Link
from tests.wall_clock import WallClock

_WATCH_SECONDS = 0.1

#: What a worker says when partitions have been assigned and their state is about to be restored.
_ASSIGNED = " Assigned: "

#: The workers' settings. RocksDB's buffers are as small as they can be, so that state soon reaches the disk.
#: The suite looks in the logs for errors of the client library, of which some are left out at INFO.
SETTINGS = {
    "rocksdb_write_buffer_bytes": 1 << 20,
    "rocksdb_max_write_buffers": 2,
    "stall_timeout_s": 60,
    "log_level": "DEBUG",
    **SOON_MISSED,
}


@dataclass(slots=True)
class Place:
    """Where a worker runs: its state and its network outlive its process."""

    number: int
    data: Path
    link: Link
    disk: SmallDisk | None
    clock: WallClock
    worker: WorkerProcess | None = None
    wanted: bool = False
    """Whether a worker is to run here; what has ended is started again."""
    held: bool = False
    """Whether a fault keeps the worker from doing anything."""

    def running_worker(self) -> WorkerProcess:
        """Return the worker, which must be there."""
        assert self.worker is not None
        return self.worker

    def wipe(self) -> None:
        """Lose the local state."""
        shutil.rmtree(self.data, ignore_errors=True)


@dataclass(slots=True)
class Fleet:
    """So many places, some of them with a worker.

    Attributes:
        stage: Starts the workers.
        places: All there are.
        settings: The settings of the workers, beside the usual ones.
        ends: Place and exit status of every worker that ended without being asked to.
    """

    stage: Stage
    places: Sequence[Place]
    settings: Mapping[str, object] = field(default_factory=dict)
    ends: list[tuple[int, int]] = field(default_factory=list)

    @property
    def staffed(self) -> list[Place]:
        """The places where a worker is to run."""
        return [place for place in self.places if place.wanted]

    @property
    def present(self) -> list[Place]:
        """The places with a worker that runs and that no fault holds."""
        return [place for place in self.staffed if not place.held and place.running_worker().running()]

    def add(self) -> Place:
        """Start a worker at the first place that has none."""
        place = next(place for place in self.places if not place.wanted)
        place.wanted = True
        self._start(place)
        return place

    async def remove(self, place: Place) -> int:
        """Ask a worker to leave for good, wait for its end, and return its exit status."""
        worker = place.running_worker()
        place.wanted = False
        worker.terminate()
        status = await worker.ended()
        self._forget(place)
        return status

    async def ready(self) -> None:
        """Wait until every worker that is to run, and that no fault holds, says that it is ready."""

        async def all_ready() -> bool:
            for place in self.staffed:
                worker = place.worker
                if place.held:
                    continue
                if worker is None or not worker.running() or not worker.has_address():
                    return False
                try:
                    status, _ = await worker.get("/readyz")
                except OSError:  # it has just ended
                    return False
                if status != 200:
                    return False
            return True

        await until(all_ready, 2 * PATIENCE_SECONDS, "workers that are all ready", *self.workers())

    def assignments(self) -> dict[WorkerProcess, int]:
        """Return how many times each worker has been assigned partitions."""
        return {worker: worker.log.count(_ASSIGNED) for worker in self.workers()}

    async def assigned_again(self, before: Mapping[WorkerProcess, int]) -> None:
        """Wait until a worker is assigned partitions that was not ``before``: it begins to restore."""

        def assigned() -> bool:
            return any(times > before.get(worker, 0) for worker, times in self.assignments().items())

        await until(assigned, PATIENCE_SECONDS, "a worker that takes over")

    def workers(self) -> list[WorkerProcess]:
        """Return the workers there are now."""
        return [place.worker for place in self.places if place.worker is not None]

    async def supervise(self) -> None:
        """Start again what has ended, for ever."""
        while True:
            for place in self.staffed:
                worker = place.running_worker()
                if not worker.running():
                    status = await worker.ended()
                    self.ends.append((place.number, status))
                    self._forget(place)
                    self._start(place)
            await asyncio.sleep(_WATCH_SECONDS)

    def _start(self, place: Place) -> None:
        worker = place.worker = self.stage.worker(
            directory=place.data,
            clock=place.clock,
            bootstrap_servers=place.link.bootstrap,
            **{**SETTINGS, **self.settings},
        )
        worker.expected_to_live = False

    def _forget(self, place: Place) -> None:
        worker = place.running_worker()
        worker.kill()
        self.stage.workers.remove(worker)
        place.worker = None


@asynccontextmanager
async def supervised(fleet: Fleet) -> AsyncIterator[Fleet]:
    """Run the orchestrator for as long as the block lasts; an error of its own is raised at the end."""
    supervision = asyncio.create_task(fleet.supervise())
    try:
        yield fleet
    finally:
        supervision.cancel()
        for place in fleet.places:
            place.wanted = False
        (outcome,) = await asyncio.gather(supervision, return_exceptions=True)
        if isinstance(outcome, Exception):
            raise outcome

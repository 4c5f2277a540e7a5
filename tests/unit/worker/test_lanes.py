"""Lanes keep the order of each partition, overlap the others, and never acknowledge what failed."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable

import pytest

from streams.core.domain.run import Run
from streams.core.errors import DamagedStateError
from streams.kafka.client import Stored
from streams.worker.lanes import Lanes

Process = Callable[[Run], Awaitable[None]]

#: For what fails to happen only.
PATIENCE_SECONDS = 60.0


def run(partition: int, number: int) -> Run:
    return Run("t", partition, [Stored(partition, number, 0, b"k", b"v", ())])


class Delivered:
    """A run on its way, and what became of it."""

    def __init__(self, partition: int, number: int) -> None:
        self.run = run(partition, number)
        self.stale = False
        self.fate: str | None = None
        self._decided = asyncio.Event()

    async def acknowledge(self) -> None:
        self._decide("acknowledged")

    def abandon(self) -> None:
        self._decide("abandoned")

    async def decided(self) -> str | None:
        await asyncio.wait_for(self._decided.wait(), PATIENCE_SECONDS)
        return self.fate

    def _decide(self, fate: str) -> None:
        assert self.fate is None
        self.fate = fate
        self._decided.set()


class Epochs:
    """Epochs that begin and end when the test says so."""

    def __init__(self) -> None:
        self.begun: list[tuple[int, int]] = []
        self.may_end: dict[tuple[int, int], asyncio.Future[None]] = {}
        self._changed = asyncio.Condition()

    async def __call__(self, run: Run) -> None:
        name = run.partition, run.first_offset
        async with self._changed:
            self.begun.append(name)
            future = self.may_end[name] = asyncio.get_running_loop().create_future()
            self._changed.notify_all()
        await future

    async def wait_for(self, *names: tuple[int, int]) -> None:
        async with asyncio.timeout(PATIENCE_SECONDS), self._changed:
            await self._changed.wait_for(lambda: set(names) <= set(self.begun))

    def end(self, partition: int, number: int) -> None:
        self.may_end[partition, number].set_result(None)

    def fail(self, partition: int, number: int, error: Exception) -> None:
        self.may_end[partition, number].set_exception(error)


def unforeseen(error: DamagedStateError) -> None:
    raise error


@pytest.fixture
def epochs() -> Epochs:
    return Epochs()


@pytest.fixture
def failures() -> "asyncio.Queue[BaseException]":
    return asyncio.Queue()


class Joining(Epochs):
    """Epochs whose runs are shown as the offsets in them."""

    runs: list[list[int]]

    async def __call__(self, run: Run) -> None:
        self.runs = [*getattr(self, "runs", []), [message.offset for message in run.messages]]
        await super().__call__(run)


@pytest.fixture
async def lanes(epochs: Epochs, failures: "asyncio.Queue[BaseException]") -> AsyncIterator[Lanes]:
    lanes = Lanes(epochs, failures.put, damaged=unforeseen, max_runs=2)
    yield lanes
    await lanes.stop()


async def test_a_partition_keeps_its_order_and_the_others_overlap(lanes: Lanes, epochs: Epochs) -> None:
    first, second, other = Delivered(0, 1), Delivered(0, 2), Delivered(1, 1)
    for delivered in (first, second, other):
        await lanes.put(delivered)
    await epochs.wait_for((0, 1), (1, 1))
    epochs.end(1, 1)
    assert await other.decided() == "acknowledged"
    assert (0, 2) not in epochs.begun
    assert (first.fate, second.fate) == (None, None)
    epochs.end(0, 1)
    await epochs.wait_for((0, 2))
    assert first.fate == "acknowledged"


async def test_a_full_lane_makes_the_delivery_wait(lanes: Lanes, epochs: Epochs) -> None:
    await lanes.put(Delivered(0, 1))
    await epochs.wait_for((0, 1))
    await lanes.put(Delivered(0, 2))
    await lanes.put(Delivered(0, 3))
    assert lanes.waiting() == {0: 2}
    waiting = asyncio.create_task(lanes.put(Delivered(0, 4)))
    await lanes.put(Delivered(1, 1))
    await epochs.wait_for((1, 1))
    assert not waiting.done()
    epochs.end(0, 1)
    await asyncio.wait_for(waiting, PATIENCE_SECONDS)
    assert lanes.waiting() == {0: 2, 1: 0}


async def test_what_has_not_begun_is_dropped_and_what_has_goes_on(lanes: Lanes, epochs: Epochs) -> None:
    begun, waiting = Delivered(0, 1), Delivered(0, 2)
    await lanes.put(begun)
    await epochs.wait_for((0, 1))
    await lanes.put(waiting)
    lanes.abandon()
    assert (begun.fate, waiting.fate) == (None, "abandoned")
    epochs.end(0, 1)
    assert await begun.decided() == "acknowledged"
    assert epochs.begun == [(0, 1)]


async def test_a_run_of_an_assignment_that_is_over_is_not_processed(lanes: Lanes, epochs: Epochs) -> None:
    stale, fresh = Delivered(0, 1), Delivered(0, 2)
    stale.stale = True
    await lanes.put(stale)
    await lanes.put(fresh)
    await epochs.wait_for((0, 2))
    assert stale.fate == "abandoned"
    assert epochs.begun == [(0, 2)]


async def test_a_failed_epoch_ends_its_lane_and_acknowledges_nothing(
    lanes: Lanes, epochs: Epochs, failures: "asyncio.Queue[BaseException]"
) -> None:
    failed, behind = Delivered(0, 1), Delivered(0, 2)
    await lanes.put(failed)
    await lanes.put(behind)
    await epochs.wait_for((0, 1))
    error = ValueError("no")
    epochs.fail(0, 1, error)
    assert await asyncio.wait_for(failures.get(), PATIENCE_SECONDS) is error
    assert (failed.fate, behind.fate) == ("abandoned", None)
    assert epochs.begun == [(0, 1)]


async def test_an_acknowledgement_that_fails_stops_the_worker(
    lanes: Lanes, epochs: Epochs, failures: "asyncio.Queue[BaseException]"
) -> None:
    error = RuntimeError("no")

    class Refused(Delivered):
        async def acknowledge(self) -> None:
            raise error

    refused = Refused(0, 1)
    await lanes.put(refused)
    await epochs.wait_for((0, 1))
    epochs.end(0, 1)
    assert await asyncio.wait_for(failures.get(), PATIENCE_SECONDS) is error
    assert refused.fate == "abandoned"


async def test_a_lane_that_somebody_cancels_stops_the_worker(
    lanes: Lanes, epochs: Epochs, failures: "asyncio.Queue[BaseException]"
) -> None:
    await lanes.put(Delivered(0, 1))
    await epochs.wait_for((0, 1))
    [lane] = [task for task in asyncio.all_tasks() if task.get_name() == "lane-0"]
    lane.cancel()
    assert "lane-0" in str(await asyncio.wait_for(failures.get(), PATIENCE_SECONDS))


async def test_stopping_ends_what_is_under_way_without_a_word(
    lanes: Lanes, epochs: Epochs, failures: "asyncio.Queue[BaseException]"
) -> None:
    under_way = Delivered(0, 1)
    await lanes.put(under_way)
    await epochs.wait_for((0, 1))
    await lanes.stop()
    assert under_way.fate is None
    assert failures.empty()
    assert lanes.waiting() == {}


async def test_what_waits_is_joined_up_to_the_size_of_a_run(
    failures: "asyncio.Queue[BaseException]",
) -> None:
    epochs = Joining()
    lanes = Lanes(epochs, failures.put, damaged=unforeseen, max_runs=8, max_records=3)
    delivered = [Delivered(0, number) for number in range(6)]
    await lanes.put(delivered[0])
    await epochs.wait_for((0, 0))
    for one in delivered[1:]:
        await lanes.put(one)
    assert [one.fate for one in delivered] == [None] * 6
    for first in (0, 1, 4):
        await epochs.wait_for((0, first))
        epochs.end(0, first)
    assert [await one.decided() for one in delivered] == ["acknowledged"] * 6
    assert epochs.runs == [[0], [1, 2, 3], [4, 5]]
    await lanes.stop()


async def test_runs_are_joined_up_to_the_bytes_of_a_run(failures: "asyncio.Queue[BaseException]") -> None:
    epochs = Joining()
    lanes = Lanes(epochs, failures.put, damaged=unforeseen, max_runs=8, max_records=100, max_bytes=2)
    for number in range(4):
        await lanes.put(Delivered(0, number))
    for first in (0, 2):
        await epochs.wait_for((0, first))
        epochs.end(0, first)
    assert epochs.runs == [[0, 1], [2, 3]]
    await lanes.stop()


async def test_of_a_joined_run_that_fails_nothing_is_acknowledged(
    failures: "asyncio.Queue[BaseException]",
) -> None:
    epochs = Joining()
    lanes = Lanes(epochs, failures.put, damaged=unforeseen, max_runs=8, max_records=100)
    first, second = Delivered(0, 1), Delivered(0, 2)
    await lanes.put(first)
    await lanes.put(second)
    await epochs.wait_for((0, 1))
    error = ValueError("no")
    epochs.fail(0, 1, error)
    assert await asyncio.wait_for(failures.get(), PATIENCE_SECONDS) is error
    assert (first.fate, second.fate) == ("abandoned", "abandoned")
    await lanes.stop()


async def test_what_is_joined_and_begun_is_not_dropped(failures: "asyncio.Queue[BaseException]") -> None:
    epochs = Joining()
    lanes = Lanes(epochs, failures.put, damaged=unforeseen, max_runs=8, max_records=100)
    first, second, third = Delivered(0, 1), Delivered(0, 2), Delivered(0, 3)
    await lanes.put(first)
    await lanes.put(second)
    await epochs.wait_for((0, 1))
    await lanes.put(third)
    lanes.abandon()
    epochs.end(0, 1)
    assert [await one.decided() for one in (first, second, third)] == [
        "acknowledged",
        "acknowledged",
        "abandoned",
    ]
    await lanes.stop()


async def test_a_lane_that_pauses_makes_one_run_of_what_comes_meanwhile(
    failures: "asyncio.Queue[BaseException]",
) -> None:
    epochs = Joining()
    lanes = Lanes(epochs, failures.put, damaged=unforeseen, max_runs=8, max_records=100, pause_s=0.2)
    began = asyncio.get_running_loop().time()
    first = Delivered(0, 0)
    await lanes.put(first)
    await epochs.wait_for((0, 0))
    epochs.end(0, 0)
    await first.decided()
    for number in (1, 2, 3):
        await lanes.put(Delivered(0, number))
    await epochs.wait_for((0, 1))
    assert asyncio.get_running_loop().time() - began >= 0.2
    assert epochs.runs == [[0], [1, 2, 3]]
    await lanes.stop()


async def test_a_pause_ends_when_the_lane_is_half_full(failures: "asyncio.Queue[BaseException]") -> None:
    epochs = Joining()
    lanes = Lanes(epochs, failures.put, damaged=unforeseen, max_runs=4, max_records=100, pause_s=3600)
    first = Delivered(0, 0)
    await lanes.put(first)
    await epochs.wait_for((0, 0))
    epochs.end(0, 0)
    await first.decided()
    await lanes.put(Delivered(0, 1))
    assert lanes.waiting() == {0: 1}
    await lanes.put(Delivered(0, 2))
    await epochs.wait_for((0, 1))
    assert epochs.runs == [[0], [1, 2]]
    await lanes.stop()


async def test_what_waits_in_a_lane_that_pauses_is_dropped_at_once(
    failures: "asyncio.Queue[BaseException]",
) -> None:
    epochs = Joining()
    lanes = Lanes(epochs, failures.put, damaged=unforeseen, max_runs=8, pause_s=3600)
    first, second = Delivered(0, 0), Delivered(0, 1)
    await lanes.put(first)
    await epochs.wait_for((0, 0))
    epochs.end(0, 0)
    await first.decided()
    await lanes.put(second)
    lanes.abandon()
    assert second.fate == "abandoned"
    await lanes.stop()


async def test_what_became_stale_before_a_full_lane_had_room_does_not_wait_for_the_pause(
    failures: "asyncio.Queue[BaseException]",
) -> None:
    epochs = Joining()
    lanes = Lanes(epochs, failures.put, damaged=unforeseen, max_runs=1, pause_s=3600)
    first, second, third = (Delivered(0, number) for number in range(3))
    await lanes.put(first)
    await epochs.wait_for((0, 0))
    await lanes.put(second)
    late = asyncio.create_task(lanes.put(third))
    await asyncio.sleep(0)
    third.stale = True
    lanes.abandon()
    await late
    epochs.end(0, 0)
    assert [await one.decided() for one in (first, second, third)] == [
        "acknowledged",
        "abandoned",
        "abandoned",
    ]
    await lanes.stop()


async def test_a_guest_has_its_lane_alone_and_a_rebalance_waits_for_every_guest(
    lanes: Lanes, epochs: Epochs
) -> None:
    entered, leave = {0: asyncio.Event(), 1: asyncio.Event()}, asyncio.Event()

    async def guest(partition: int) -> None:
        async with lanes.between_runs(partition):
            entered[partition].set()
            await leave.wait()

    await lanes.put(first := Delivered(0, 0))
    await epochs.wait_for((0, 0))
    async with asyncio.timeout(PATIENCE_SECONDS), asyncio.TaskGroup() as tasks:
        tasks.create_task(guest(0))
        tasks.create_task(guest(1))
        await entered[1].wait()
        assert not entered[0].is_set()
        alone = tasks.create_task(lanes.without_guest())
        epochs.end(0, 0)
        await entered[0].wait()
        await first.decided()
        await lanes.put(second := Delivered(0, 1))
        assert epochs.begun == [(0, 0)]
        assert not alone.done()
        leave.set()
    await epochs.wait_for((0, 1))
    epochs.end(0, 1)
    assert await second.decided() == "acknowledged"


async def test_a_run_that_meets_damage_is_abandoned_and_none_behind_it_begins(
    epochs: Epochs, failures: "asyncio.Queue[BaseException]"
) -> None:
    met: list[DamagedStateError] = []
    delivered = [Delivered(0, number) for number in range(3)]

    def stop(error: DamagedStateError) -> None:
        met.append(error)
        for each in delivered:
            each.stale = True

    lanes = Lanes(epochs, failures.put, damaged=stop, max_runs=8)
    for each in delivered:
        await lanes.put(each)
    await epochs.wait_for((0, 0))
    epochs.fail(0, 0, DamagedStateError("0.db", "a checksum"))
    assert [await each.decided() for each in delivered] == ["abandoned"] * 3
    assert (len(met), epochs.begun, failures.empty()) == (1, [(0, 0)], True)

    later = Delivered(0, 3)
    await lanes.put(later)
    await epochs.wait_for((0, 3))
    epochs.end(0, 3)
    assert await later.decided() == "acknowledged"
    await lanes.stop()


async def test_lanes_that_begin_together_wait_for_those_at_work(
    epochs: Epochs, failures: "asyncio.Queue[BaseException]"
) -> None:
    lanes = Lanes(epochs, failures.put, damaged=unforeseen, max_runs=8, max_records=100, patience_s=3600)
    await lanes.put(Delivered(0, 1))
    await epochs.wait_for((0, 1))
    await lanes.put(Delivered(1, 1))
    await lanes.put(Delivered(2, 1))
    for _ in range(20):
        await asyncio.sleep(0)
    assert epochs.begun == [(0, 1)]
    epochs.end(0, 1)
    await epochs.wait_for((1, 1), (2, 1))
    await lanes.stop()


async def test_a_partition_that_stands_still_does_not_hold_the_others(
    epochs: Epochs, failures: "asyncio.Queue[BaseException]"
) -> None:
    lanes = Lanes(epochs, failures.put, damaged=unforeseen, max_runs=8, max_records=100, patience_s=0.01)
    await lanes.put(Delivered(0, 1))
    await epochs.wait_for((0, 1))
    for number in (1, 2, 3):
        await lanes.put(delivered := Delivered(1, number))
        await epochs.wait_for((1, number))
        epochs.end(1, number)
        assert await delivered.decided() == "acknowledged"
    await lanes.stop()


async def test_a_full_run_waits_for_no_other(
    epochs: Epochs, failures: "asyncio.Queue[BaseException]"
) -> None:
    lanes = Lanes(epochs, failures.put, damaged=unforeseen, max_runs=8, max_records=2, patience_s=3600)
    await lanes.put(Delivered(0, 1))
    await lanes.put(Delivered(1, 1))
    await epochs.wait_for((0, 1), (1, 1))
    await lanes.stop()


async def test_what_became_stale_while_it_waited_for_others_is_not_begun(
    epochs: Epochs, failures: "asyncio.Queue[BaseException]"
) -> None:
    lanes = Lanes(epochs, failures.put, damaged=unforeseen, max_runs=8, max_records=100, patience_s=3600)
    await lanes.put(Delivered(0, 1))
    await epochs.wait_for((0, 1))
    waiting = Delivered(1, 1)
    await lanes.put(waiting)
    await asyncio.sleep(0)
    waiting.stale = True
    epochs.end(0, 1)
    assert await waiting.decided() == "abandoned"
    assert epochs.begun == [(0, 1)]
    await lanes.stop()

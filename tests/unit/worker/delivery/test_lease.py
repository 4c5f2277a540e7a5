"""How long a worker may be sure of its partitions, by a clock that the test sets."""

import asyncio
import threading
from collections.abc import Awaitable
from typing import TypeVar

import pytest

from streams.core.errors import ProducerFencedError
from streams.kafka.clock import boot_time
from streams.worker.delivery.lease import WorkerLease

SESSION_S, REBALANCE_S = 10.0, 40.0
_WITHIN_S = 30.0

T = TypeVar("T")


class Clock:
    """Seconds, as the test says."""

    def __init__(self) -> None:
        self.at = 100.0

    def __call__(self) -> float:
        return self.at


class Publisher:
    """Notes what it is told."""

    def __init__(self) -> None:
        self.told: list[str] = []
        self.any = asyncio.Event()

    def take_back(self) -> None:
        self.told.append("take back")
        self.any.set()

    def abandon(self) -> None:
        self.told.append("abandon")
        self.any.set()


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def lease(clock: Clock) -> WorkerLease:
    return WorkerLease(SESSION_S, REBALANCE_S, clock)


@pytest.fixture
async def publisher(lease: WorkerLease) -> Publisher:
    publisher = Publisher()
    lease.bind(publisher)
    return publisher


def nearly_over(lease: WorkerLease, clock: Clock) -> None:
    """Leave the lease a hundredth of a second."""
    clock.at += SESSION_S
    lease.heard(clock.at - 0.9 * SESSION_S + 0.01)


async def soon(what: Awaitable[T]) -> T:
    return await asyncio.wait_for(what, _WITHIN_S)


async def waits(task: asyncio.Task[int]) -> bool:
    """Tell whether a task has nothing to do after all that could be done at once."""
    for _ in range(10):
        await asyncio.sleep(0)
    return not task.done()


def test_nobody_has_a_lease_who_was_never_heard_of(lease: WorkerLease) -> None:
    assert not lease.held


def test_it_counts_from_the_question_and_is_over_before_the_group_acts(
    lease: WorkerLease, clock: Clock
) -> None:
    asked_at = clock.at
    clock.at += 5.0  # the answer took so long
    lease.heard(asked_at)
    clock.at = asked_at + 0.89 * SESSION_S
    assert lease.held
    clock.at = asked_at + 0.91 * SESSION_S
    assert not lease.held


def test_an_answer_that_was_waiting_while_the_worker_was_suspended_renews_nothing(
    lease: WorkerLease, clock: Clock
) -> None:
    asked_at = clock.at
    clock.at += 3 * SESSION_S
    lease.heard(asked_at)
    assert not lease.held


def test_a_group_that_waits_for_its_members_keeps_them_no_longer_than_a_rebalance_may_take(
    lease: WorkerLease, clock: Clock
) -> None:
    lease.heard(clock.at)
    settled_at = clock.at
    while clock.at < settled_at + 0.89 * REBALANCE_S:
        lease.heard(clock.at, rebalancing=True)
        assert lease.held
        clock.at += 1.0
    clock.at = settled_at + 0.91 * REBALANCE_S
    lease.heard(clock.at, rebalancing=True)
    assert not lease.held
    lease.heard(clock.at)
    assert lease.held


async def test_whoever_begins_waits_for_the_lease_and_goes_on_when_it_is_renewed(
    lease: WorkerLease, clock: Clock, publisher: Publisher
) -> None:
    beginning = asyncio.create_task(lease.begin())
    assert await waits(beginning)
    heard = threading.Thread(target=lease.heard, args=[clock.at])  # as the consumer's thread does it
    heard.start()
    heard.join()
    lease.check(await soon(beginning))
    assert publisher.told == []


async def test_when_it_runs_out_what_is_on_its_way_is_taken_back_at_once_and_nothing_is_abandoned(
    lease: WorkerLease, clock: Clock, publisher: Publisher
) -> None:
    nearly_over(lease, clock)
    assert lease.held
    term = await soon(lease.begin())
    await asyncio.sleep(0)
    clock.at += SESSION_S
    await soon(publisher.any.wait())
    assert publisher.told == ["take back"]
    lease.check(term)
    beginning = asyncio.create_task(lease.begin())
    assert await waits(beginning)
    lease.heard(clock.at)  # the group has kept it
    assert await soon(beginning) == term


async def test_a_worker_that_the_group_does_not_know_any_more_abandons_all_and_begins_nothing(
    lease: WorkerLease, clock: Clock, publisher: Publisher
) -> None:
    lease.heard(clock.at)
    term = await soon(lease.begin())
    lease.lost()
    assert not lease.held
    await soon(publisher.any.wait())
    assert publisher.told == ["abandon"]
    with pytest.raises(ProducerFencedError):
        lease.check(term)
    beginning = asyncio.create_task(lease.begin())
    assert await waits(beginning)
    lease.lost()
    with pytest.raises(ProducerFencedError):
        await soon(beginning)


async def test_who_gives_its_partitions_up_waits_for_no_lease_that_is_over(
    lease: WorkerLease, clock: Clock, publisher: Publisher
) -> None:
    lease.heard(clock.at)
    term = await soon(lease.begin())
    clock.at += SESSION_S
    waiting = asyncio.create_task(lease.begin())
    assert await waits(waiting)
    lease.give_up()
    assert publisher.told == ["abandon"]
    with pytest.raises(ProducerFencedError):
        lease.check(term)
    with pytest.raises(ProducerFencedError):
        await soon(waiting)
    with pytest.raises(ProducerFencedError):
        await soon(lease.begin())


async def test_who_gives_its_partitions_up_in_time_finishes_what_it_has_begun(
    lease: WorkerLease, clock: Clock, publisher: Publisher
) -> None:
    lease.heard(clock.at)
    term = await soon(lease.begin())
    lease.give_up()
    lease.check(term)
    assert await soon(lease.begin()) == term
    assert publisher.told == []


async def test_a_lease_that_runs_out_while_partitions_are_given_up_ends(
    lease: WorkerLease, clock: Clock, publisher: Publisher
) -> None:
    nearly_over(lease, clock)
    term = await soon(lease.begin())
    await asyncio.sleep(0)
    lease.give_up()
    clock.at += SESSION_S
    await soon(publisher.any.wait())
    assert publisher.told == ["abandon"]
    with pytest.raises(ProducerFencedError):
        lease.check(term)


async def test_after_an_end_the_next_assignment_begins_a_term_of_its_own(
    lease: WorkerLease, clock: Clock, publisher: Publisher
) -> None:
    lease.heard(clock.at)
    before = await soon(lease.begin())
    lease.lost()
    await soon(publisher.any.wait())
    lease.give_up()
    lease.heard(clock.at)
    lease.go_on()
    after = await soon(lease.begin())
    assert after != before
    lease.check(after)


def test_the_clock_goes_on() -> None:
    assert boot_time() <= boot_time()

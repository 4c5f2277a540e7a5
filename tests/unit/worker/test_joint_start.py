"""Lanes begin together, and none is held back for longer than its patience."""

import asyncio

from streams.worker.lanes import JointStart

LONG, SHORT = 3600.0, 0.01


async def settle() -> None:
    """Let every task run that can."""
    for _ in range(20):
        await asyncio.sleep(0)


async def test_those_that_come_before_the_start_begin_together() -> None:
    start = JointStart(LONG)
    waiting = [asyncio.create_task(start.wait()) for _ in range(3)]
    await asyncio.gather(*waiting)


async def test_while_a_lane_is_at_work_the_others_gather() -> None:
    start = JointStart(LONG)
    await start.wait()
    start.begin()
    first, second = (asyncio.create_task(start.wait()) for _ in range(2))
    await settle()
    assert not first.done()
    start.end()
    await asyncio.gather(first, second)


async def test_the_last_of_those_at_work_lets_the_others_begin() -> None:
    start = JointStart(LONG)
    start.begin()
    start.begin()
    waiting = asyncio.create_task(start.wait())
    await settle()
    start.end()
    await settle()
    assert not waiting.done()
    start.end()
    await waiting


async def test_a_lane_that_stands_still_holds_the_others_back_for_a_moment() -> None:
    start = JointStart(SHORT)
    start.begin()
    for _ in range(3):
        await start.wait()


async def test_a_lane_that_is_cancelled_does_not_take_the_others_with_it() -> None:
    start = JointStart(LONG)
    start.begin()
    cancelled, waiting = (asyncio.create_task(start.wait()) for _ in range(2))
    await settle()
    cancelled.cancel()
    await settle()
    start.end()
    await waiting
    assert cancelled.cancelled()


async def test_a_start_that_nobody_waits_for_any_more_harms_nobody() -> None:
    start = JointStart(LONG)
    start.begin()
    gone = asyncio.create_task(start.wait())
    await settle()
    gone.cancel()
    await settle()
    start.end()
    await start.wait()

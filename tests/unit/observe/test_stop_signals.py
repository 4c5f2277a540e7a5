"""A process ends with the first part of its work that fails, and says of what."""

import asyncio

import pytest

from streams.core.errors import InfrastructureError
from streams.observe.stop_signals import all_of


async def for_ever(ended: list[str]) -> None:
    try:
        await asyncio.Event().wait()
    finally:
        ended.append("it")


async def fails(error: Exception) -> None:
    raise error


async def test_what_is_known_to_have_failed_is_said_and_the_rest_ends() -> None:
    ended: list[str] = []
    with pytest.raises(InfrastructureError, match="no broker"):
        await all_of([for_ever(ended), fails(InfrastructureError("no broker"))])
    assert ended == ["it"]


async def test_a_fault_is_not_hidden() -> None:
    ended: list[str] = []
    with pytest.raises(ExceptionGroup) as raised:
        await all_of([for_ever(ended), fails(KeyError("x"))])
    assert raised.group_contains(KeyError)
    assert ended == ["it"]


async def test_whoever_cancels_it_ends_all() -> None:
    ended: list[str] = []
    task = asyncio.create_task(all_of([for_ever(ended), for_ever(ended)]))
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)
    assert ended == ["it", "it"]

"""A notifier whose group takes partitions away, and gives them back, while it waits for the brokers."""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import AsyncIterator, Callable, Iterable, Mapping
from contextlib import asynccontextmanager
from typing import Any, cast

import pytest

from schemas.codec import Codec
from streams.brokers.client import Brokers
from streams.brokers.connection import Connection
from streams.brokers.group_reader import GroupReader
from streams.brokers.stored import Stored
from streams.domain.outgoing import Outgoing
from streams.domain.topic import Topic
from streams.domain.unreadable import Unreadable
from streams.notify import notifier as notifier_module
from streams.notify.courier import Clocks
from streams.notify.metrics import NotifyMetrics
from streams.notify.notifier import Notifier
from streams.notify.settings import NotifySettings
from streams.settings import load
from tests.unit.notify.receivers import Receiver
from tests.unit.notify.test_courier import Wire
from tests.unit.sinks.alerts import NOW_MS


class Group:
    """Its one member, and the brokers: what happens while the member waits for them is up to a test."""

    def __init__(self, given: Mapping[int, int]) -> None:
        self.waiting: dict[int, int | None] = dict(given)
        self.joined = True
        self.unreadable: list[tuple[int, Unreadable]] = []
        self.before_loss: Callable[[], Mapping[int, int]] = dict
        self.lost: Callable[[int], None] = lambda _: None
        self.begun: list[tuple[int, int]] = []
        self.committed: list[Mapping[int, int]] = []
        self.polls = 0
        self.polled_enough = asyncio.Event()
        self.on_load: Callable[[int], None] = lambda _: None
        self.on_write: Callable[[], None] = lambda: None

    # -- the member

    @property
    def given(self) -> Mapping[int, int | None]:
        return dict(self.waiting)

    def begin(self, partition: int, offset: int) -> None:
        del self.waiting[partition]
        self.begun.append((partition, offset))

    def hold(self, *, held: bool) -> None:
        assert not held

    async def poll(self) -> list[Stored]:
        self.polls += 1
        if self.polls > 3:
            self.polled_enough.set()
            await asyncio.Event().wait()
        await asyncio.sleep(0)
        return []

    def positions(self) -> dict[int, int]:
        return dict(self.begun)

    async def commit(self, offsets: Mapping[int, int]) -> bool:
        self.committed.append(offsets)
        return True

    # -- the brokers

    def topic(self, topic: Topic) -> str:
        return topic.value

    async def offsets_at(self, topic: str, timestamp: int) -> dict[int, int]:
        del topic, timestamp
        return {}

    async def read(self, topic: str, partitions: Iterable[int]) -> AsyncIterator[Stored]:
        del topic
        [partition] = partitions
        self.on_load(partition)
        for stored in ():
            yield stored

    async def read_range(self, topic: str, partition: int, start: int, stop: int) -> AsyncIterator[Stored]:
        del topic, partition, start, stop
        for stored in ():
            yield stored

    async def write(
        self, topic: str, records: Iterable[tuple[int | None, Outgoing]]
    ) -> list[tuple[int, int]]:
        del topic, records
        self.on_write()
        return []


@pytest.fixture
def notifying(monkeypatch: pytest.MonkeyPatch) -> Callable[[Group], Notifier]:
    """Return what makes a notifier of a group."""

    def made(group: Group) -> Notifier:
        @asynccontextmanager
        async def member(
            _connection: Connection, _group: str, _topic: str, lost: Callable[[int], None], **_: Any
        ) -> AsyncIterator[GroupReader]:
            group.lost = lost
            yield cast("GroupReader", group)

        monkeypatch.setattr(notifier_module, "group_reader", member)
        seconds = itertools.count()
        return Notifier(
            load(NotifySettings),
            Connection("127.0.0.1:9092"),
            cast("Brokers", group),
            Codec.bundled().decoder(f"{Topic.SESSION_ALERTS}-value"),
            [Receiver()],
            Wire(),
            Clocks(lambda: float(next(seconds)), lambda: NOW_MS / 1000, lambda: 0.5),
            NotifyMetrics(),
        )

    return made


async def run(notifier: Notifier, group: Group) -> None:
    """Let it poll some times; what it fails of is raised."""
    running = asyncio.create_task(notifier.run())
    enough = asyncio.create_task(group.polled_enough.wait())
    done, _ = await asyncio.wait({running, enough}, return_when=asyncio.FIRST_COMPLETED)
    for task in done:
        task.result()
    running.cancel()
    await asyncio.gather(running, return_exceptions=True)


async def test_a_partition_may_go_while_another_is_committed(notifying: Callable[[Group], Notifier]) -> None:
    group = Group({0: 5, 1: 5})
    notifier = notifying(group)
    group.on_write = lambda: group.lost(1)
    await run(notifier, group)
    assert {0: 5} in group.committed
    assert all(1 not in offsets for offsets in group.committed)


async def test_a_partition_that_came_back_begins_where_the_other_member_left_it(
    notifying: Callable[[Group], Notifier],
) -> None:
    group = Group({0: 5})
    notifier = notifying(group)

    def come_back(_: int) -> None:
        group.waiting[0] = 9

    group.on_load = come_back
    await run(notifier, group)
    assert group.begun == [(0, 9)]


async def test_a_notifier_that_learns_what_is_open_is_not_silent(
    notifying: Callable[[Group], Notifier],
) -> None:
    """Or the history of many partitions would have it restarted, again and again."""
    group = Group({0: 5, 1: 5})
    notifier = notifying(group)
    polled: list[float] = []
    group.on_load = lambda _: polled.append(notifier.polled_s)
    await run(notifier, group)
    first, second = polled
    assert first < second

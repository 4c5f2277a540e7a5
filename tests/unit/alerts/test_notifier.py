"""A notifier in its group: where partitions begin, how far they came, and what happens while it waits."""

from __future__ import annotations

import asyncio
import itertools
import json
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Mapping
from contextlib import asynccontextmanager
from typing import Any, cast

import pytest

from schemas.codec import Codec
from streams.alerts import beginning as beginning_module
from streams.alerts import notifier as notifier_module
from streams.alerts.metrics import NotifyMetrics
from streams.alerts.notifier import Notifier
from streams.alerts.settings import NotifySettings
from streams.alerts.sink_worker import Clocks
from streams.alerts.sinks.request import SinkAnswer, SinkRequest, TryAgain
from streams.core.domain.record import Outgoing, Unreadable
from streams.core.domain.topic import Topic
from streams.kafka.client import Brokers
from streams.kafka.connection import Connection
from streams.kafka.group_reader import GroupReader
from streams.kafka.stored import Stored
from streams.kafka.survey import Ends
from streams.observe.settings import load
from tests.unit.alerts.receivers import Receiver
from tests.unit.alerts.sinks.alerts import NOW_MS, fields
from tests.unit.alerts.test_sink_worker import Wire

#: Where each partition ends.
END = 70


class LabelTail:
    """The labels at once, then none."""

    def __init__(self, labels: list[Stored]) -> None:
        place = (Topic.SESSION_LABELS.value, 0)
        self.positions, self.ends = {place: 0}, {place: len(labels)}
        self._labels = labels

    async def __anext__(self) -> list[tuple[str, Stored]]:
        [place] = self.positions
        if self.positions[place] and not self._labels:
            await asyncio.Event().wait()
        await asyncio.sleep(0)
        found, self._labels = self._labels, []
        self.positions[place] = self.ends[place]
        return [(place[0], each) for each in found]

    async def aclose(self) -> None:
        pass


class Group:
    """Its one member, and the brokers: what happens while the member waits for them is up to a test."""

    def __init__(self, given: Mapping[int, int | None], *, partitions: int = 4) -> None:
        self.waiting: dict[int, int | None] = dict(given)
        self.joined = True
        self.unreadable: list[tuple[int, Unreadable]] = []
        self.partitions = partitions
        self.remembered: dict[int, Mapping[str, Any]] = {}
        self.records: list[Stored] = []
        self.labels: list[Stored] = []
        self.before_loss: Callable[[], Awaitable[None]] | None = None
        self.lost: Callable[[int], None] = lambda _: None
        self.begun: list[tuple[int, int]] = []
        self.committed: list[Mapping[int, int]] = []
        self.polls = 0
        self.position: int | None = None
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
        found, self.records = self.records, []
        return found

    def positions(self) -> dict[int, int]:
        return {partition: self.position or start for partition, start in self.begun}

    async def commit(self, offsets: Mapping[int, int]) -> bool:
        self.committed.append(offsets)
        return True

    # -- the brokers

    async def partition_counts(self, topics: Iterable[str]) -> dict[str, int]:
        return dict.fromkeys(topics, 1)

    def tail(self, places: Mapping[tuple[str, int], int]) -> LabelTail:
        assert list(places) == [(Topic.SESSION_LABELS, 0)]
        return LabelTail(self.labels)

    def topic(self, topic: Topic) -> str:
        return topic.value

    async def offsets_at(self, topic: str, timestamp: int) -> dict[int, int]:
        del topic, timestamp
        return {}

    async def layout(self, names: Iterable[str]) -> dict[str, tuple[int, str]]:
        return dict.fromkeys(names, (self.partitions, ""))

    async def read(self, topic: str, partitions: Iterable[int]) -> AsyncIterator[Stored]:
        assert topic == Topic.NOTIFY_STATE
        [partition] = partitions
        self.on_load(partition)
        if partition in self.remembered:
            value = json.dumps(self.remembered[partition]).encode()
            yield Stored(partition, 0, NOW_MS, b'["eddy-notify", "marks"]', value, [])

    async def read_range(self, topic: str, partition: int, start: int, stop: int) -> AsyncIterator[Stored]:
        del topic, partition, start, stop
        for stored in ():
            yield stored

    async def write(
        self, topic: str, records: Iterable[tuple[int | None, Outgoing]]
    ) -> list[tuple[int, int]]:
        self.on_write()
        for partition, record in records:
            if topic == Topic.NOTIFY_STATE and partition is not None:
                self.remembered[partition] = json.loads(record.value or b"")
        return []


Notifying = Callable[..., Notifier]


@pytest.fixture
def notifying(monkeypatch: pytest.MonkeyPatch) -> Notifying:
    """Return what makes a notifier of a group."""

    def made(group: Group, *sinks: Receiver, wire: Wire | None = None, **settings: str) -> Notifier:
        @asynccontextmanager
        async def member(
            _connection: Connection, _group: str, _topic: str, lost: Callable[[int], None], **_: Any
        ) -> AsyncIterator[GroupReader]:
            group.lost = lost
            yield cast("GroupReader", group)

        async def ends(_: Connection, partitions: Mapping[str, int]) -> dict[tuple[str, int], Ends]:
            return {
                (topic, partition): Ends(0, END)
                for topic, count in partitions.items()
                for partition in range(count)
            }

        monkeypatch.setattr(notifier_module, "group_reader", member)
        monkeypatch.setattr(beginning_module, "ends", ends)
        seconds = itertools.count()
        return Notifier(
            load(NotifySettings, **settings),
            Connection("127.0.0.1:9092"),
            cast("Brokers", group),
            Codec.bundled().decoder(f"{Topic.SESSION_ALERTS}-value"),
            sinks or [Receiver()],
            wire or Wire(),
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


async def test_a_partition_may_go_while_another_is_committed(notifying: Notifying) -> None:
    group = Group({0: 5, 1: 5})
    notifier = notifying(group)
    group.on_write = lambda: group.lost(1)
    await run(notifier, group)
    assert {0: 5} in group.committed
    assert all(1 not in offsets for offsets in group.committed)


async def test_a_partition_that_came_back_begins_where_the_other_member_left_it(
    notifying: Notifying,
) -> None:
    group = Group({0: 5})
    notifier = notifying(group)

    def come_back(_: int) -> None:
        group.waiting[0] = 9

    group.on_load = come_back
    await run(notifier, group)
    assert group.begun == [(0, 9)]


async def test_a_notifier_that_learns_what_is_open_is_not_silent(
    notifying: Notifying,
) -> None:
    """Or the history of many partitions would have it restarted, again and again."""
    group = Group({0: 5, 1: 5})
    notifier = notifying(group)
    polled: list[float] = []
    group.on_load = lambda _: polled.append(notifier.polled_s)
    await run(notifier, group)
    first, second = polled
    assert first < second


class Slow(Group):
    """Brokers that answer about a partition once they were asked about eight."""

    def __init__(self, given: Mapping[int, int | None]) -> None:
        super().__init__(given, partitions=len(given))
        self.eight = asyncio.Barrier(8)

    async def read(self, topic: str, partitions: Iterable[int]) -> AsyncIterator[Stored]:
        await self.eight.wait()
        async for stored in super().read(topic, partitions):
            yield stored


async def test_partitions_begin_side_by_side(notifying: Notifying) -> None:
    group = Slow(dict.fromkeys(range(24), 5))
    async with asyncio.timeout(60):
        await run(notifying(group), group)
    assert sorted(group.begun) == [(partition, 5) for partition in range(24)]


async def test_a_new_group_begins_where_its_partitions_end(notifying: Notifying) -> None:
    """Whichever member comes first: another one may have begun with other partitions already."""
    group = Group({2: None})
    group.remembered[0] = {"start": 50, "sinks": {}, "partitions": 4}
    await run(notifying(group), group)
    assert group.begun == [(2, END)]
    assert group.committed[0] == {2: END}
    assert group.remembered[2]["partitions"] == 4


async def test_a_partition_that_the_topic_got_since_is_told_from_its_start(notifying: Notifying) -> None:
    group = Group({5: None}, partitions=6)
    group.remembered[0] = {"start": 50, "sinks": {}, "partitions": 4}
    await run(notifying(group), group)
    assert group.begun == [(5, 0)]


async def test_a_group_of_an_earlier_version_learns_how_many_partitions_there_are(
    notifying: Notifying,
) -> None:
    group = Group({0: 60})
    group.remembered[0] = {"start": 50, "sinks": {}}
    await run(notifying(group), group)
    assert group.remembered[0] == {"start": 50, "sinks": {}, "beyond": {}, "partitions": 4}


async def test_a_group_whose_offsets_the_brokers_have_forgotten_says_so_and_pages_for_nothing_old(
    notifying: Notifying, caplog: pytest.LogCaptureFixture
) -> None:
    group = Group({0: None})
    group.remembered[0] = {"start": 5, "sinks": {}, "partitions": 4}
    await run(notifying(group), group)
    assert group.begun == [(0, END)]
    [said] = [record.getMessage() for record in caplog.records if record.levelname == "WARNING"]
    assert "have forgotten how far eddy-notify was in session-alerts[0]" in said
    assert f"offset {END}" in said


class HalfDead(Wire):
    """It takes what is for one receiver, and nothing for the other."""

    def __init__(self) -> None:
        super().__init__()
        self.taken, self.refused = asyncio.Event(), asyncio.Event()

    async def send(self, request: SinkRequest) -> SinkAnswer | TryAgain:  # type: ignore[override]
        self.sent.append(request.body)
        if request.url.endswith("dead"):
            self.refused.set()
            return TryAgain("HTTP 503")
        self.taken.set()
        return SinkAnswer(200, {}, b"")


async def test_before_partitions_go_it_is_remembered_which_sinks_have_more_than_others(
    notifying: Notifying,
) -> None:
    """Or the next member would tell those again."""
    group, wire = Group({0: 5}), HalfDead()
    notifier = notifying(group, Receiver(name="dead"), Receiver(name="well"), wire=wire)
    encoder = Codec.bundled().encoder(f"{Topic.SESSION_ALERTS}-value")
    alert = fields()
    group.records = [Stored(0, 6, NOW_MS, b"s-1", encoder.encode(alert), list(encoder.headers))]
    running = asyncio.create_task(notifier.run())
    await asyncio.gather(wire.taken.wait(), wire.refused.wait(), group.polled_enough.wait())
    assert group.before_loss is not None
    group.remembered.clear()
    group.position = 9
    for courier in notifier.couriers:
        courier.outbox.read_to(0, 9)
    await group.before_loss()
    assert group.committed[-1] == {0: 6}
    assert group.remembered[0]["sinks"] == {"well": 9}
    running.cancel()
    await asyncio.gather(running, return_exceptions=True)


@pytest.mark.parametrize(
    ("kind", "phases", "told"),
    [
        ("silent_session", ("silent", "spoke", "silent", "ended"), [b"silent", b"silent"]),
        ("overspending", ("over", "still_over", "under", "over"), [b"over", b"over"]),
    ],
)
async def test_what_begins_is_told_and_that_it_is_over_opens_nothing(
    notifying: Notifying, kind: str, phases: tuple[str, ...], told: list[bytes]
) -> None:
    group, wire = Group({0: 5}), Wire()
    notifier = notifying(group, wire=wire, notify_families=f"loop_episode,{kind}")
    encoder = Codec.bundled().encoder(f"{Topic.SESSION_ALERTS}-value")
    group.records = [
        Stored(0, offset, NOW_MS, b"s-1", encoder.encode(alert), list(encoder.headers))
        for offset, phase in enumerate(phases, 6)
        for alert in [fields(phase, offset, event_type=kind, level=None, **_LIMITS)]
    ]
    running = asyncio.create_task(notifier.run())
    await group.polled_enough.wait()
    await asyncio.gather(*(courier.settled() for courier in notifier.couriers))
    running.cancel()
    await asyncio.gather(running, return_exceptions=True)
    assert [each.split(b"/")[-1] for each in wire.sent] == told


async def test_labels_are_known_before_the_first_alert_and_what_they_refute_is_not_told(
    notifying: Notifying,
) -> None:
    group, wire = Group({0: 5}), Wire()
    notifier = notifying(group, wire=wire)
    encoder = Codec.bundled().encoder(f"{Topic.SESSION_ALERTS}-value")
    alerts = [fields("opened", 6, session="s-1"), fields("opened", 7, session="s-2")]
    group.records = [
        Stored(0, offset, NOW_MS, b"s", encoder.encode(alert), list(encoder.headers))
        for offset, alert in enumerate(alerts, 6)
    ]
    said = {
        "subject": alerts[0]["episode_id"],
        "session_id": "s-1",
        "label": "not_a_loop",
        "at": 1,
        "who": "kim",
    }
    group.labels = [
        Stored(0, 0, NOW_MS, b"?", b"no label", []),
        Stored(0, 1, NOW_MS, str(said["subject"]).encode(), json.dumps(said).encode(), []),
    ]
    running = asyncio.create_task(notifier.run())
    await group.polled_enough.wait()
    await asyncio.gather(*(courier.settled() for courier in notifier.couriers))
    running.cancel()
    await asyncio.gather(running, return_exceptions=True)
    assert [each.split(b"/")[0] for each in wire.sent] == [b"s-2"]


_LIMITS: Mapping[str, Any] = {"limit_ms": 1, "rule": "cost", "spent": 6.0, "limit": 5.0}

"""The notifier: reads alerts, lets each sink have them, and commits what all of them have."""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple

from schemas.codec import Decoder, UndecodableError
from streams.alerts.beginning import Beginning
from streams.alerts.episodes import Episodes
from streams.alerts.memory import ProgressTopics, SinkOffsets
from streams.alerts.metrics import NotifyMetrics
from streams.alerts.settings import NotifySettings
from streams.alerts.sink_worker import Clocks, SinkWorker
from streams.alerts.sinks.sink import Alert, Sink
from streams.alerts.transport import Transport
from streams.control.command import MalformedError
from streams.control.label import Labels
from streams.core.domain.event_kind import EventKind
from streams.core.domain.topic import Topic
from streams.core.errors import InfrastructureError
from streams.core.policy.silence import SILENT
from streams.core.policy.spending import ExcessPhase
from streams.kafka.client import Brokers
from streams.kafka.connection import Connection
from streams.kafka.group_reader import GroupReader, group_reader
from streams.kafka.stored import Stored
from streams.observe.stop_signals import all_of

log = logging.getLogger(__name__)

MOST_WAITING: Final = 50_000
"""Deliveries that wait for one sink, before the reading waits too."""
_COMMIT_S: Final = 1.0
_AGAIN_S: Final = 2.0
_FORGET_S: Final = 600.0
_KEEP_AGAIN_S: Final = 86_400.0
"""`notify-state` drops what nobody has written for a month."""
_LAST_S: Final = 10.0
_AT_ONCE: Final = 8
"""Partitions that begin side by side; each has some connections meanwhile."""
_HOUR_MS: Final = 3_600_000
_CHUNK: Final = 1_000
#: The one phase of these kinds that is told: an end is good news, and would open an incident of its own.
_TOLD: Final[Mapping[str, str]] = {EventKind.SILENT_SESSION: SILENT, EventKind.OVERSPENDING: ExcessPhase.OVER}


class _Committed(NamedTuple):
    """What was committed of a partition last, and when its marks were written."""

    offset: int
    marks: SinkOffsets
    kept_s: float


class Notifier:
    """One member of a group of notifiers.

    Args:
        settings: As read at start.
        connection: How to reach the brokers.
        brokers: Connected to the same.
        decoder: Reads values of `session-alerts`.
        sinks: Where each alert is sent.
        transport: Sends the requests of sinks.
        clocks: Gives the times and the random numbers.
        metrics: Counters and gauges of the notifier.
    """

    def __init__(
        self,
        settings: NotifySettings,
        connection: Connection,
        brokers: Brokers,
        decoder: Decoder,
        sinks: Sequence[Sink],
        transport: Transport,
        clocks: Clocks,
        metrics: NotifyMetrics,
    ) -> None:
        self._settings = settings
        self._connection = connection
        self._brokers = brokers
        self._decoder = decoder
        self._clocks = clocks
        self._metrics = metrics
        self._memory = ProgressTopics(brokers, settings.group)
        self._topic = brokers.topic(Topic.SESSION_ALERTS)
        self._beginning = Beginning(settings, connection, brokers, self._memory, self._topic)
        self.couriers: Sequence[SinkWorker] = [
            SinkWorker(sink, transport, self._memory, clocks, metrics.requested) for sink in sinks
        ]
        self._labels = Labels()
        self._labels_known = asyncio.Event()
        self._episodes: dict[int, Episodes] = {}
        self._began: dict[int, SinkOffsets] = {}
        self._committed: dict[int, _Committed] = {}
        self._committing = asyncio.Lock()
        self._reader: GroupReader | None = None
        self._forgot_s = clocks.elapsed_s()
        self.polled_s = clocks.elapsed_s()
        """When the brokers were asked last."""
        metrics.watch(self)

    @property
    def is_ready(self) -> bool:
        """Whether it is a member of its group, and knows the partitions that it was given."""
        return self._reader is not None and self._reader.joined and not self._reader.given

    @property
    def open_episodes(self) -> int:
        """How many episodes are open."""
        return sum(map(len, self._episodes.values()))

    def lag(self) -> Mapping[int, int]:
        """Return by partition how many alerts are not read yet."""
        return {} if self._reader is None else self._reader.lag()

    async def run(self) -> None:
        """Notify until cancelled. What is on the way then has some seconds to arrive.

        Raises:
            EddyError: the brokers do not let this user read or write.
        """
        couriers = [asyncio.create_task(courier.run()) for courier in self.couriers]
        reading = asyncio.create_task(self._read())
        labelling = asyncio.create_task(self._follow_labels())
        try:
            done, _ = await asyncio.wait({reading, labelling, *couriers}, return_when=asyncio.FIRST_COMPLETED)
            for task in done:
                task.result()
        finally:
            labelling.cancel()
            await self._stop(reading, couriers)
            await asyncio.gather(labelling, return_exceptions=True)

    async def _stop(self, reading: asyncio.Task[None], couriers: Sequence[asyncio.Task[None]]) -> None:
        for task in couriers:
            task.cancel()
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(_LAST_S):
                await asyncio.gather(*(courier.settled() for courier in self.couriers))
        reading.cancel()  # commits, and leaves the group
        await asyncio.gather(reading, *couriers, return_exceptions=True)
        await asyncio.gather(*(courier.close() for courier in self.couriers))

    async def _follow_labels(self) -> None:
        """Learn what people say of episodes, for as long as it runs.

        Where this cannot be read, there are alerts all the same: then every one is told.
        """
        place, why = (self._brokers.topic(Topic.SESSION_LABELS), 0), ""
        try:
            if await self._brokers.partition_counts([place[0]]):
                await self._take_labels(place)
            why = f"the brokers have no topic {place[0]}."
        except InfrastructureError as error:
            why = str(error)
        log.warning("Labels are not known, and alerts are told whatever people said of them: %s", why)
        self._labels_known.set()
        await asyncio.Event().wait()  # the others go on

    async def _take_labels(self, place: tuple[str, int]) -> None:
        async with contextlib.aclosing(self._brokers.tail({place: 0})) as tail:
            while True:
                for _, stored in await anext(tail):
                    self._labels.take(stored.key, stored.value)
                if place in tail.ends and tail.positions[place] >= tail.ends[place]:
                    self._labels_known.set()

    async def _labels_read(self) -> None:
        """Wait until the labels are known, or a refuted episode would be told once more."""
        while not self._labels_known.is_set():
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(_AGAIN_S):
                    await self._labels_known.wait()
            self.polled_s = self._clocks.elapsed_s()

    async def _read(self) -> None:
        timeout_s = self._settings.session_timeout_s
        async with group_reader(
            self._connection, self._settings.group, self._topic, self._lost, session_timeout_s=timeout_s
        ) as reader:
            reader.before_loss = self._leave
            self._reader = reader
            try:
                await self._follow(reader)
            finally:
                await self._leave()

    async def _follow(self, reader: GroupReader) -> None:
        committed_s = self._clocks.elapsed_s()
        while True:
            if given := reader.given:
                await self._begin_all(reader, given)
            reader.hold(held=any(each.outbox.waiting >= MOST_WAITING for each in self.couriers))
            await self._take(reader, await reader.poll())
            self.polled_s = self._clocks.elapsed_s()
            if self.polled_s - committed_s >= _COMMIT_S:
                await self._commit(reader)
                committed_s = self.polled_s
            self._forget()

    # -- a partition begins and goes

    async def _begin_all(self, reader: GroupReader, given: Mapping[int, int | None]) -> None:
        """Begin with several partitions at once: each waits for brokers half a dozen times."""
        seats = asyncio.Semaphore(_AT_ONCE)

        async def begin(partition: int, committed: int | None) -> None:
            async with seats:
                await self._begin(reader, partition, committed)

        await all_of(begin(partition, committed) for partition, committed in given.items())

    async def _begin(self, reader: GroupReader, partition: int, committed: int | None) -> None:
        """Learn what is known of a partition, and read it from where it was left.

        The episodes that are open there follow from the alerts before. Brokers that are away are waited for.
        """
        while True:
            await self._labels_read()
            try:
                marks = await self._memory.load(partition)
                if committed is None:
                    marks = await self._beginning.marks(partition, marks)
                    await self._memory.keep_marks(partition, marks, self._now_ms())
                elif marks is None:  # the group is older than what is remembered of it
                    marks = SinkOffsets(0, {})
                if marks.partitions is None:
                    marks = marks._replace(partitions=await self._beginning.partitions())
                start = marks.start if committed is None else committed
                marks = marks._replace(start=min(marks.start, start))
                episodes = await self._history(partition, marks.start, start)
            except InfrastructureError as error:
                log.warning("%s The notifier asks again.", error)
                await asyncio.sleep(_AGAIN_S)
                self.polled_s = self._clocks.elapsed_s()
            else:
                break
        if (partition, committed) not in reader.given.items():
            return  # meanwhile it has gone, or has come back from another member, which told more of it
        self._episodes[partition], self._began[partition] = episodes, marks
        now = self._clocks.elapsed_s()
        for courier in self.couriers:
            name = courier.sink.name
            known = max(start, marks.sinks.get(name, start))
            courier.outbox.start(partition, known, episodes.open(), now, marks.beyond.get(name))
            courier.wake()
        reader.begin(partition, start)
        log.info(
            "Alerts of %s[%s] are sent from offset %s on; %s episodes are open.",
            self._topic,
            partition,
            start,
            len(episodes),
        )
        if committed is None:
            await reader.commit({partition: start})  # or a restart would pass over what comes next

    async def _history(self, partition: int, began: int, stop: int) -> Episodes:
        """Return the episodes that are open at an offset, by the alerts before it."""
        episodes = Episodes()
        if began >= stop:
            return episodes
        since = self._now_ms() - self._settings.notify_history_h * _HOUR_MS
        recent = await self._brokers.offsets_at(self._topic, since)
        first = max(began, recent.get(partition, 0))
        batch: list[Stored] = []
        async for stored in self._brokers.read_range(self._topic, partition, first, stop):
            batch.append(stored)
            if len(batch) >= _CHUNK:
                await self._remember(batch, episodes)
                batch = []
        await self._remember(batch, episodes)
        return episodes

    async def _remember(self, batch: Sequence[Stored], episodes: Episodes) -> None:
        await self._prepare(batch)
        for stored in batch:
            if (alert := self._alert(stored)) is not None:
                refuted = self._labels.refuted(alert.episode_id, stored.timestamp)
                episodes.take(alert, stored.timestamp, refuted=refuted)
        # History may take longer than a notifier may be silent.
        self.polled_s = self._clocks.elapsed_s()

    def _lost(self, partition: int) -> None:
        for courier in self.couriers:
            courier.outbox.stop(partition)
        for known in (self._episodes, self._began, self._committed):
            known.pop(partition, None)

    # -- alerts come in

    async def _take(self, reader: GroupReader, batch: Sequence[Stored]) -> None:
        await self._prepare(batch)
        self._metrics.unreadable(len(reader.unreadable))
        now, now_ms = self._clocks.elapsed_s(), self._now_ms()
        for stored in batch:
            episodes = self._episodes.get(stored.partition)
            if episodes is None or (alert := self._alert(stored)) is None:
                continue
            read_ms = max(now_ms, stored.timestamp)
            refuted = self._labels.refuted(alert.episode_id, read_ms)
            delivery = episodes.take(alert, read_ms, refuted=refuted)
            self._metrics.read(alert.kind, is_new=refuted or delivery is not None)
            if delivery is not None:
                for courier in self.couriers:
                    courier.outbox.add(delivery, now)
        begun = {each: at for each, at in reader.positions().items() if each in self._episodes}
        for courier in self.couriers:
            for partition, position in begun.items():
                courier.outbox.read_to(partition, position)
            courier.wake()

    def _alert(self, stored: Stored) -> Alert | None:
        """Read an alert; None for a kind that nobody wants to hear of, and for what is no alert."""
        try:
            fields = self._decoder.decode(stored.value, stored.headers)
            alert = Alert.of(fields, stored.partition, stored.offset)
        except (UndecodableError, MalformedError) as error:
            self._metrics.unreadable(1)
            log.warning(
                "%s[%s]: the record at offset %s is no alert and is left out: %s.",
                self._topic,
                stored.partition,
                stored.offset,
                error,
            )
            return None
        told = _TOLD.get(alert.kind, alert.phase)
        return alert if alert.phase == told and alert.kind in self._settings.families else None

    async def _prepare(self, batch: Sequence[Stored]) -> None:
        """Let the decoder fetch the schemas it needs; wait for a registry that does not answer."""
        while batch:
            try:
                await self._decoder.prepare([(each.value, each.headers) for each in batch])
            except InfrastructureError as error:
                log.warning("%s The notifier waits for it.", error)
                await asyncio.sleep(_AGAIN_S)
                self.polled_s = self._clocks.elapsed_s()
            else:
                return

    # -- how far it has come

    def _marks(self, partition: int) -> tuple[int, SinkOffsets]:
        """Return the offset that all sinks have reached, and which of them have more."""
        reached = {each.sink.name: each.outbox.mark(partition) for each in self.couriers}
        offset = min(reached.values())
        beyond = {each.sink.name: each.outbox.beyond(partition) for each in self.couriers}
        return offset, self._began[partition]._replace(
            sinks={name: mark for name, mark in reached.items() if mark > offset},
            beyond={name: found for name, found in beyond.items() if found is not None},
        )

    async def _commit(self, reader: GroupReader) -> None:
        """Commit what all sinks have, and remember which of them have more: they get nothing twice."""
        async with self._committing:  # or what is older might be written last
            for partition in list(self._episodes):
                if partition not in self._episodes:
                    continue  # it went to another member while the brokers were waited for
                offset, marks = self._marks(partition)
                before, now = self._committed.get(partition), self._clocks.elapsed_s()
                is_kept = before is not None and before.marks == marks and now < before.kept_s + _KEEP_AGAIN_S
                if before is not None and is_kept and before.offset == offset:
                    continue
                if not is_kept:
                    await self._memory.keep_marks(partition, marks, self._now_ms())
                kept_s = before.kept_s if before is not None and is_kept else now
                if partition in self._episodes and await reader.commit({partition: offset}):
                    self._committed[partition] = _Committed(offset, marks, kept_s)

    async def _leave(self) -> None:
        """Commit before partitions go; brokers that are away are not waited for for long."""
        if self._reader is not None:
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(_LAST_S):
                    await self._commit(self._reader)

    def _forget(self) -> None:
        """Forget sessions of which nothing was heard for long: whoever watched them does so no more."""
        if self._clocks.elapsed_s() - self._forgot_s < _FORGET_S:
            return
        self._forgot_s = self._clocks.elapsed_s()
        before = self._now_ms() - self._settings.notify_history_h * _HOUR_MS
        for episodes in self._episodes.values():
            gone = episodes.forget(before)
            for courier in self.couriers:
                courier.outbox.forget(gone)

    def _now_ms(self) -> int:
        return round(self._clocks.now_s() * 1000)

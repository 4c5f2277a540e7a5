"""Reading a topic as a member of a consumer group, whose owner decides where each partition begins."""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator, Awaitable, Callable, Collection, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import Final

from aiokafka import TopicPartition
from aiokafka.abc import ConsumerRebalanceListener
from aiokafka.errors import CommitFailedError, IllegalStateError, KafkaError, TopicAuthorizationFailedError
from aiokafka.structs import OffsetAndMetadata

from streams.core.domain.record import Unreadable
from streams.core.errors import InfrastructureError
from streams.kafka.connection import READ_COMMITTED, Connection
from streams.kafka.patches.bootstrap import stop_wholly
from streams.kafka.patches.careful_fetch import CarefulConsumer
from streams.kafka.patches.fetching import fetch_positions
from streams.kafka.patches.group_consumer import committed_offsets, raise_error
from streams.kafka.stored import Stored, answered, readable

log = logging.getLogger(__name__)

_POLL_MS: Final = 500
_MOST_RECORDS: Final = 2_000
_LONGEST_PAUSE_MS: Final = 900_000
"""Between two polls: a start may read days of history."""


class GroupReader:
    """A member of a group. Use `group_reader`.

    A partition that it was given waits, until `begin` says from where it is read.

    Attributes:
        unreadable: Partitions and records that the newest poll could not read.
    """

    def __init__(self, consumer: CarefulConsumer, topic: str, lost: Callable[[int], None]) -> None:
        self._consumer = consumer
        self._topic = topic
        self._lost = lost
        self._given: dict[int, int | None] = {}
        self._begun: set[int] = set()
        self._held = False
        self.unreadable: list[tuple[int, Unreadable]] = []
        self.before_loss: Callable[[], Awaitable[None]] = _nothing
        """Called before partitions go: the last time to commit."""
        self.joined = False
        """Whether the group has assigned partitions to this member, were it none."""

    @property
    def given(self) -> Mapping[int, int | None]:
        """Partitions that wait for `begin`, each with its committed offset, None where there is none."""
        return dict(self._given)

    def begin(self, partition: int, offset: int) -> None:
        """Read a partition from an offset on."""
        tp = TopicPartition(self._topic, partition)
        self._consumer.seek(tp, offset)
        del self._given[partition]
        self._begun.add(partition)
        if not self._held:
            self._consumer.resume(tp)

    def hold(self, *, held: bool) -> None:
        """Read nothing for a while, and stay a member; or go on."""
        if held is self._held:
            return
        self._held = held
        change = self._consumer.pause if held else self._consumer.resume
        change(*(TopicPartition(self._topic, partition) for partition in self._begun))

    async def poll(self) -> list[Stored]:
        """Return the next records, none if there are none for half a second.

        Raises:
            InfrastructureError: the brokers do not let this user read.
        """
        self.unreadable = []
        try:
            raise_error(self._consumer)
            fetched: Mapping[TopicPartition, Sequence[Stored | Unreadable]] = await self._consumer.getmany(
                timeout_ms=_POLL_MS, max_records=_MOST_RECORDS
            )
        except TopicAuthorizationFailedError as error:
            raise InfrastructureError(
                f"The brokers do not let this user read {error}. Allow Read and Describe on it."
            ) from error
        except KafkaError as error:
            raise InfrastructureError(
                f"The brokers do not let this user read {self._topic} in its group: {error!r}."
            ) from error
        for tp, records in fetched.items():
            self.unreadable += [(tp.partition, each) for each in records if isinstance(each, Unreadable)]
        return [record for tp in fetched if tp.partition in self._begun for record in readable(tp, fetched)]

    def positions(self) -> dict[int, int]:
        """Return by partition the offset after what the polls have returned."""
        tps = [TopicPartition(self._topic, partition) for partition in self._begun]
        return {tp.partition: at for tp, at in fetch_positions(self._consumer, tps).items()}

    def lag(self) -> dict[int, int]:
        """Return by partition how many records are not read yet, as the newest fetch told."""
        found = {}
        for partition, position in self.positions().items():
            end = self._consumer.last_stable_offset(TopicPartition(self._topic, partition))
            found[partition] = max(0, (end or 0) - position)
        return found

    async def commit(self, offsets: Mapping[int, int]) -> bool:
        """Commit offsets; return False if the brokers do not take them now, or the group has changed."""
        ours = {
            TopicPartition(self._topic, partition): OffsetAndMetadata(offset, "")
            for partition, offset in offsets.items()
            if partition in self._begun
        }
        if not ours:
            return True
        try:
            await self._consumer.commit(ours)
        except (CommitFailedError, IllegalStateError):
            return False  # another member has them, and its own offsets
        except KafkaError as error:
            log.warning(
                "The offsets of %s were not committed (%r). They are committed again.", self._topic, error
            )
            return False
        return True

    async def take(self, partitions: Collection[TopicPartition]) -> None:
        """Take partitions that the group has given to this member."""
        self._consumer.pause(*partitions)
        committed = await committed_offsets(self._consumer, partitions) if partitions else {}
        for tp in partitions:
            self._given[tp.partition] = committed[tp].offset if tp in committed else None
        self.joined = True

    async def release(self, partitions: Collection[TopicPartition]) -> None:
        """Give partitions back."""
        await self.before_loss()
        for tp in partitions:
            self._given.pop(tp.partition, None)
            if tp.partition in self._begun:
                self._begun.discard(tp.partition)
                self._lost(tp.partition)


async def _nothing() -> None:
    """Commit nothing."""


class _Listener(ConsumerRebalanceListener):  # type: ignore[misc]  # aiokafka has no types
    def __init__(self, reader: GroupReader) -> None:
        self._reader = reader

    async def on_partitions_revoked(self, revoked: Collection[TopicPartition]) -> None:
        await self._reader.release(revoked)

    async def on_partitions_assigned(self, assigned: Collection[TopicPartition]) -> None:
        await self._reader.take(assigned)


@asynccontextmanager
async def group_reader(
    connection: Connection, group: str, topic: str, lost: Callable[[int], None], *, session_timeout_s: float
) -> AsyncIterator[GroupReader]:
    """Be a member of a group as long as the block lasts.

    Args:
        connection: How to reach the brokers.
        group: Id of the consumer group.
        topic: The topic, as it is called on these brokers.
        lost: Called with each partition that was begun and has gone to another member.
        session_timeout_s: After this silence the group takes the partitions away.

    Raises:
        InfrastructureError: the brokers do not answer, or do not let this user in.
    """
    consumer = CarefulConsumer(
        max_batch_bytes=connection.max_batch_bytes,
        **connection.consumer_options(),
        group_id=group,
        enable_auto_commit=False,
        auto_offset_reset="earliest",
        isolation_level=READ_COMMITTED,
        fetch_max_wait_ms=100,
        max_poll_interval_ms=_LONGEST_PAUSE_MS,
        session_timeout_ms=round(session_timeout_s * 1000),
        heartbeat_interval_ms=round(session_timeout_s * 1000 / 5),
    )
    with answered(f"who coordinates {group}"):
        try:
            await consumer.start()
        except BaseException:
            await stop_wholly(consumer.stop())
            raise
    try:
        reader = GroupReader(consumer, topic, lost)
        consumer.subscribe([topic], listener=_Listener(reader))
        yield reader
    finally:
        await stop_wholly(consumer.stop())

"""A consumer that no record and no batch can stop.

aiokafka unpacks what a broker answers with a reader of its own, which has no limit and ends with the first
error. `read_carefully` puts `Batches` in that reader's place. Which batches count (no markers, nothing of
aborted transactions) is still aiokafka's to say, and so are positions.

aiokafka also makes an object of eleven fields of every record, which is half of what a restore costs. With
`together` a poll returns batches as they came, compressed. The code that iterates over a batch unpacks it, in
the thread where that happens.

A copy in the consumer's own zone may not have yet what its leader has handed out (KIP-392), and calls the
position out of range. aiokafka would begin again at the first record there is. So the leader is asked, see
`_Answers`.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final

from aiokafka import AIOKafkaConsumer
from aiokafka.errors import CorruptRecordException, NotLeaderForPartitionError, OffsetOutOfRangeError
from aiokafka.protocol.fetch import FetchRequest
from aiokafka.structs import TopicPartition

from streams.core.domain.record import Unreadable
from streams.kafka.patches.fetching import Assignment, FetchStage, hook_fetch
from streams.kafka.patches.record_batches import MAX_BATCH_BYTES, Batches, BatchWatch, CheckedBatch
from streams.kafka.stored import Stored

#: Records that a poll returns at most: a batch of some kilobytes may hold millions that have no value.
_MOST_RECORDS: Final = 50_000

#: Before a batch whose checksum was wrong is fetched again.
_PAUSE_SECONDS: Final = 0.5


class WholeBatch:
    """A batch in the place of its records; iterating over it unpacks it.

    The iteration raises `DamagedBatchError`, `LargeBatchError`, or what aiokafka's reader comes across.
    """

    __slots__ = ("_batch", "offset")

    def __init__(self, batch: CheckedBatch) -> None:
        self._batch = batch
        self.offset = batch.next_offset - 1

    def __iter__(self) -> Iterator[Any]:
        records: Iterator[Any] = self._batch.unpacked()
        return records


class _Together:
    """Yields a batch itself where aiokafka expects its records."""

    __slots__ = ("_batch",)

    def __init__(self, batch: CheckedBatch) -> None:
        self._batch = batch

    def __getattr__(self, name: str) -> Any:
        return getattr(self._batch, name)

    def __iter__(self) -> Iterator[WholeBatch]:
        return iter((WholeBatch(self._batch),))

    def __next__(self) -> Any:
        return next(self._batch)


class _TogetherBatches(Batches):
    def next_batch(self) -> Any:
        return _Together(super().next_batch())


class _Answers:
    """The client of a fetcher.

    It keeps the bytes that brokers answer, which aiokafka does not hand out. Where a copy calls a position
    out of range, it says that another broker leads: aiokafka then asks the leader.
    """

    def __init__(self, client: Any) -> None:
        self._client = client
        self._raw: dict[TopicPartition, bytes] = {}

    def __getattr__(self, name: str) -> Any:
        return getattr(self._client, name)

    async def send(self, node_id: int, request: Any) -> Any:
        answer = await self._client.send(node_id, request)
        if isinstance(request, FetchRequest):
            for topic, partitions in answer.topics:
                for place, (partition, error, *rest) in enumerate(partitions):
                    tp = TopicPartition(topic, partition)
                    self._raw[tp] = rest[-1]
                    if error == OffsetOutOfRangeError.errno and not self._leads(node_id, tp):
                        partitions[place] = (partition, NotLeaderForPartitionError.errno, *rest)
        return answer

    def _leads(self, node_id: int, tp: TopicPartition) -> bool:
        leader: int | None = self._client.cluster.leader_for_partition(tp)
        return leader == node_id

    def take(self, tp: TopicPartition) -> Any:
        return self._raw.pop(tp, None)


def _received(tp: TopicPartition, record: Any) -> Stored | Unreadable:
    if record.__class__ is Unreadable:
        unreadable: Unreadable = record
        return unreadable
    return Stored(
        tp.partition, record.offset, record.timestamp, record.key, record.value, tuple(record.headers)
    )


def _itself(_tp: TopicPartition, batch: WholeBatch) -> WholeBatch:
    return batch


def read_carefully(consumer: Any, watch: BatchWatch) -> FetchStage:
    """Let a started ``AIOKafkaConsumer`` return `Stored` records, and `Unreadable` where it cannot read one.

    Args:
        consumer: Not assigned anything yet.
        watch: Limits what a batch may hold, and what a poll unpacks before it leaves the rest to the next.

    Returns:
        The stage that `hook_fetch` needs for it.
    """
    fetcher = consumer._fetcher
    poll = fetcher.fetched_records
    answers = fetcher._client = _Answers(fetcher._client)

    def replace_reader(assignment: Assignment, tp: TopicPartition, position: int) -> None:
        raw, fetched = answers.take(tp), fetcher._records.get(tp)
        records = getattr(fetched, "_partition_records", None)
        if raw is None or records is None or isinstance(records._records, Batches):
            return
        end = assignment.state_value(tp).highwater
        kind = _TogetherBatches if watch.together else Batches
        records._records = kind(tp, raw, position, end, watch)
        records._consumer_record = _itself if watch.together else _received
        if not records._records.has_batch():
            fetcher._set_error(tp, CorruptRecordException(f"no batch of {tp} begins at offset {position}"))
        _wait_when_full(fetched, watch)

    def stage(assignment: Assignment, positions: Mapping[TopicPartition, int]) -> Callable[[], None]:
        def replace_readers() -> None:
            for tp, position in positions.items():
                replace_reader(assignment, tp, position)

        return replace_readers

    async def poll_carefully(partitions: Any, timeout: float = 0, max_records: int | None = None) -> Any:  # noqa: ASYNC109 - aiokafka's own signature
        watch.unpacked = 0
        if watch.try_again:
            watch.try_again = False
            await asyncio.sleep(_PAUSE_SECONDS)
        return await poll(partitions, timeout, max_records or _MOST_RECORDS)

    fetcher.fetched_records = poll_carefully
    return stage


def _wait_when_full(fetched: Any, watch: BatchWatch) -> None:
    """Leave what was fetched of a partition to the next poll, where this one has unpacked enough."""
    unpack = fetched.getall

    def unpack_unless_full(max_records: int | None = None) -> list[Any]:
        return [] if watch.full else unpack(max_records)

    fetched.getall = unpack_unless_full


class CarefulConsumer(AIOKafkaConsumer):  # type: ignore[misc]  # aiokafka has no types
    """A consumer outside the group; see `read_carefully`."""

    def __init__(self, *, max_batch_bytes: int = MAX_BATCH_BYTES, **options: Any) -> None:
        super().__init__(**options)
        self._max_batch_bytes = max_batch_bytes
        self._watch: BatchWatch | None = None

    async def start(self) -> None:
        """Connect."""
        try:
            await super().start()
        except BaseException:  # cancelled, too: a client that was not stopped complains when it is collected
            await self.stop()
            raise
        self._watch = BatchWatch(self._max_batch_bytes)
        hook_fetch(self, read_carefully(self, self._watch))

    def deliver_batches(self) -> None:
        """Return whole batches from now on, each an iterable of records.

        A batch may begin before the position of the consumer, so the reader has to check the offsets.
        """
        assert self._watch is not None, "it is not started"
        self._watch.together = True

"""Records in the batches they were written in, for a reader of millions.

aiokafka unpacks a fetch in the event loop and makes an object of eleven fields of every record, which is
half of what a restore costs. With `deliver_batches` ``getmany`` returns batches as they came, compressed;
whoever iterates over one unpacks it, in the thread where that happens. Which batches count (no markers,
nothing of aborted transactions) is still aiokafka's to tell, and so are positions.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any


class _Batch:
    """A batch that yields itself where aiokafka expects its records."""

    __slots__ = ("_batch", "offset")

    def __init__(self, batch: Any) -> None:
        self._batch = batch
        self.offset = batch.next_offset - 1

    def __getattr__(self, name: str) -> Any:
        return getattr(self._batch, name)

    def __iter__(self) -> Iterator[Any]:
        return iter((self,))

    def __next__(self) -> Any:
        return next(self._batch)  # the one record of a marker, which aiokafka reads itself

    @property
    def records(self) -> Any:
        """The records, to be iterated over once."""
        return self._batch


class _Batches:
    __slots__ = ("_fetched", "has_next")

    def __init__(self, fetched: Any) -> None:
        self._fetched = fetched
        self.has_next = fetched.has_next

    def next_batch(self) -> _Batch:
        return _Batch(self._fetched.next_batch())


def _records_of(_tp: Any, batch: _Batch) -> Any:
    return batch.records


def deliver_batches(consumer: Any) -> None:
    """Let a started ``AIOKafkaConsumer`` return whole batches, each an iterable of records.

    A batch may begin before the position of the consumer, so the reader has to look at the offsets.
    """
    fetcher = consumer._fetcher  # noqa: SLF001 - aiokafka has no hook for this
    fetch = fetcher._proc_fetch_request  # noqa: SLF001
    if getattr(fetch, "__name__", "") == "fetch_batches":
        return

    async def fetch_batches(assignment: Any, node_id: int, request: Any) -> Any:
        outcome = await fetch(assignment, node_id, request)
        for fetched in fetcher._records.values():  # noqa: SLF001
            records = getattr(fetched, "_partition_records", None)
            if records is not None and not isinstance(records._records, _Batches):  # noqa: SLF001
                records._records = _Batches(records._records)  # noqa: SLF001
                records._consumer_record = _records_of  # noqa: SLF001
        return outcome

    fetcher._proc_fetch_request = fetch_batches  # noqa: SLF001

"""A part of a topic, as the options of a command name it: from where to where, in which partitions."""

from __future__ import annotations

import re
from collections.abc import AsyncGenerator, Iterable, Mapping, Sequence
from contextlib import aclosing
from datetime import UTC, datetime
from typing import NamedTuple

import click

from streams.core.errors import ConfigurationError
from streams.kafka.client import Brokers, Stored

_OFFSET = re.compile(r"(?:(?P<partition>[0-9]+):)?(?P<offset>[0-9]+)")


class Bound(NamedTuple):
    """One end of a range: an offset, of one partition or of each, or a time in ms since 1970."""

    partition: int | None
    offset: int | None
    time: int | None


def bound(text: str) -> Bound:
    """Read an end of a range.

    Raises:
        ValueError: it is neither OFFSET, nor PARTITION:OFFSET, nor a time of ISO 8601.

    >>> bound("1200"), bound("3:1200")
    (Bound(partition=None, offset=1200, time=None), Bound(partition=3, offset=1200, time=None))
    >>> bound("2026-01-01T00:00Z").time
    1767225600000
    """
    found = _OFFSET.fullmatch(text)
    if found is not None:
        partition = found["partition"]
        return Bound(None if partition is None else int(partition), int(found["offset"]), None)
    moment = datetime.fromisoformat(text)
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=UTC)
    return Bound(None, None, round(moment.timestamp() * 1000))


class BoundType(click.ParamType):
    """An end of a range on the command line."""

    name = "bound"

    def convert(self, value: object, param: click.Parameter | None, ctx: click.Context | None) -> Bound:
        """Read it, or say what it may be."""
        if isinstance(value, Bound):
            return value
        try:
            return bound(str(value))
        except ValueError:
            self.fail(
                f"{value!r} is no OFFSET, PARTITION:OFFSET or time such as 2026-01-31T08:00Z.", param, ctx
            )


class TopicRange(NamedTuple):
    """A part of a topic. If a partition has several bounds, the last one counts."""

    topic: str
    starts: Sequence[Bound]
    stops: Sequence[Bound]

    async def records(self, brokers: Brokers) -> AsyncGenerator[Stored]:
        """Yield the records, partition after partition, each in the order of its offsets.

        Without a start from the beginning, without a stop to what is the end when the partition is reached.
        What only other partitions are named for is left out: ``3:1200`` alone reads partition 3.

        Raises:
            InfrastructureError: there is no such topic.
        """
        counts = await brokers.partition_counts([self.topic])
        if self.topic not in counts:
            raise ConfigurationError(f"There is no topic {self.topic}. Check the name and the brokers.")
        partitions = range(counts[self.topic])
        starts = await self._offsets(brokers, self.starts, partitions)
        stops = await self._offsets(brokers, self.stops, partitions)
        for partition in partitions:
            if self._is_wanted(partition):
                start, stop = starts.get(partition, 0), stops.get(partition)
                async with aclosing(brokers.read_range(self.topic, partition, start, stop)) as records:
                    async for stored in records:
                        yield stored

    def _is_wanted(self, partition: int) -> bool:
        named = {each.partition for each in (*self.starts, *self.stops)} - {None}
        return not named or partition in named

    async def _offsets(
        self, brokers: Brokers, bounds: Sequence[Bound], partitions: Iterable[int]
    ) -> Mapping[int, int]:
        found: dict[int, int] = {}
        for each in bounds:
            if each.time is not None:
                found |= await brokers.offsets_at(self.topic, each.time)
            elif each.offset is not None:
                named = partitions if each.partition is None else [each.partition]
                found |= dict.fromkeys(named, each.offset)
        return found

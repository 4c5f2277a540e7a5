"""Which dead letters: by reason, by what is wrong, by session, by place."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import AsyncGenerator, Callable, Iterable
from contextlib import aclosing
from typing import Any, NamedTuple

from schemas.reason import UndecodableError
from streams.core.domain.topic import Topic
from streams.kafka.client import Brokers, Stored
from streams.operate.redrive.letter import DeadLetter
from streams.worker.batch import key_text


async def letters_at(brokers: Brokers, places: Iterable[tuple[int, int]]) -> AsyncGenerator[Stored]:
    """Yield the records at some places of the dead-letter topic, as far as they are there, in their order.

    Args:
        brokers: Where the topic is.
        places: Partition and offset of each.
    """
    named: dict[int, set[int]] = defaultdict(set)
    for partition, offset in places:
        named[partition].add(offset)
    topic = brokers.topic(Topic.DEAD_LETTERS)
    partitions = (await brokers.partition_counts([topic])).get(topic, 0)
    for partition, offsets in sorted(named.items()):
        if partition < partitions:
            async with aclosing(_of_partition(brokers, topic, partition, offsets)) as records:
                async for stored in records:
                    yield stored


async def _of_partition(
    brokers: Brokers, topic: str, partition: int, offsets: set[int]
) -> AsyncGenerator[Stored]:
    missing = set(offsets)
    async with aclosing(brokers.read_range(topic, partition, min(offsets), max(offsets) + 1)) as records:
        async for stored in records:
            if stored.offset in missing:
                missing.discard(stored.offset)
                yield stored
    if not missing:
        return
    # Some brokers say that a partition ends inside its last batch: from the beginning they give it all.
    async with aclosing(brokers.read(topic, [partition])) as records:
        async for stored in records:
            if stored.offset in missing:
                yield stored


Decode = Callable[[DeadLetter], dict[str, Any]]
"""Reads the value of a letter; raises `UndecodableError`."""


class Selection(NamedTuple):
    """What a letter has to be. Nothing given, all are; of several reasons or problems one is enough."""

    reasons: frozenset[str] = frozenset()
    problems: frozenset[str] = frozenset()
    session: str | None = None
    places: frozenset[tuple[int, int]] = frozenset()
    """Partition and offset in the dead-letter topic."""

    def has(self, letter: DeadLetter, decode: Decode) -> bool:
        """Return whether the letter is one of them. The value is read for ``session`` alone."""
        if self.places and (letter.partition, letter.offset) not in self.places:
            return False
        if self.reasons and letter.counted_as not in self.reasons:
            return False
        if self.problems and self.problems.isdisjoint(letter.problems):
            return False
        return self.session is None or self.session in _sessions(letter, decode)


def _sessions(letter: DeadLetter, decode: Decode) -> set[object]:
    """Return the sessions a letter may belong to: its key says one, its value perhaps another."""
    found: set[object] = {key_text(letter.key)}
    try:
        named = decode(letter).get("session_id")
    except UndecodableError:
        return found
    return found | {named} if isinstance(named, str) else found

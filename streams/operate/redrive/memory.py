"""What was sent again already: marks on a compacted topic, by the place where the message stood at first.

Two letters of the same message, as a crash of a worker or a second job leaves them, are one message here.
A mark is written twice: ``begun`` before a message is sent, ``done`` when the broker has it. If two runs
begin with the same message at the same time, the one whose mark comes first continues.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

import orjson

from streams.core.domain.record import Outgoing
from streams.core.domain.topic import Topic
from streams.core.errors import ConfigurationError
from streams.kafka.client import Brokers


class Mark(NamedTuple):
    """How far sending a message again has come. ``times`` counts from 1, ``run`` names who does it."""

    run: str
    times: int
    done: bool


class RedriveMarks:
    """The marks of one partition of the source topic, by offset.

    >>> marks = RedriveMarks()
    >>> marks.apply(17, Mark("a", 1, done=False))
    >>> marks.apply(17, Mark("b", 1, done=False))
    >>> marks.of(17)
    Mark(run='a', times=1, done=False)
    """

    def __init__(self) -> None:
        self._marks: dict[int, Mark] = {}
        self._same: dict[Mark, Mark] = {}

    def of(self, offset: int) -> Mark | None:
        """Return the mark of the message at ``offset``, None where there is none."""
        return self._marks.get(offset)

    def apply(self, offset: int, mark: Mark) -> None:
        """Take in one mark; one that came second, or that is not the next, changes nothing."""
        now = self._marks.get(offset)
        if now is not None:
            is_end = mark.done and not now.done and mark[:2] == now[:2]
            if not is_end and mark.times <= now.times:
                return
        # Thousands of messages have equal marks: each is kept once.
        self._marks[offset] = self._same.setdefault(mark, mark)


class RedriveMemory:
    """The marks on the topic, of one partition of the source topic.

    Args:
        brokers: Where the topic is.
        partition: The partition of the source topic.
    """

    def __init__(self, brokers: Brokers, partition: int) -> None:
        self._brokers = brokers
        self.partition = partition
        self.marks = RedriveMarks()
        self.was_read = False
        self._position = 0

    async def catch_up(self) -> None:
        """Read what was marked since the last time.

        Raises:
            InfrastructureError: the topic is missing.
        """
        self.was_read = True
        records = self._brokers.read_range(
            self._brokers.topic(Topic.REDRIVEN), self.partition, self._position
        )
        async for record in records:
            self._position = record.offset + 1
            for offset, mark in read_mark(record.key, record.value):
                self.marks.apply(offset, mark)

    async def write(self, marks: Sequence[tuple[int, Mark]], timestamp: int) -> None:
        """Write marks, and return when the brokers have them."""
        rows = [(self.partition, mark_record(self.partition, *each, timestamp)) for each in marks]
        await self._brokers.write(self._brokers.topic(Topic.REDRIVEN), rows)


async def opened(brokers: Brokers) -> int:
    """Return the number of partitions of the topic of marks.

    Raises:
        ConfigurationError: there is none.
    """
    name = brokers.topic(Topic.REDRIVEN)
    counts = await brokers.partition_counts([name])
    if name not in counts:
        raise ConfigurationError(
            f"There is no topic {name}, which remembers what was redriven. Create the topics "
            "with `eddy topics apply`."
        )
    return counts[name]


_KEY_PARTS: Final = 3


def mark_record(partition: int, offset: int, mark: Mark, timestamp: int) -> Outgoing:
    """Return the record of a mark.

    >>> mark_record(3, 17, Mark("a", 1, done=False), 0)[:2]
    (b'decision-logs/3/17', b'{"run":"a","times":1,"done":false}')
    """
    key = f"{Topic.DECISION_LOGS}/{partition}/{offset}".encode()
    return Outgoing(key, orjson.dumps(mark._asdict()), timestamp)


def read_mark(key: bytes | None, value: bytes | None) -> Iterator[tuple[int, Mark]]:
    """Yield the offset and the mark of a record; nothing where it is no mark.

    >>> list(read_mark(b"decision-logs/3/17", b'{"run":"a","times":1,"done":true}'))
    [(17, Mark(run='a', times=1, done=True))]
    >>> list(read_mark(b"decision-logs/3/17", b"{}"))
    []
    """
    parts = (key or b"").split(b"/")
    if len(parts) != _KEY_PARTS or not parts[2].isdigit():
        return
    try:
        content = orjson.loads(value or b"")
    except ValueError:
        return
    match content:
        case {"run": str(run), "times": int(times), "done": bool(done)}:
            yield int(parts[2]), Mark(run, times, done)

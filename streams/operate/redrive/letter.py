"""A record of the dead-letter topic, read back: the message as it came, and what was wrong with it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, NamedTuple

from schemas.reason import Reason
from streams.core.domain.record import Headers
from streams.core.domain.run import StoredRecord
from streams.worker.dead_letter import CUT, FIRST_OF_OURS, RAW

#: How often the message was sent again; the one header that a message gets when it is.
REDRIVE_COUNT: Final = "x-redrive-count"

#: What a letter is counted under that gives none of Eddy's reasons.
OTHER: Final = "other"


class RecordPlace(NamedTuple):
    """A record of a topic."""

    topic: str
    partition: int
    offset: int


class DeadLetter(NamedTuple):
    """A message that was set aside.

    ``timestamp`` is the Kafka timestamp that the message had, in ms. ``headers`` are the message's own.
    ``source`` is where it stood, None where the headers do not say: Eddy did not write it. Texts come from
    headers, which anybody may write.
    """

    partition: int
    offset: int
    timestamp: int
    key: bytes | None
    value: bytes | None
    headers: Headers
    source: RecordPlace | None
    stage: str
    reason: str
    problems: tuple[str, ...]
    detail: str
    group: str
    version: str
    cut: str = ""
    """What of the message is not in the letter, empty when all of it is."""
    raw: str = ""
    """What the value is if it is no message: `record` or `batch`, as Kafka stores them."""

    @property
    def counted_as(self) -> str:
        """The reason, or `OTHER` where it is none of Eddy's: that bounds how many there are."""
        return self.reason if self.reason in _REASONS else OTHER

    @property
    def redrives(self) -> int:
        """How often the message had been sent again when it was set aside."""
        return redrives(self.headers)

    @property
    def size(self) -> int:
        """Bytes of the message, headers included."""
        own = sum(len(name) + len(content or b"") for name, content in self.headers)
        return len(self.key or b"") + len(self.value or b"") + own


_REASONS = frozenset(map(str, Reason))


def read(record: StoredRecord) -> DeadLetter:
    """Read a record of the dead-letter topic; any record can be read.

    A message may have headers of these names itself, from an earlier dead-letter topic: what Eddy says is
    the last of them.
    """
    headers = list(record.headers)
    names = [name for name, _ in headers]
    at = len(names) - 1 - names[::-1].index(FIRST_OF_OURS) if FIRST_OF_OURS in names else len(names)
    said = {name: (content or b"").decode("utf-8", "replace") for name, content in headers[at:]}
    problems = said.get("x-dlq-problems", "")
    return DeadLetter(
        partition=record.partition,
        offset=record.offset,
        timestamp=record.timestamp,
        key=record.key,
        value=record.value,
        headers=headers[:at],
        source=_source(said),
        stage=said.get("x-dlq-stage", ""),
        reason=said.get("x-dlq-reason", ""),
        problems=tuple(problems.split(",")) if problems else (),
        detail=said.get("__streams.errors.message", ""),
        group=said.get("x-dlq-consumer-group", ""),
        version=said.get("x-dlq-app-version", ""),
        cut=said.get(CUT, ""),
        raw=said.get(RAW, ""),
    )


def redrives(headers: Sequence[tuple[str, bytes | None]]) -> int:
    """Return what the header says of how often a message was sent again; 0 where it says nothing usable.

    >>> redrives([("x-redrive-count", b"2")]), redrives([("x-redrive-count", b"?")])
    (2, 0)
    """
    return max(
        (
            _number((content or b"").decode("ascii", "replace")) or 0
            for name, content in headers
            if name == REDRIVE_COUNT
        ),
        default=0,
    )


def redriven_headers(headers: Headers) -> Headers:
    """Return the headers a message is sent again with: its own, and how often that has happened.

    >>> redriven_headers([("traceparent", b"00-1"), ("x-redrive-count", b"1")])
    [('traceparent', b'00-1'), ('x-redrive-count', b'2')]
    """
    own = [(name, content) for name, content in headers if name != REDRIVE_COUNT]
    return [*own, (REDRIVE_COUNT, b"%d" % (redrives(headers) + 1))]


def _source(said: dict[str, str]) -> RecordPlace | None:
    topic = said.get("__streams.errors.topic")
    partition = _number(said.get("__streams.errors.partition", ""))
    offset = _number(said.get("__streams.errors.offset", ""))
    if not topic or partition is None or offset is None:
        return None
    return RecordPlace(topic, partition, offset)


def _number(text: str) -> int | None:
    """Read a number of at most 19 digits, as offsets have."""
    return int(text) if text.isascii() and text.isdigit() and len(text) < 20 else None

"""The headers of a dead letter: where it came from and what was wrong with it.

A dead letter is the original key and bytes plus these headers. The names ``__streams.errors.*`` are those
of Kafka's KIP-1034, which tools show already; ``x-dlq-*`` are ours. Nothing here depends on the clock or
carries text of the message, so a replay gives the same bytes and no secret gets into a header.

A message that is larger than the topic takes is cut: a letter that cannot be written would stop its partition
for ever. `CUT` says so, and what is missing is still where the message came from.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum, unique
from typing import Final

from schemas.reason import Reason, UndecodableError
from streams.core.domain.record import Outgoing, Unreadable
from streams.core.domain.validation import FUTURE_PROBLEM, KEY_PROBLEM

Headers = tuple[tuple[str, bytes | None], ...]

#: The header of a letter that does not hold all of its message: what was cut, and how many bytes that had.
CUT: Final = "x-dlq-cut"

#: The header of a letter whose value is no message: whether it is a `Raw` record or batch.
RAW: Final = "x-dlq-raw"

#: The header of a letter that represents more than one offset: the first and the last one.
OFFSETS: Final = "x-dlq-offsets"

#: What a record takes besides its key, value and headers; that of a batch of one record included.
_OVERHEAD: Final = 256
_HEADER_OVERHEAD: Final = 8

#: The first of the headers that Eddy puts behind those of the message.
FIRST_OF_OURS: Final = "__streams.errors.exception"


@unique
class Stage(StrEnum):
    """How far the message got; the value of the header ``x-dlq-stage``."""

    DECODE = "decode"
    VALIDATE = "validate"


@dataclass(frozen=True, slots=True)
class LetterSource:
    """Where the message came from, with the headers it had."""

    topic: str
    partition: int
    offset: int
    headers: Sequence[tuple[str, bytes | None]] = ()


_VALIDATED = frozenset({Reason.SCHEMA_VIOLATION, Reason.KEY, Reason.FUTURE})


def reason_for(problems: Sequence[str]) -> Reason:
    """Return the one word for the problem list of a rejected record (specification 2.2).

    >>> reason_for(["meta.timestamp:future"])
    <Reason.FUTURE: 'future'>
    >>> reason_for(["key", "action.status"])
    <Reason.SCHEMA_VIOLATION: 'schema_violation'>
    """
    match list(problems):
        case [only] if only == KEY_PROBLEM:
            return Reason.KEY
        case [only] if only == FUTURE_PROBLEM:
            return Reason.FUTURE
        case _:
            return Reason.SCHEMA_VIOLATION


def undecodable_headers(
    source: LetterSource, error: UndecodableError, *, group: str, version: str
) -> Headers:
    """Return the headers of a message that could not be read."""
    return dead_letter_headers(source, error.reason, error.detail, (), group=group, version=version)


def rejected_headers(
    source: LetterSource, problems: Sequence[str], detail: str, *, group: str, version: str
) -> Headers:
    """Return the headers of a record that was read but is not valid.

    ``problems`` are field paths, ``detail`` says what is wrong with them
    (`streams.core.domain.validation`).
    """
    return dead_letter_headers(source, reason_for(problems), detail, problems, group=group, version=version)


def unreadable_reason(record: Unreadable) -> Reason:
    """Return the one word for a record that the Kafka client cannot read."""
    return Reason.OVERSIZE if record.batch_bytes else Reason.UNREADABLE


def unreadable_headers(source: LetterSource, record: Unreadable, *, group: str, version: str) -> Headers:
    """Return the headers of a record that the Kafka client cannot read, and of what its value is.

    >>> from streams.core.domain.record import RawKind
    >>> source, record = (
    ...     LetterSource("decision-logs", 0, 7),
    ...     Unreadable(7, 0, "?", value=b"", raw=RawKind.BATCH, last=9),
    ... )
    >>> unreadable_headers(source, record, group="eddy", version="1")[-2:]
    (('x-dlq-raw', b'batch'), ('x-dlq-offsets', b'7-9'))
    """
    more = {
        CUT: f"batch {record.batch_bytes}" if record.batch_bytes else "",
        RAW: "" if record.raw is None else record.raw.value,
        OFFSETS: "" if record.last is None else f"{record.offset}-{record.last}",
    }
    reason = unreadable_reason(record)
    headers = dead_letter_headers(source, reason, record.detail, (), group=group, version=version)
    return (*headers, *((name, text.encode()) for name, text in more.items() if text))


def dead_letter_headers(
    source: LetterSource, reason: Reason, detail: str, problems: Sequence[str], *, group: str, version: str
) -> Headers:
    """Return the message's own headers, then what was wrong, as UTF-8 text.

    ``detail`` is a sentence for people without any text of the message, ``group`` the consumer group and
    ``version`` the version of Eddy that set the message aside. ``x-dlq-problems`` is there only when
    there are ``problems``.

    >>> source = LetterSource("decision-logs", 3, 17)
    >>> dict(dead_letter_headers(source, Reason.KEY, "?", ["key"], group="eddy", version="1"))["x-dlq-stage"]
    b'validate'
    """
    stage = Stage.VALIDATE if reason in _VALIDATED else Stage.DECODE
    error = "Rejected" if stage is Stage.VALIDATE else UndecodableError.__name__
    said = {
        FIRST_OF_OURS: error,
        "__streams.errors.message": detail,
        "__streams.errors.topic": source.topic,
        "__streams.errors.partition": str(source.partition),
        "__streams.errors.offset": str(source.offset),
        "x-dlq-stage": stage.value,
        "x-dlq-reason": reason.value,
        "x-dlq-problems": ",".join(problems),
        "x-dlq-consumer-group": group,
        "x-dlq-app-version": version,
    }
    ours = tuple((name, text.encode()) for name, text in said.items() if text)
    return (*source.headers, *ours)


def record_size(record: Outgoing) -> int:
    """Return how many bytes a record takes in a topic at most, where nothing else is in its batch.

    >>> record_size(Outgoing(b"key", b"value", 0, [("name", b"1")])) - record_size(Outgoing(b"", b"", 0, []))
    33
    """
    key, value, _, headers = record
    size = _OVERHEAD + len(key or b"") + len(value or b"")
    for name, content in headers:
        size += _HEADER_OVERHEAD + 4 * len(name) + len(content or b"")
    return size


def cut_to_fit(letter: Outgoing, largest: int) -> Outgoing:
    """Return the letter, cut where it is larger than the topic takes.

    First the value goes, down to what there is room for; where its key and its own headers alone are too
    large, they go too, and what Eddy says of it stays.

    >>> letter = Outgoing(b"k", b"0123456789" * 100, 0, [("x-dlq-reason", b"oversize")])
    >>> short = cut_to_fit(letter, 900)
    >>> len(short.value), short.headers[-1], record_size(short) <= 900
    (455, ('x-dlq-cut', b'value 1000'), True)
    """
    if record_size(letter) <= largest:
        return letter
    key, value, timestamp, headers = letter
    missing = [f"value {len(value)}"] if value else []
    bare = Outgoing(key, b"", timestamp, [*headers, (CUT, b"0" * _CUT_BYTES)])
    if record_size(bare) > largest:
        own = _own(headers)
        missing += [f"headers {len(headers) - len(own)}", f"key {len(key or b'')}"]
        key, headers, value = None, own, b""
    room = max(0, largest - record_size(bare))
    cut = (CUT, ", ".join(missing).encode())
    return Outgoing(key, None if value is None else value[:room], timestamp, [*headers, cut])


#: Room for the header `CUT`.
_CUT_BYTES: Final = 80


def _own(headers: Sequence[tuple[str, bytes | None]]) -> list[tuple[str, bytes | None]]:
    """Return the headers that Eddy put behind those of the message."""
    first = max(at for at, (name, _) in enumerate(headers) if name == FIRST_OF_OURS)
    return list(headers[first:])

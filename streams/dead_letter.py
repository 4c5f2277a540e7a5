"""The headers of a dead letter: where it came from and what was wrong with it.

A dead letter is the original key and bytes plus these headers. The names ``__streams.errors.*`` are those
of Kafka's KIP-1034, which tools show already; ``x-dlq-*`` are ours. Nothing here depends on the clock or
carries text of the message, so a replay gives the same bytes and no secret gets into a header.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum, unique
from typing import Final

from schemas.reason import Reason, UndecodableError

Headers = tuple[tuple[str, bytes], ...]

FUTURE_PROBLEM: Final = "meta.timestamp:future"
KEY_PROBLEM: Final = "key"


@unique
class Stage(StrEnum):
    """How far the message got; the value of the header ``x-dlq-stage``."""

    DECODE = "decode"
    VALIDATE = "validate"


@dataclass(frozen=True, slots=True)
class Source:
    """Where the message came from, with the headers it had."""

    topic: str
    partition: int
    offset: int
    headers: Sequence[tuple[str, bytes]] = ()


_VALIDATED = frozenset({Reason.SCHEMA_VIOLATION, Reason.KEY, Reason.FUTURE})


def reason_for(problems: Sequence[str]) -> Reason:
    """Return the one word for the problem list of a rejected record (SEMANTICS 2.2).

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


def undecodable_headers(source: Source, error: UndecodableError, *, group: str, version: str) -> Headers:
    """Return the headers of a message that could not be read."""
    return dead_letter_headers(source, error.reason, error.detail, (), group=group, version=version)


def rejected_headers(source: Source, problems: Sequence[str], *, group: str, version: str) -> Headers:
    """Return the headers of a record that was read but is not valid; ``problems`` are field paths."""
    detail = f"not valid: {', '.join(problems)}"
    return dead_letter_headers(source, reason_for(problems), detail, problems, group=group, version=version)


def dead_letter_headers(
    source: Source, reason: Reason, detail: str, problems: Sequence[str], *, group: str, version: str
) -> Headers:
    """Return the message's own headers, then what was wrong, as UTF-8 text.

    ``detail`` is a sentence for people without any text of the message, ``group`` the consumer group and
    ``version`` the version of Eddy that set the message aside. ``x-dlq-problems`` is there only when
    there are ``problems``.

    >>> source = Source("decision-logs", 3, 17)
    >>> dict(dead_letter_headers(source, Reason.KEY, "?", ["key"], group="eddy", version="1"))["x-dlq-stage"]
    b'validate'
    """
    stage = Stage.VALIDATE if reason in _VALIDATED else Stage.DECODE
    error = "Rejected" if stage is Stage.VALIDATE else UndecodableError.__name__
    said = {
        "__streams.errors.exception": error,
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

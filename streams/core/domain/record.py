"""What arrives and what leaves: a decoded message, one that cannot be read, and one to publish."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from enum import StrEnum, unique
from typing import Any, NamedTuple

Headers = list[tuple[str, bytes | None]]
"""Shared and never changed; aiokafka takes lists only."""

Row = tuple[bytes | None, bytes | None, int, Headers]
"""An `Outgoing` without the names: making one costs a tenth, and an epoch makes hundreds."""

NO_HEADERS: Headers = []


class Outgoing(NamedTuple):
    """A record to publish. ``timestamp`` in ms since 1970; a None value is a tombstone."""

    key: bytes | None
    value: bytes | None
    timestamp: int
    headers: Headers = NO_HEADERS


@unique
class RawKind(StrEnum):
    """What the value of an unreadable record is, where it is not that of the message."""

    RECORD = "record"
    """The bytes of the record as it stands in its batch."""
    BATCH = "batch"
    """The bytes of the batch from there on, as Kafka stores them."""


class Unreadable(NamedTuple):
    """Stands at an offset of which the record cannot be read.

    ``key``, ``value`` and ``headers`` are those of the message as far as they can be read. ``raw`` says what
    ``value`` is instead. ``batch_bytes`` is the size of a batch that holds too much to be unpacked, else 0.

    A batch may claim millions of offsets, so not each is worth a dead letter: without ``is_logged``
    one has none, and the last one before them stands for all of them to the offset ``last``.
    """

    offset: int
    timestamp: int
    detail: str
    key: bytes | None = None
    value: bytes | None = None
    headers: Sequence[tuple[str, bytes | None]] = ()
    raw: RawKind | None = None
    batch_bytes: int = 0
    is_logged: bool = True
    last: int | None = None


class Record(NamedTuple):
    """A decoded DecisionLog that is not checked yet.

    ``timestamp`` is that of the Kafka record in ms, None where there is none (files). ``key`` is the
    Kafka key as text. ``value`` may carry unknown fields and wrong types: `streams.core.pipeline.admit`
    checks it.
    """

    partition: int
    offset: int
    key: str | None
    timestamp: int | None
    value: Mapping[str, Any]

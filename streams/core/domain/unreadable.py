"""A record that the Kafka client cannot read: what there is of it, in the place of a message."""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum, unique
from typing import NamedTuple


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

    A batch may claim millions of offsets, so not each is worth a dead letter: one that is not ``told`` has
    none, and the last one before them stands for all of them to the offset ``last``.
    """

    offset: int
    timestamp: int
    detail: str
    key: bytes | None = None
    value: bytes | None = None
    headers: Sequence[tuple[str, bytes | None]] = ()
    raw: RawKind | None = None
    batch_bytes: int = 0
    told: bool = True
    last: int | None = None

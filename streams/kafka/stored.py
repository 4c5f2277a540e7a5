"""A record of a topic, as stored."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple


class Stored(NamedTuple):
    """A record read back. ``timestamp`` in ms since 1970; in Kafka the value of a header may be null."""

    partition: int
    offset: int
    timestamp: int
    key: bytes | None
    value: bytes | None
    headers: Sequence[tuple[str, bytes | None]]

"""What leaves: one record to publish."""

from __future__ import annotations

from typing import NamedTuple

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

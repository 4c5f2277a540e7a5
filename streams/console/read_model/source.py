"""What the folds take of a record of a topic: a protocol, so that they know no client."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

#: The decoded value of a record.
Fields = Mapping[str, Any]


class StoredSource(Protocol):
    """A record of a topic as it is stored. ``timestamp`` is Kafka's."""

    @property
    def partition(self) -> int:
        """Its partition."""

    @property
    def offset(self) -> int:
        """Its offset."""

    @property
    def timestamp(self) -> int:
        """In ms since 1970."""

    @property
    def key(self) -> bytes | None:
        """Its key."""

    @property
    def value(self) -> bytes | None:
        """Its value; the folds look at its size only."""

    @property
    def headers(self) -> Sequence[tuple[str, bytes | None]]:
        """Its headers."""

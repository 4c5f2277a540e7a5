"""Versions of settings and policies, and what settings on trial would have changed."""

from __future__ import annotations

from typing import Any, Final

import orjson

from streams.console.read_model.offsets import Places
from streams.console.read_model.place import Fields
from streams.console.read_model.rows import DifferenceRow, ShadowRow, VersionRow
from streams.core.domain.run import StoredRecord

#: How many records are counted of each field that differs, of each partition.
KEPT_DIFFERENCES: Final = 16_384

#: The name that only events, and no field, differ by.
EVENTS: Final = "events"


def version_of(topic: str, source: StoredRecord, fields: Fields | None) -> VersionRow:
    """Return a record of a topic of documents as a row; without fields it is a tombstone or unreadable."""
    document = fields or {}
    changed = document.get("changed")
    who: Fields = changed if isinstance(changed, dict) else {}
    return VersionRow(
        topic=topic,
        offset=source.offset,
        ts=source.timestamp,
        version=_number(document.get("version")) or 0,
        at=_number(who.get("at")),
        by=_words(who.get("by")),
        why=_words(who.get("why")),
        body=None if fields is None else orjson.dumps(dict(fields)).decode(),
    )


def _number(value: Any) -> int | None:  # anybody may write a document
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def _words(value: Any) -> str | None:  # as above
    return value if isinstance(value, str) else None


def shadow_of(fields: Fields) -> ShadowRow:
    """Return a record of shadow-differences as a row."""
    return ShadowRow(
        id=fields["id"],
        shadow_version=fields["shadow_version"],
        session_id=fields["session_id"],
        ts=fields["timestamp"],
        partition=fields["partition"],
        offset=fields["offset"],
        body=orjson.dumps(dict(fields)).decode(),
    )


def differing(fields: Fields) -> list[str]:
    """Return the names of what differs by a record: fields, or only events.

    >>> differing({"differences": [{"field": "severity", "live": None, "shadow": None}]})
    ['severity']
    >>> differing({"differences": []})
    ['events']
    """
    return [each["field"] for each in fields["differences"]] or [EVENTS]


class DifferenceCount:
    """How often a field differed under a shadow version. It changes with each record; `row` makes a row."""

    __slots__ = ("_places", "field", "shadow_version")

    def __init__(self, shadow_version: int, field: str, stored: bytes = b"") -> None:
        self.shadow_version, self.field = shadow_version, field
        self._places = Places.of(stored, KEPT_DIFFERENCES)

    def add(self, fields: Fields) -> None:
        """Count a record; one that was counted changes nothing."""
        self._places.add(fields["partition"], fields["offset"])

    def row(self) -> DifferenceRow:
        """Return it as a row."""
        return DifferenceRow(self.shadow_version, self.field, len(self._places), self._places.stored())

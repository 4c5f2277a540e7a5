"""How agents and tools fare, in samples of five minutes; and what tasks of a type are granted."""

from __future__ import annotations

from typing import Final

import orjson

from streams.console.read_model.place import Fields, place
from streams.console.read_model.rows import HealthRow, ProfileRow
from streams.core.domain.run import StoredRecord

#: How much of `as_of` one sample is of, in ms.
BUCKET_MS: Final = 300_000


def health_of(fields: Fields, source: StoredRecord) -> HealthRow:
    """Return a record of agent-health as the sample of its five minutes."""
    return HealthRow(
        scope=fields["scope"],
        name=fields["name"],
        bucket=fields["as_of"] // BUCKET_MS * BUCKET_MS,
        body=orjson.dumps(dict(fields)).decode(),
        as_of=fields["as_of"],
        place=place(source.partition, source.offset),
    )


def merged_health(one: HealthRow, other: HealthRow) -> HealthRow:
    """Return the newer of two samples of the same five minutes."""
    return max(one, other, key=lambda row: (row.as_of, row.place))


def profile_of(fields: Fields, source: StoredRecord) -> ProfileRow:
    """Return a record of task-profiles as a row."""
    at = place(source.partition, source.offset)
    return ProfileRow(fields["task_type"], orjson.dumps(dict(fields)).decode(), at)


def merged_profiles(one: ProfileRow, other: ProfileRow) -> ProfileRow:
    """Return the newer of two recommendations."""
    return max(one, other, key=lambda row: row.place)

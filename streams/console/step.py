"""A step of a session as the pages show it: an enriched record and where it stands."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple


class RecordStep(NamedTuple):
    """An enriched record.

    Attributes:
        partition, offset: the place of the record on `decision-logs`; in files, its number.
        enriched_offset: the place of the enriched record in the same partition; None where there is none.
        record: the enriched record, with its block `eddy`.
        number: which one of its session it is, from 1, as far as that is known. Unlike `eddy.step` it counts
            records that are not scored, too.
    """

    partition: int
    offset: int
    enriched_offset: int | None
    record: Mapping[str, Any]
    number: int = 0

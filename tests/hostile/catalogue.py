"""Everything that is sent to the worker: add a case to the list of its module, or a module here."""

from __future__ import annotations

from tests.hostile import batches, headers, other_doors, storage, timestamps, trials, writer_schemas
from tests.hostile.case import Case

CASES: tuple[Case, ...] = (
    *headers.CASES,
    *batches.CASES,
    *storage.CASES,
    *trials.CASES,
    *writer_schemas.CASES,
    *other_doors.CASES,
    *timestamps.CASES,
)

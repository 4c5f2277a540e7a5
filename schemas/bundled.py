"""The schemas that come with Eddy: one folder per subject, one file per version; the files say it all."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

import fastavro

from schemas.numbers import CONTROL_SUBJECTS, INPUT_SUBJECTS, SUBJECT_NUMBERS

#: What a job reads and writes; all others are of the control loop.
JOB_SUBJECTS = tuple(subject for subject in SUBJECT_NUMBERS if subject not in CONTROL_SUBJECTS)
OUTPUT_SUBJECTS = tuple(subject for subject in JOB_SUBJECTS if subject not in INPUT_SUBJECTS)

FIRST_BUNDLED_ID = 9_000_000
"""Far above the ids any registry has handed out, so that the two cannot be mistaken for each other."""


@dataclass(frozen=True, slots=True)
class BundledSchema:
    """One published version of one subject.

    ``id`` stands in the Confluent frame where no registry is configured. ``definition`` is the parsed
    JSON of the file, ``parsed`` what fastavro works with.
    """

    subject: str
    version: int
    definition: dict[str, Any] = field(repr=False, compare=False)
    parsed: Any = field(repr=False, compare=False)

    @property
    def id(self) -> int:
        """The bundled id: 9 SSS VVV, subject number and version.

        >>> latest("entropy-alerts-value").id
        9003001
        """
        return FIRST_BUNDLED_ID + 1000 * SUBJECT_NUMBERS[self.subject] + self.version

    @property
    def name(self) -> str:
        """Subject and version, as in the header ``eddy-schema``.

        >>> latest("entropy-alerts-value").name
        'entropy-alerts-value/1'
        """
        return f"{self.subject}/{self.version}"


@cache
def versions(subject: str) -> tuple[BundledSchema, ...]:
    """Return every version of a subject, oldest first.

    Raises:
        KeyError: no such subject is bundled.
    """
    if subject not in SUBJECT_NUMBERS:
        raise KeyError(f"no bundled subject {subject!r}; there are {', '.join(SUBJECT_NUMBERS)}")
    found = []
    for file in (Path(__file__).parent / subject).glob("v*.avsc"):
        definition = json.loads(file.read_text(encoding="utf-8"))
        found.append(
            BundledSchema(
                subject=subject,
                version=int(file.stem.removeprefix("v")),
                definition=definition,
                parsed=fastavro.parse_schema(definition),
            )
        )
    return tuple(sorted(found, key=lambda schema: schema.version))


def latest(subject: str) -> BundledSchema:
    """Return the version of a subject that Eddy reads into and writes."""
    return versions(subject)[-1]


@cache
def by_id() -> dict[int, BundledSchema]:
    """Return every bundled schema by its id."""
    return {schema.id: schema for subject in SUBJECT_NUMBERS for schema in versions(subject)}

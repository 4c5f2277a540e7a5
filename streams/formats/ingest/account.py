"""What `eddy ingest` has read, by source."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field

from streams.formats.adapters.adapter import Problem
from streams.formats.units import UNFINISHED


@dataclass(slots=True)
class FormatAccount:
    """What came of the inputs of one format.

    Attributes:
        paths: paths of the inputs that were read.
        resumed: how many of them were read in part or whole before.
        records: records that were sent.
        repeated: records that the destination had already.
        older: records from before the time that was asked for.
        ignored: lines that say nothing of a step, by input and type.
        problems: what could not be used, by input and reason.
        first: the first problem of each reason.
    """

    paths: set[str] = field(default_factory=set)
    resumed: int = 0
    records: int = 0
    repeated: int = 0
    older: int = 0
    ignored: dict[str, Counter[str]] = field(default_factory=dict)
    problems: dict[str, Counter[str]] = field(default_factory=lambda: defaultdict(Counter))
    first: dict[str, Problem] = field(default_factory=dict)

    @property
    def all_ignored(self) -> int:
        """Return how many lines were left out by design."""
        return sum(each.total() for each in self.ignored.values())

    @property
    def is_used(self) -> bool:
        """Tell whether anything of it could be read, now or before."""
        kinds = {kind for each in self.ignored.values() for kind in each}
        return bool(self.resumed or self.records or self.repeated or self.older or kinds - {UNFINISHED})

    @property
    def all_problems(self) -> Counter[str]:
        """Return the problems by reason."""
        return sum(self.problems.values(), Counter())

    def add(self, path: str, problems: Iterable[Problem]) -> None:
        """Count problems of an input."""
        for problem in problems:
            self.problems[path][problem.reason] += 1
            self.first.setdefault(problem.reason, problem)


@dataclass(slots=True)
class IngestAccount:
    """Everything that was counted.

    Attributes:
        sources: by name of the format.
        unknown: inputs that fit no format.
        unreadable: inputs that could not be opened, with the error.
    """

    sources: dict[str, FormatAccount] = field(default_factory=lambda: defaultdict(FormatAccount))
    unknown: set[str] = field(default_factory=set)
    unreadable: dict[str, str] = field(default_factory=dict)

    @property
    def has_problems(self) -> bool:
        """Tell whether anything could not be used."""
        return bool(self.unreadable) or any(each.all_problems for each in self.sources.values())

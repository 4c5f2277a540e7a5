"""What was read, and what was left out: counted by format, with the first example of each problem."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import Final

from streams.formats.adapters.adapter import Problem

MOST_NAMED: Final = 5
"""Files without a format that are named; the others are counted."""
MOST_TYPES: Final = 1_000
"""Types of ignored lines that are told apart, by format. An input names them, so there may be any number."""
_OTHER_TYPES: Final = "other types"


@dataclass(slots=True)
class Trouble:
    """Problems of one reason: how many, and the first."""

    first: Problem
    file: str
    count: int = 0


@dataclass(slots=True)
class Share:
    """What came of the files of one format."""

    files: int = 0
    records: int = 0
    ignored: Counter[str] = field(default_factory=Counter)
    """What was left out by design, by type."""
    troubles: dict[str, Trouble] = field(default_factory=dict)
    """What could not be used, by reason."""

    def add(self, problem: Problem, file: str) -> None:
        """Count a problem."""
        trouble = self.troubles.get(problem.reason)
        if trouble is None:
            trouble = self.troubles[problem.reason] = Trouble(problem, file)
        trouble.count += 1

    def leave_out(self, ignored: Counter[str]) -> None:
        """Count what an adapter has left out."""
        for kind, count in ignored.items():
            self.ignored[
                kind if kind in self.ignored or len(self.ignored) < MOST_TYPES else _OTHER_TYPES
            ] += count


@dataclass(slots=True)
class Intake:
    """What came of all inputs."""

    shares: dict[str, Share] = field(default_factory=dict)
    """By format."""
    damaged: Share = field(default_factory=Share)
    """The files of folders that could not be read to their end, as problems."""
    strangers: int = 0
    """Files that no format fits."""
    reading: str = ""
    """The file that the newest record came from."""
    named: list[str] = field(default_factory=list)
    """The first of them."""
    known: list[str] = field(default_factory=list)
    """What the first of them are that are of a known program."""

    def share(self, name: str) -> Share:
        """Return what came of the files of a format."""
        found = self.shares.get(name)
        if found is None:
            found = self.shares[name] = Share()
        return found

    def stranger(self, name: str, known: str | None = None) -> None:
        """Count a file that no format fits; ``known`` says what it is if that is known all the same."""
        self.strangers += 1
        if known is not None and len(self.known) < MOST_NAMED:
            self.known.append(f"{name} {known}")
        if len(self.named) < MOST_NAMED:
            self.named.append(name)

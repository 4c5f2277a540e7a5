"""What a run of faults has shown, as a table for people and a document for programs."""

from __future__ import annotations

import statistics
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from streams.domain.topic import Topic
from tests.integration.reference_fold import Verdict

_LOST = ("lost", "missing")
_SHOWN_PROBLEM = 1000
_COLUMNS = (
    "fault",
    "times",
    "outputs flow again (median, worst)",
    "all well again (median, worst)",
    "workers ended",
    "repeated",
    "outdated",
)


@dataclass(frozen=True, slots=True)
class Outcome:
    """What came of one fault."""

    number: int
    kind: str
    what: str
    recovered_s: float
    """From the damage until every partition had outputs of records that were sent after it."""
    well_s: float
    """From the damage until every worker was ready, every replica in sync, and outputs flowed."""
    repeated: int
    """Enriched records that came again meanwhile."""
    outdated: int
    """Changelog records that came after newer ones of their session."""
    ended: tuple[int, ...]
    """Exit statuses of the workers that had ended and were started again."""


@dataclass(frozen=True, slots=True)
class Report:
    """A whole run.

    Attributes:
        seed: Of the plan.
        records: That were sent.
        outcomes: Of each fault, in order.
        skipped: Kinds that could not be had here, and why.
        verdict: Of the reference fold on everything that came out.
    """

    seed: int
    records: int
    outcomes: Sequence[Outcome]
    skipped: Mapping[str, str]
    verdict: Verdict

    @property
    def lost(self) -> int:
        """How many outputs, states or contributions are not there."""
        return sum(n for problem, n in self.verdict.wrong.items() if any(word in problem for word in _LOST))

    @property
    def wrong(self) -> int:
        """How many are there and should not be as they are: counted twice, differing, out of order."""
        return self.verdict.wrong.total() - self.lost

    def document(self) -> dict[str, Any]:
        """Return everything, JSON-able."""
        return {
            "seed": self.seed,
            "records": self.records,
            "faults": [asdict(outcome) for outcome in self.outcomes],
            "skipped": dict(self.skipped),
            "outputs": dict(self.verdict.outputs),
            "repeated": dict(self.verdict.repeated),
            "lost": self.lost,
            "wrong": self.wrong,
            "problems": dict(self.verdict.wrong),
            "examples": [problem[:_SHOWN_PROBLEM] for problem in self.verdict.problems],
        }

    def table(self) -> str:
        """Return the figures by kind, and what the checker says, as Markdown."""
        by_kind: dict[str, list[Outcome]] = defaultdict(list)
        for outcome in self.outcomes:
            by_kind[outcome.kind].append(outcome)
        lines = [
            f"| {' | '.join(_COLUMNS)} |",
            f"|{'---|' * len(_COLUMNS)}",
            *(_row(kind, outcomes) for kind, outcomes in by_kind.items()),
            *(f"| {kind} | 0 | skipped: {reason} | | | | |" for kind, reason in self.skipped.items()),
            "",
            f"{self.records:,} records, {len(self.outcomes)} faults, seed {self.seed}.",
            f"{self.verdict.outputs.total():,} different outputs: lost {self.lost}, wrong {self.wrong}.",
            f"Repeated with identical id and bytes: {_counts(self.verdict.repeated)}.",
        ]
        lines += [f"WRONG  {problem[:_SHOWN_PROBLEM]}" for problem in self.verdict.problems]
        return "\n".join(lines)


def _row(kind: str, outcomes: Sequence[Outcome]) -> str:
    recovered = _spread([outcome.recovered_s for outcome in outcomes])
    well = _spread([outcome.well_s for outcome in outcomes])
    ended = Counter(status for outcome in outcomes for status in outcome.ended)
    statuses = ", ".join(f"{n} with {status}" for status, n in sorted(ended.items())) or "none"
    repeated = sum(outcome.repeated for outcome in outcomes)
    outdated = sum(outcome.outdated for outcome in outcomes)
    return f"| {kind} | {len(outcomes)} | {recovered} | {well} | {statuses} | {repeated} | {outdated} |"


def _spread(seconds: Sequence[float]) -> str:
    return f"{statistics.median(seconds):.1f} s, {max(seconds):.1f} s"


def _counts(repeated: Mapping[str, int]) -> str:
    found = {str(topic): n for topic, n in repeated.items() if n}
    of_records = found.pop(str(Topic.ENRICHED), 0)
    others = "".join(f", {n} {topic}" for topic, n in sorted(found.items()))
    return f"{of_records} enriched records{others}"

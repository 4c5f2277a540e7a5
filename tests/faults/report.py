"""What a run of faults has shown, as a table for people and a document for programs."""

from __future__ import annotations

import os
import platform
import statistics
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Literal

from streams.core.domain.topic import Topic
from tests.integration.reference_fold import Verdict

Guarantee = Literal["at_least_once", "exactly_once"]

_LOST = ("lost", "missing")
_TWO = "two at once"
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
    """What came of one fault, or of two at once."""

    number: int
    kinds: tuple[str, ...]
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

    @property
    def kind(self) -> str:
        """What the table calls it."""
        return self.kinds[0] if len(self.kinds) == 1 else _TWO


@dataclass(frozen=True, slots=True)
class Circumstances:
    """What a run was made with, and on what.

    Attributes:
        seed: The seed of the plan.
        guarantee: The guarantee of the workers.
        rate: Records a second.
        machine: In words.
        busy: The lowest and the highest load average, of one minute, between faults.
        minutes: It took, without the comparison.
        transactions: Whether the records came in transactions.
        settings: The settings of the workers, beside the usual ones.
        expire: Whether the clock removed sessions.
    """

    seed: int
    guarantee: Guarantee
    rate: int
    machine: str
    busy: tuple[float, float]
    minutes: float
    transactions: bool
    settings: Mapping[str, object]
    expire: bool = False

    def sentence(self) -> str:
        """Return them in words."""
        settings = "".join(f", {name}={value}" for name, value in self.settings.items())
        return (
            f"{self.guarantee}, seed {self.seed}{settings}, {self.rate} records a second"
            f"{' in transactions' if self.transactions else ''}, "
            f"{'sessions that expire, ' if self.expire else ''}"
            f"{self.minutes} minutes, {self.machine}, load {self.busy[0]:g} to {self.busy[1]:g}."
        )


def machine() -> str:
    """Return in words what this runs on."""
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") >> 30
    return f"{os.cpu_count()} cores, {memory} GB of memory, {platform.system()} {platform.machine()}"


@dataclass(frozen=True, slots=True)
class Report:
    """A whole run.

    Attributes:
        made: With what.
        records: That were sent.
        outcomes: The outcome of each fault, in order.
        skipped: Kinds that could not be had here, and why.
        verdict: The verdict of the reference fold on everything that came out.
    """

    made: Circumstances
    records: int
    outcomes: Sequence[Outcome]
    skipped: Mapping[str, str]
    verdict: Verdict

    @property
    def problems(self) -> list[str]:
        """All that is not as it must be, in words; none is what is wanted."""
        return [*self.verdict.problems, *(f"{what}: {n}" for what, n in self._more_than_once.items())]

    @property
    def _more_than_once(self) -> Counter[str]:
        """What must not be under exactly once."""
        if self.made.guarantee == "at_least_once":
            return Counter()
        outdated = sum(outcome.outdated for outcome in self.outcomes)
        found = Counter({f"{topic}: came twice": n for topic, n in self.verdict.repeated.items()})
        return +(found + Counter({"outdated changelog records": outdated}))

    @property
    def lost(self) -> int:
        """How many outputs, states or contributions are not there."""
        return sum(n for problem, n in self.verdict.wrong.items() if any(word in problem for word in _LOST))

    @property
    def wrong(self) -> int:
        """How many are there and should not be as they are: counted twice, differing, out of order."""
        return self.verdict.wrong.total() - self.lost + self._more_than_once.total()

    def document(self) -> dict[str, Any]:
        """Return everything, JSON-able."""
        return {
            "made": asdict(self.made),
            "records": self.records,
            "faults": [asdict(outcome) for outcome in self.outcomes],
            "skipped": dict(self.skipped),
            "outputs": dict(self.verdict.outputs),
            "repeated": dict(self.verdict.repeated),
            "removed": dict(self.verdict.removed),
            "removal_delays_ms": sorted(self.verdict.removal_delays_ms),
            "lost": self.lost,
            "wrong": self.wrong,
            "problems": dict(self.verdict.wrong + self._more_than_once),
            "examples": [problem[:_SHOWN_PROBLEM] for problem in self.problems],
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
            self.made.sentence(),
            f"{self.records:,} records, {sum(len(outcome.kinds) for outcome in self.outcomes)} faults.",
            f"{self.verdict.outputs.total():,} different outputs: lost {self.lost}, wrong {self.wrong}.",
            f"Repeated with identical id and bytes: {_counts(self.verdict.repeated)}.",
        ]
        if self.made.expire:
            lines.append(self._removals())
        lines += [f"WRONG  {problem[:_SHOWN_PROBLEM]}" for problem in self.problems]
        return "\n".join(lines)

    def _removals(self) -> str:
        removed, delays = self.verdict.removed, self.verdict.removal_delays_ms
        late = _spread([delay / 1000 for delay in delays]) if delays else "none"
        return (
            f"Removed by the clock: {removed['expired']:,} silent sessions, {late} after their time (median, "
            f"worst), of which {removed['came back']:,} came back and began anew; {removed['ended']:,} stubs "
            f"of ended ones. Of {removed['only told']:,} the end was told, and they went on."
        )


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

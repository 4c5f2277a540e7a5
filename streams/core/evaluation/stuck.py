"""The question that counts: are stuck sessions found, how soon, and what would that have spared?"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from typing import NamedTuple

from streams.core.evaluation.estimate import Estimate, bootstrapped, proportion, resamples
from streams.core.evaluation.first_alarm import AlarmWait, Delay, Spared, delay, spared, spared_share, wait
from streams.core.evaluation.labels import StuckLabel
from streams.core.evaluation.scores import Counts, total
from streams.core.evaluation.watch import DetectorWatch

Raised = Callable[[DetectorWatch], AbstractSet[int]]
"""What a detector, or one of its rules, raises in a session."""


class StuckReport(NamedTuple):
    """A session that readers agree on, and what the detectors said about it."""

    label: StuckLabel
    watch: DetectorWatch


@dataclass(frozen=True, slots=True)
class StuckScores:
    """What a detector is worth against labels that say since when an agent was stuck.

    Attributes:
        counts: sessions: stuck and found, alarmed though not stuck, stuck and not found. A stuck session is
            found if a record is raised at its onset or later.
        found: share of the stuck sessions that are found.
        false: share of the sessions that are not stuck with any record raised.
        precision: share of those with an alarm, found or false, that are stuck.
        early: stuck sessions with a record raised before the onset: too soon, or by luck.
        delay: records and seconds from the onset to the first record raised at it or later.
        spared: share of the stuck records that come after that one.
    """

    counts: Counts
    found: Estimate
    false: Estimate
    precision: Estimate
    early: int
    delay: Delay
    spared: Estimate


class StuckSighting(NamedTuple):
    """One stuck session under one detector."""

    wait: AlarmWait | None
    early: bool
    spared: Spared


def seen(session: StuckReport, raised: Raised) -> StuckSighting:
    """Measure a stuck session. Records that the readers have not seen do not count.

    Raises:
        ValueError: the session is not stuck.
    """
    label, watch = session
    if label.onset is None:
        raise ValueError("only a stuck session has an onset")
    positions = within(session, raised)
    waited = wait(positions, label.onset, watch.seconds)
    alarm = None if waited is None else label.onset + waited.records
    early = min(positions, default=label.onset) < label.onset
    return StuckSighting(waited, early, spared(dict.fromkeys(label.marked(watch.records), 1), alarm))


def within(session: StuckReport, raised: Raised) -> frozenset[int]:
    """Return what is raised among the records that the readers have seen."""
    label, watch = session
    return frozenset(at for at in raised(watch) if at < label.seen(watch.records))


class StuckSessions:
    """Sessions with a label, sorted, with the resamples that all detectors share."""

    def __init__(self, sessions: Sequence[StuckReport]) -> None:
        self.stuck = [each for each in sessions if each.label.stuck]
        self.free = [each for each in sessions if each.label.stuck is False]
        self.disputed = sum(each.label.stuck is None for each in sessions)
        self._drawn = resamples(len(self.stuck))

    def scores(self, raised: Raised) -> StuckScores:
        """Score one detector, or one of its rules."""
        stuck = [seen(each, raised) for each in self.stuck]
        counts = total(
            [stuck_counts(each) for each in stuck] + [free_counts(each, raised) for each in self.free]
        )
        return StuckScores(
            counts,
            proportion(counts.hits, len(stuck)),
            proportion(counts.false, len(self.free)),
            proportion(counts.hits, counts.hits + counts.false),
            sum(each.early for each in stuck),
            delay([each.wait for each in stuck], self._drawn),
            bootstrapped([each.spared for each in stuck], spared_share, self._drawn),
        )


def stuck_counts(each: StuckSighting) -> Counts:
    """Count a stuck session."""
    return Counts(hits=1) if each.wait is not None else Counts(missed=1)


def free_counts(session: StuckReport, raised: Raised) -> Counts:
    """Count a session that is not stuck."""
    return Counts(false=1) if within(session, raised) else Counts()

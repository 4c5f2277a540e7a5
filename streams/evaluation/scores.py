"""Precision, recall and F1 with their intervals, over records and over sessions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from streams.evaluation.counts import Counts, total
from streams.evaluation.intervals import Interval, percentiles, redrawn, wilson


@dataclass(frozen=True, slots=True)
class Scores:
    """The counts and how far the figures of them can be trusted (95 %, None where there is nothing)."""

    counts: Counts
    precision: Interval | None
    recall: Interval | None
    f1: Interval | None


def step_scores(sessions: Sequence[Counts], drawn: Sequence[Sequence[int]]) -> Scores:
    """Score records. All intervals are bootstrapped over sessions: records of one session go together.

    Args:
        sessions: the counts of the records of each session.
        drawn: `streams.evaluation.intervals.resamples` of the sessions.
    """
    totals = redrawn(sessions, drawn)
    return Scores(
        total(sessions),
        percentiles(each.precision for each in totals),
        percentiles(each.recall for each in totals),
        percentiles(each.f1 for each in totals),
    )


def session_scores(raised: Sequence[bool], looping: Sequence[bool], drawn: Sequence[Sequence[int]]) -> Scores:
    """Score sessions, each raised or not and looping or not.

    Sessions are independent and precision and recall are proportions of them: Wilson's intervals. F1 is no
    proportion: bootstrapped.
    """
    each = [session_counts(alarm, loop) for alarm, loop in zip(raised, looping, strict=True)]
    counts = total(each)
    return Scores(
        counts,
        wilson(counts.hits, counts.hits + counts.false),
        wilson(counts.hits, counts.hits + counts.missed),
        percentiles(resampled.f1 for resampled in redrawn(each, drawn)),
    )


def session_counts(raised: object, looping: object) -> Counts:
    """Count one session, by whether anything was raised and whether it loops.

    >>> session_counts(raised=True, looping=False)
    Counts(hits=0, false=1, missed=0)
    """
    return Counts(
        hits=int(bool(raised and looping)),
        false=int(bool(raised and not looping)),
        missed=int(bool(looping and not raised)),
    )

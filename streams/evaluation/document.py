"""An evaluation as a JSON document: every figure, rounded to 4 decimals."""

from __future__ import annotations

from typing import Any

from streams.domain.number import r4
from streams.evaluation.alarm_rate import AlarmRate
from streams.evaluation.contribution import Contribution
from streams.evaluation.counts import Counts
from streams.evaluation.delay import Delay
from streams.evaluation.difference import Change, Difference
from streams.evaluation.evaluation import Part, Row
from streams.evaluation.intervals import Interval
from streams.evaluation.scores import Scores


def part_document(part: Part) -> dict[str, Any]:
    """Return the document of one source, or of all of them."""
    return {
        "source": part.source,
        "sessions": part.sessions,
        "records": part.records,
        "labelled_sessions": part.labelled,
        "labelled_transitions": part.transitions,
        "repetitions": part.repetitions,
        "looping_sessions": part.looping,
        "healthy_sessions": part.healthy,
        "detectors": [_row(row) for row in part.rows],
    }


def difference_document(each: Difference) -> dict[str, Any]:
    """Return the document of what changes for one detector."""
    return {
        "detector": each.detector,
        "precision": _change(each.precision),
        "recall": _change(each.recall),
        "f1": _change(each.f1),
        "sessions_f1": _change(each.sessions_f1),
        "healthy_sessions_with_alarm": list(each.healthy),
    }


def _row(row: Row) -> dict[str, Any]:
    return {
        "detector": row.detector,
        "steps": _scores(row.steps),
        "sessions": _scores(row.sessions),
        "healthy": _rate(row.healthy),
        "every_session": _rate(row.every),
        "delay": _delay(row.delay),
        "rules": [_contribution(each) for each in row.rules],
        "kinds": {kind.value: _counts(counts) for kind, counts in row.kinds.items()},
    }


def _counts(counts: Counts) -> dict[str, int]:
    return counts._asdict()


def _scores(scores: Scores) -> dict[str, Any]:
    counts = scores.counts
    return {
        **_counts(counts),
        "precision": _rounded(counts.precision),
        "precision_interval": _interval(scores.precision),
        "recall": _rounded(counts.recall),
        "recall_interval": _interval(scores.recall),
        "f1": _rounded(counts.f1),
        "f1_interval": _interval(scores.f1),
    }


def _change(change: Change) -> dict[str, Any]:
    return {"change": _rounded(change.value), "interval": _interval(change.interval)}


def _rate(rate: AlarmRate) -> dict[str, Any]:
    interval = rate.interval
    return {
        "sessions": rate.sessions,
        "sessions_with_alarm": rate.alarmed,
        "sessions_with_alarm_per_100": _hundredfold(rate.alarmed_share),
        "interval": None if interval is None else [_hundredfold(end) for end in interval],
        "alarms": rate.alarms,
        "alarms_per_100": _hundredfold(rate.alarms_per_session),
    }


def _delay(delay: Delay) -> dict[str, Any]:
    return {
        "noticed": delay.noticed,
        "unnoticed": delay.unnoticed,
        "median_records": delay.median,
        "longest_records": delay.longest,
    }


def _contribution(each: Contribution) -> dict[str, Any]:
    return {
        "rule": each.rule,
        "alone": _counts(each.alone),
        "only": {"hits": each.only.hits, "false": each.only.false},
        "healthy_sessions": each.healthy,
    }


def _interval(interval: Interval | None) -> list[float] | None:
    return None if interval is None else [r4(end) for end in interval]


def _rounded(figure: float | None) -> float | None:
    return None if figure is None else r4(figure)


def _hundredfold(figure: float | None) -> float | None:
    return None if figure is None else r4(100 * figure)

"""An evaluation as a JSON document: every figure with its interval, rounded to 4 decimals."""

from __future__ import annotations

from typing import Any

from streams.core.domain.number import r4
from streams.core.evaluation.difference import ScoreDifference, StuckChange
from streams.core.evaluation.estimate import Estimate, Interval
from streams.core.evaluation.evaluation import AlarmRate, DetectorRow, SourceRows
from streams.core.evaluation.first_alarm import Delay, RightToStop
from streams.core.evaluation.scores import RuleContribution, Scores
from streams.core.evaluation.stuck import StuckScores


def part_document(part: SourceRows) -> dict[str, Any]:
    """Return the document of one source, or of all of them."""
    return {
        "source": part.source,
        "sessions": part.sessions,
        "records": part.records,
        "stuck_sessions": part.stuck,
        "not_stuck_sessions": part.free,
        "disputed_sessions": part.disputed,
        "solved_sessions": part.solved,
        "failed_sessions": part.failed,
        "failed_sessions_with_tokens": part.failed_with_tokens,
        "sessions_with_rewards": part.rewarded,
        "labelled_sessions": part.labelled,
        "labelled_transitions": part.transitions,
        "repetitions": part.repetitions,
        "looping_sessions": part.looping,
        "healthy_sessions": part.healthy,
        "detectors": [_row(row) for row in part.rows],
    }


def difference_document(each: ScoreDifference) -> dict[str, Any]:
    """Return the document of what changes for one detector."""
    return {
        "detector": each.detector,
        "stuck": None if each.stuck is None else _stuck_change(each.stuck),
        "precision": _change(each.precision),
        "recall": _change(each.recall),
        "f1": _change(each.f1),
        "sessions_f1": _change(each.sessions_f1),
        "healthy_sessions_with_alarm": list(each.healthy),
        "solved_sessions_with_alarm": list(each.solved),
    }


def _row(row: DetectorRow) -> dict[str, Any]:
    return {
        "detector": row.detector,
        "stuck": None if row.stuck is None else _stuck(row.stuck),
        "stuck_by_rule": {rule: _stuck(scores) for rule, scores in row.stuck_by_rule.items()},
        "solved": _rate(row.solved),
        "failed": _rate(row.failed),
        "failed_records_after_alarm": _estimate(row.failed_spared),
        "failed_tokens_after_alarm": _estimate(row.failed_tokens_spared),
        "right_to_stop": None if row.right_to_stop is None else _right_to_stop(row.right_to_stop),
        "steps": _scores(row.steps),
        "sessions": _scores(row.sessions),
        "healthy": _rate(row.healthy),
        "every_session": _rate(row.every),
        "delay": _delay(row.delay),
        "rules": [_contribution(each) for each in row.rules],
        "kinds": {kind.value: _scores(scores) for kind, scores in row.kinds.items()},
    }


def _stuck(scores: StuckScores) -> dict[str, Any]:
    return {
        "found": scores.counts.hits,
        "missed": scores.counts.missed,
        "false": scores.counts.false,
        "early": scores.early,
        "found_share": _estimate(scores.found),
        "false_share": _estimate(scores.false),
        "precision": _estimate(scores.precision),
        "delay": _delay(scores.delay),
        "stuck_records_after_alarm": _estimate(scores.spared),
    }


def _stuck_change(change: StuckChange) -> dict[str, Any]:
    return {
        "found_share": _change(change.found),
        "false_share": _change(change.false),
        "precision": _change(change.precision),
        "median_delay": _change(change.median_delay),
        "stuck_records_after_alarm": _change(change.spared),
    }


def _scores(scores: Scores) -> dict[str, Any]:
    counts = scores.counts
    return {
        **counts._asdict(),
        "precision": _rounded(counts.precision),
        "precision_interval": _interval(scores.precision),
        "recall": _rounded(counts.recall),
        "recall_interval": _interval(scores.recall),
        "f1": _rounded(counts.f1),
        "f1_interval": _interval(scores.f1),
    }


def _estimate(estimate: Estimate | None, times: int = 1) -> dict[str, Any] | None:
    if estimate is None:
        return None
    value, interval = estimate
    return {"value": _rounded(value, times), "interval": _interval(interval, times)}


def _change(change: Estimate) -> dict[str, Any]:
    return {"change": _rounded(change.value), "interval": _interval(change.interval)}


def _rate(rate: AlarmRate) -> dict[str, Any]:
    share, alarms = rate.alarmed_share, rate.alarms_per_session
    return {
        "sessions": rate.sessions,
        "sessions_with_alarm": rate.alarmed,
        "sessions_with_alarm_per_100": _rounded(share.value, 100),
        "interval": _interval(share.interval, 100),
        "alarms": rate.alarms,
        "alarms_per_100": _rounded(alarms.value, 100),
        "alarms_interval": _interval(alarms.interval, 100),
    }


def _delay(delay: Delay) -> dict[str, Any]:
    return {
        "noticed": delay.noticed,
        "unnoticed": delay.unnoticed,
        "lower_quartile_records": _estimate(delay.lower),
        "median_records": _estimate(delay.median),
        "upper_quartile_records": _estimate(delay.upper),
        "timed": delay.timed,
        "median_seconds": _estimate(delay.median_seconds),
        "p90_seconds": _estimate(delay.most_seconds),
    }


def _right_to_stop(found: RightToStop) -> dict[str, Any]:
    return {
        **found._asdict(),
        "share": _estimate(found.share),
        "no_new_best": _estimate(found.no_new_best),
    }


def _contribution(each: RuleContribution) -> dict[str, Any]:
    return {
        "rule": each.rule,
        "alone": each.alone._asdict(),
        "only": {"hits": each.only.hits, "false": each.only.false},
        "healthy_sessions": each.healthy,
    }


def _interval(interval: Interval | None, times: int = 1) -> list[float] | None:
    return None if interval is None else [r4(times * end) for end in interval]


def _rounded(figure: float | None, times: int = 1) -> float | None:
    return None if figure is None else r4(times * figure)

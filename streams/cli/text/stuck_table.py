"""What detectors are worth by labels of stuck sessions, and by how sessions ended, as Markdown tables."""

from __future__ import annotations

from collections.abc import Iterator

from streams.cli.text.estimate_text import NOTHING, counted, estimate_text
from streams.cli.text.line import Table
from streams.evaluation.evaluation import Part, Row
from streams.evaluation.stuck import StuckScores

_STUCK = ("detector", "found", "false", "precision", "early", "stuck records after the alarm")
_DELAY = ("detector", "noticed", "lower quartile", "median", "upper quartile")
_ENDED = (
    "detector",
    "solved with alarm",
    "per 100",
    "failed with alarm",
    "records of failed after the alarm",
)


def stuck_tables(part: Part, *, with_rules: bool) -> Iterator[Table]:
    """Write how stuck sessions fare. ``with_rules`` adds each rule of a detector that has several."""
    rows = [(row.detector, row.stuck) for row in part.rows if row.stuck is not None]
    if part.stuck + part.free:
        yield from _tables("Stuck sessions", rows)
    if part.stuck + part.free and with_rules:
        by_rule = [
            (f"{row.detector} {rule}", scores)
            for row in part.rows
            for rule, scores in row.stuck_by_rule.items()
        ]
        if by_rule:
            yield from _tables("Stuck sessions, by rule", by_rule)


def ended_tables(part: Part) -> Iterator[Table]:
    """Write how sessions fare whose end is known."""
    if part.solved + part.failed:
        yield Table("Solved and failed sessions", _ENDED, [_ended(row) for row in part.rows])


def _tables(title: str, rows: list[tuple[str, StuckScores]]) -> Iterator[Table]:
    yield Table(title, _STUCK, [_stuck(name, scores) for name, scores in rows])
    yield Table(f"{title}: delay from the onset, in records", _DELAY, [_delay(*each) for each in rows])


def _stuck(name: str, scores: StuckScores) -> list[str]:
    return [
        name,
        counted(scores.counts.hits, scores.found),
        counted(scores.counts.false, scores.false),
        estimate_text(scores.precision),
        str(scores.early),
        estimate_text(scores.spared),
    ]


def _delay(name: str, scores: StuckScores) -> list[str]:
    delay = scores.delay
    return [
        name,
        str(delay.noticed),
        *(estimate_text(each, ".1f") for each in (delay.lower, delay.median, delay.upper)),
    ]


def _ended(row: Row) -> list[str]:
    return [
        row.detector,
        str(row.solved.alarmed),
        estimate_text(row.solved.alarmed_share, ".1f", times=100),
        counted(row.failed.alarmed, row.failed.alarmed_share),
        NOTHING if row.failed_spared is None else estimate_text(row.failed_spared),
    ]

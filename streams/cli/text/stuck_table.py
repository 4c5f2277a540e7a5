"""What detectors are worth by labels of stuck sessions, and by how sessions ended, as Markdown tables."""

from __future__ import annotations

from collections.abc import Iterator

from streams.cli.text.estimate_text import DELAY, NOTHING, counted, delay_texts, estimate_text, known_text
from streams.cli.text.line import TextTable
from streams.core.evaluation.evaluation import DetectorRow, SourceRows
from streams.core.evaluation.first_alarm import RightToStop
from streams.core.evaluation.stuck import StuckScores

_STUCK = ("detector", "found", "false", "precision", "early", "stuck records after the alarm")
_DELAY = ("detector", "noticed", *DELAY)
_ENDED = (
    "detector",
    "solved with alarm",
    "per 100",
    "failed with alarm",
    "records of failed after the alarm",
    "tokens of failed after the alarm",
)
_REWARDED = ("detector", "right", "wrong", "unknown", "share right", "share without a new best")


def stuck_tables(part: SourceRows, *, with_rules: bool) -> Iterator[TextTable]:
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


def ended_tables(part: SourceRows) -> Iterator[TextTable]:
    """Write how sessions fare whose end is known, and those with rewards."""
    if part.solved + part.failed:
        yield TextTable("Solved and failed sessions", _ENDED, [_ended(row) for row in part.rows])
    if part.rewarded:
        told = [(row.detector, row.right_to_stop) for row in part.rows if row.right_to_stop is not None]
        yield TextTable("Right to stop at the first alarm", _REWARDED, [_right(*each) for each in told])


def _tables(title: str, rows: list[tuple[str, StuckScores]]) -> Iterator[TextTable]:
    yield TextTable(title, _STUCK, [_stuck(name, scores) for name, scores in rows])
    delays = [_delay(*each) for each in rows]
    yield TextTable(f"{title}: delay from the onset, in records and seconds", _DELAY, delays)


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
        *delay_texts(delay),
    ]


def _ended(row: DetectorRow) -> list[str]:
    return [
        row.detector,
        str(row.solved.alarmed),
        estimate_text(row.solved.alarmed_share, ".1f", times=100),
        counted(row.failed.alarmed, row.failed.alarmed_share),
        *(
            NOTHING if each is None else known_text(each, of=row.failed.sessions)
            for each in (row.failed_spared, row.failed_tokens_spared)
        ),
    ]


def _right(name: str, found: RightToStop) -> list[str]:
    shares = (estimate_text(each, ".3f") for each in (found.share, found.no_new_best))
    return [name, *map(str, (found.right, found.wrong, found.unknown)), *shares]

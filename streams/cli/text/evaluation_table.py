"""An evaluation as tables: Markdown, which people read as it is and documents take as it is."""

from __future__ import annotations

from collections.abc import Iterator

from streams.cli.text.line import Table
from streams.evaluation.alarm_rate import AlarmRate
from streams.evaluation.evaluation import Part, Row
from streams.evaluation.intervals import Interval
from streams.evaluation.kind import Kind
from streams.evaluation.scores import Scores

_NOTHING = "-"
_SCORES = ("detector", "hits", "false", "missed", "precision", "recall", "F1")
# The first record of a session repeats nothing.
_KINDS = [kind for kind in Kind if kind is not Kind.FIRST]
_BY_KIND = "Records by kind: found of labelled, and false"
_DELAY = ("detector", "noticed", "unnoticed", "median", "longest")
_ALARMS = ("detector", "sessions", "per 100", "alarms per 100")
_RULES = ("detector", "rule", "finds", "false", "only it finds", "only it, false", "healthy sessions")


def part_lines(part: Part, *, with_rules: bool) -> Iterator[str | Table]:
    """Write one source, or all of them, piece by piece. ``with_rules`` adds what each rule contributes."""
    yield f"## {part.source}"
    yield ""
    yield (
        f"{part.sessions} sessions, {part.records} records. Labelled by people: {part.labelled} sessions, "
        f"{part.transitions} transitions, {part.repetitions} repetitions; {part.looping} sessions loop. "
        f"Healthy: {part.healthy} sessions."
    )
    if part.labelled:
        yield Table("Records", _SCORES, [_scores(row.detector, row.steps) for row in part.rows])
        yield Table("Sessions", _SCORES, [_scores(row.detector, row.sessions) for row in part.rows])
        header = ("detector", *(kind.value for kind in _KINDS))
        yield Table(_BY_KIND, header, [_kinds(row) for row in part.rows])
        yield Table("Delay, in records", _DELAY, [_delay(row) for row in part.rows])
    if part.healthy:
        yield Table("Alarms, healthy sessions", _ALARMS, [_rate(row, row.healthy) for row in part.rows])
    yield Table("Alarms, all sessions", _ALARMS, [_rate(row, row.every) for row in part.rows])
    if with_rules and (rules := [line for row in part.rows for line in _rules(row)]):
        yield Table("Rules", _RULES, rules)
    yield ""


def _scores(detector: str, scores: Scores) -> list[str]:
    counts = scores.counts
    return [
        detector,
        *map(str, counts),
        _figure(counts.precision, scores.precision),
        _figure(counts.recall, scores.recall),
        _figure(counts.f1, scores.f1),
    ]


def _kinds(row: Row) -> list[str]:
    cells = (
        f"{of.hits} of {of.hits + of.missed}, {of.false} false" for of in map(row.kinds.__getitem__, _KINDS)
    )
    return [row.detector, *cells]


def _delay(row: Row) -> list[str]:
    delay = row.delay
    return [
        row.detector,
        str(delay.noticed),
        str(delay.unnoticed),
        _NOTHING if delay.median is None else f"{delay.median:g}",
        _NOTHING if delay.longest is None else str(delay.longest),
    ]


def _rate(row: Row, rate: AlarmRate) -> list[str]:
    per_session = rate.alarms_per_session
    return [
        row.detector,
        str(rate.alarmed),
        _figure(rate.alarmed_share, rate.interval, times=100, decimals=1),
        _NOTHING if per_session is None else f"{100 * per_session:.1f}",
    ]


def _rules(row: Row) -> Iterator[list[str]]:
    for each in row.rules:
        numbers = (each.alone.hits, each.alone.false, each.only.hits, each.only.false, each.healthy)
        yield [row.detector, each.rule, *map(str, numbers)]


def _figure(value: float | None, interval: Interval | None, times: int = 1, decimals: int = 2) -> str:
    if value is None:
        return _NOTHING
    text = f"{times * value:.{decimals}f}"
    if interval is None:
        return text
    low, high = (f"{times * end:.{decimals}f}" for end in interval)
    return f"{text} ({low} to {high})"

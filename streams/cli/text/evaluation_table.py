"""An evaluation as tables: Markdown, which people read as it is and documents take as it is."""

from __future__ import annotations

from collections.abc import Iterator

from streams.cli.text.estimate_text import DELAY, counted, delay_texts, estimate_text
from streams.cli.text.line import TextTable
from streams.cli.text.stuck_table import ended_tables, stuck_tables
from streams.core.domain.text.amounts import count
from streams.core.evaluation.estimate import Estimate
from streams.core.evaluation.evaluation import AlarmRate, DetectorRow, SourceRows
from streams.core.evaluation.scores import Scores
from streams.core.evaluation.watch import CallKind

_SCORES = ("detector", "hits", "false", "missed", "precision", "recall", "F1")
# The first record of a session repeats nothing.
_KINDS = [kind for kind in CallKind if kind is not CallKind.FIRST]
_BY_KIND = "Records by kind: found, and false"
_DELAY = ("detector", "noticed", "unnoticed", *DELAY)
_ALARMS = ("detector", "sessions with alarm", "per 100 sessions", "alarms per 100 sessions")
_RULES = ("detector", "rule", "finds", "false", "only it finds", "only it, false", "healthy sessions")


def part_lines(part: SourceRows, *, with_rules: bool) -> Iterator[str | TextTable]:
    """Write one source, or all of them, piece by piece. ``with_rules`` adds what each rule contributes."""
    yield f"## {part.source}"
    yield ""
    yield from _content(part)
    yield from stuck_tables(part, with_rules=with_rules)
    yield from ended_tables(part)
    if part.labelled:
        yield TextTable("Records", _SCORES, [_scores(row.detector, row.steps) for row in part.rows])
        yield TextTable("Sessions", _SCORES, [_scores(row.detector, row.sessions) for row in part.rows])
        header = ("detector", *(kind.value for kind in _KINDS))
        yield TextTable(_BY_KIND, header, [_kinds(row) for row in part.rows])
        yield TextTable("Delay, in records and seconds", _DELAY, [_delay(row) for row in part.rows])
    if part.healthy:
        yield TextTable("Alarms, healthy sessions", _ALARMS, [_rate(row, row.healthy) for row in part.rows])
    yield TextTable("Alarms, all sessions", _ALARMS, [_rate(row, row.every) for row in part.rows])
    if with_rules and (rules := [line for row in part.rows for line in _rules(row)]):
        yield TextTable("Rules", _RULES, rules)
    yield ""


def _content(part: SourceRows) -> Iterator[str]:
    """Say how many sessions there are, and of how many something is known."""
    yield f"{count(part.sessions, 'session')}, {count(part.records, 'record')}."
    known = []
    if part.stuck + part.free + part.disputed:
        known.append(f"{part.stuck} stuck, {part.free} not stuck, {part.disputed} disputed and left out")
    if part.solved + part.failed:
        known.append(
            f"{part.solved} solved their task, {part.failed} failed, {part.failed_with_tokens} of these with "
            "tokens"
        )
    if part.rewarded:
        known.append(f"{part.rewarded} with rewards")
    if part.labelled:
        known.append(
            f"{part.labelled} with steps labelled by people: {part.transitions} transitions, "
            f"{part.repetitions} repetitions; sessions that loop: {part.looping}"
        )
    if part.healthy:
        known.append(f"{part.healthy} healthy")
    if known:
        yield ""
        yield from (f"- {each}" for each in known)


def _scores(detector: str, scores: Scores) -> list[str]:
    counts = scores.counts
    return [
        detector,
        *map(str, counts),
        estimate_text(Estimate(counts.precision, scores.precision)),
        estimate_text(Estimate(counts.recall, scores.recall)),
        estimate_text(Estimate(counts.f1, scores.f1)),
    ]


def _kinds(row: DetectorRow) -> list[str]:
    return [row.detector, *(_kind(row.kinds[kind]) for kind in _KINDS)]


def _kind(scores: Scores) -> str:
    found = counted(scores.counts.hits, Estimate(scores.counts.recall, scores.recall))
    return f"{found}, {scores.counts.false} false"


def _delay(row: DetectorRow) -> list[str]:
    delay = row.delay
    return [
        row.detector,
        str(delay.noticed),
        str(delay.unnoticed),
        *delay_texts(delay),
    ]


def _rate(row: DetectorRow, rate: AlarmRate) -> list[str]:
    return [
        row.detector,
        f"{rate.alarmed} of {rate.sessions}",
        estimate_text(rate.alarmed_share, ".1f", times=100),
        estimate_text(rate.alarms_per_session, ".1f", times=100),
    ]


def _rules(row: DetectorRow) -> Iterator[list[str]]:
    for each in row.rules:
        numbers = (each.alone.hits, each.alone.false, each.only.hits, each.only.false, each.healthy)
        yield [row.detector, each.rule, *map(str, numbers)]

"""An evaluation as tables in Markdown: figures, stuck sessions, and what other settings change."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from streams.cli.text.line import TextTable
from streams.console.interventions.scoreboard import Score
from streams.core.domain.text.figures import count
from streams.core.domain.text.printable import escaped
from streams.core.evaluation.difference import ScoreDifference, StuckChange
from streams.core.evaluation.estimate import Estimate
from streams.core.evaluation.evaluation import AlarmRate, DetectorRow, SourceRows
from streams.core.evaluation.first_alarm import Delay, RightToStop
from streams.core.evaluation.scores import Scores
from streams.core.evaluation.stuck import StuckScores
from streams.core.evaluation.watch import CallKind
from streams.operate.label_precision import FEWEST_FOR_A_PROPOSAL, Precision

NOTHING: Final = "-"
"""The cell of a figure that there is nothing to compute from."""
UNKNOWN: Final = "unknown"
"""The cell of a figure that records or labels do not tell, though there is something to compute it of."""
DELAY: Final = (
    "lower quartile",
    "median",
    "upper quartile",
    "timed",
    "median, s",
    "90th percentile, s",
)
"""The columns of `delay_texts`."""


def estimate_text(estimate: Estimate, form: str = ".2f", times: int = 1) -> str:
    """Write a figure, multiplied by ``times``, in a format of Python's.

    >>> estimate_text(Estimate(0.5, (0.25, 0.75)), "+.1f")
    '+0.5 (+0.2 to +0.8)'
    """
    if estimate.value is None:
        return NOTHING
    text = f"{times * estimate.value:{form}}"
    if estimate.interval is None:
        return text
    low, high = (f"{times * end:{form}}" for end in estimate.interval)
    return f"{text} ({low} to {high})"


def label_lines(rows: Sequence[Precision], exempt: Sequence[str]) -> Iterator[TextTable | str]:
    """Yield the table of how many labelled alerts were right, and what follows.

    Args:
        rows: By what they have in common.
        exempt: Tools whose alerts were only ever wrong, often enough.
    """
    cells = [
        (row.by, row.name, str(row.labelled), estimate_text(Estimate(row.share, row.interval)))
        for row in rows
    ]
    header = ("of", "which", "labelled", "right")
    yield TextTable("Alerts that people have labelled", header, cells)
    yield ""
    if exempt:
        tools = ", ".join(map(escaped, exempt))
        yield f"Only ever wrong, {FEWEST_FOR_A_PROPOSAL} times or more: {tools}. --propose writes settings."
    else:
        yield f"No tool was wrong {FEWEST_FOR_A_PROPOSAL} times and never right: there is nothing to propose."


def intervention_lines(rows: Sequence[Score], beside: Score) -> Iterator[TextTable | str]:
    """Yield the table of what policies brought.

    Args:
        rows: By rule and version.
        beside: Loops on which no policy acted.
    """

    def figure(value: float | None) -> str:
        return NOTHING if value is None else f"{value:,.0f}"

    named = [
        (f"{row.rule} ({'live' if row.live else 'dry run'}, version {row.version})", row) for row in rows
    ]
    cells = [
        (
            name,
            str(row.acted),
            str(row.ended),
            figure(row.records_until_over),
            figure(row.tokens_until_over),
            str(row.withheld),
        )
        for name, row in [*named, ("no policy acted", beside)]
    ]
    header = ("rule", "loops", "over", "records until over", "tokens until over", "held back")
    yield TextTable("What became of loops after the first step, median", header, cells)
    yield ""
    yield "A loop without a step counts from its first alert at LOOP on."


def counted(count: int, estimate: Estimate) -> str:
    """Write a count and the share that it is.

    >>> counted(1, Estimate(0.5, None)), counted(0, Estimate(None, None))
    ('1: 0.50', '0')
    """
    return str(count) if estimate.value is None else f"{count}: {estimate_text(estimate)}"


def known_text(estimate: Estimate, form: str = ".2f", *, of: int) -> str:
    """Write a figure ``of`` so many sessions; if there are some and it has no value, it is unknown.

    >>> known_text(Estimate(None, None), of=2), known_text(Estimate(None, None), of=0)
    ('unknown', '-')
    """
    return UNKNOWN if of and estimate.value is None else estimate_text(estimate, form)


def delay_texts(delay: Delay) -> list[str]:
    """Write the waits of the sessions that were noticed, in records and in seconds of event time."""
    return [
        *(estimate_text(each, ".1f") for each in (delay.lower, delay.median, delay.upper)),
        str(delay.timed),
        *(known_text(each, ".1f", of=delay.noticed) for each in (delay.median_seconds, delay.most_seconds)),
    ]


_STUCK_DIFFERENCES = (
    "detector",
    "found",
    "false",
    "precision",
    "median delay",
    "stuck records after the alarm",
)
_LABELLED = (
    "detector",
    "precision",
    "recall",
    "F1",
    "F1 of sessions",
    "healthy with alarm",
    "solved with alarm",
)


def difference_lines(found: Sequence[ScoreDifference], name: str) -> Iterator[str | TextTable]:
    """Write what changes against the settings of this name, piece by piece."""
    yield f"## all, less the same under {name}"
    stuck = [(each.detector, each.stuck) for each in found if each.stuck is not None]
    if any(change.found.value is not None for _, change in stuck):
        yield TextTable("Stuck sessions", _STUCK_DIFFERENCES, [_stuck_differences(*each) for each in stuck])
    yield TextTable("Records and sessions", _LABELLED, [_labelled(each) for each in found])
    yield ""


def _stuck_differences(detector: str, change: StuckChange) -> list[str]:
    return [
        detector,
        *(estimate_text(each, "+.2f") for each in (change.found, change.false, change.precision)),
        estimate_text(change.median_delay, "+.1f"),
        estimate_text(change.spared, "+.2f"),
    ]


def _labelled(each: ScoreDifference) -> list[str]:
    return [
        each.detector,
        *(estimate_text(one, "+.2f") for one in (each.precision, each.recall, each.f1, each.sessions_f1)),
        *(f"{ours} for {theirs}" for ours, theirs in (each.healthy, each.solved)),
    ]


_STUCK = ("detector", "found", "false", "precision", "early", "stuck records after the alarm")
_STUCK_DELAY = ("detector", "noticed", *DELAY)
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
        judged = [(row.detector, row.right_to_stop) for row in part.rows if row.right_to_stop is not None]
        yield TextTable("Right to stop at the first alarm", _REWARDED, [_right(*each) for each in judged])


def _tables(title: str, rows: list[tuple[str, StuckScores]]) -> Iterator[TextTable]:
    yield TextTable(title, _STUCK, [_stuck(name, scores) for name, scores in rows])
    delays = [_stuck_delay(*each) for each in rows]
    yield TextTable(f"{title}: delay from the onset, in records and seconds", _STUCK_DELAY, delays)


def _stuck(name: str, scores: StuckScores) -> list[str]:
    return [
        name,
        counted(scores.counts.hits, scores.found),
        counted(scores.counts.false, scores.false),
        estimate_text(scores.precision),
        str(scores.early),
        estimate_text(scores.spared),
    ]


def _stuck_delay(name: str, scores: StuckScores) -> list[str]:
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

"""What other settings change, as Markdown tables."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from streams.cli.text.estimate_text import estimate_text
from streams.cli.text.line import TextTable
from streams.core.evaluation.difference import ScoreDifference, StuckChange

_STUCK = ("detector", "found", "false", "precision", "median delay", "stuck records after the alarm")
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
        yield TextTable("Stuck sessions", _STUCK, [_stuck(*each) for each in stuck])
    yield TextTable("Records and sessions", _LABELLED, [_labelled(each) for each in found])
    yield ""


def _stuck(detector: str, change: StuckChange) -> list[str]:
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

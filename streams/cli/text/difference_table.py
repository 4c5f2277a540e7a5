"""What other settings change, as a Markdown table."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from streams.cli.text.line import Table
from streams.evaluation.difference import Change, Difference

_HEADER = ("detector", "precision", "recall", "F1", "F1 of sessions", "healthy with alarm")


def difference_lines(found: Sequence[Difference], name: str) -> Iterator[str | Table]:
    """Write what changes against the settings of this name, piece by piece."""
    yield f"## all, less the same under {name}"
    yield Table("Records and sessions", _HEADER, [_row(each) for each in found])
    yield ""


def _row(each: Difference) -> list[str]:
    ours, theirs = each.healthy
    changes = (each.precision, each.recall, each.f1, each.sessions_f1)
    return [each.detector, *map(_text, changes), f"{ours} for {theirs}"]


def _text(change: Change) -> str:
    if change.value is None:
        return "-"
    text = f"{change.value:+.2f}"
    if change.interval is None:
        return text
    return f"{text} ({change.interval.low:+.2f} to {change.interval.high:+.2f})"

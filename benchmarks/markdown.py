"""Tables and numbers in Markdown."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return a table."""
    lines = [f"| {' | '.join(head)} |", f"|{'---|' * len(head)}"]
    return "\n".join([*lines, *(f"| {' | '.join(row)} |" for row in rows)])


def number(value: float | None, digits: int = 1) -> str:
    """Return a number as the tables show it, empty for none."""
    return "" if value is None or math.isnan(value) else f"{value:,.{digits}f}"

"""How a terminal shows an alert."""

from __future__ import annotations

from streams.core.detectors.detector import Meaning
from streams.core.domain.level import Level


def mark(meaning: Meaning) -> str:
    """Return the sign before an alert: up if something is wrong, down if it is over."""
    return "▼" if meaning.over else "▲"


def style(meaning: Meaning) -> str:
    """Return the colour of an alert."""
    if meaning.over:
        return "green"
    return "bold red" if meaning.level is Level.LOOP else "yellow"

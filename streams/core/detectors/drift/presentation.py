"""A5 in words: how far a session has drifted, why, and what can be done about it."""

from __future__ import annotations

from typing import ClassVar, Final

from streams.core.detectors.drift.level import CONTINUE, LEVELS
from streams.core.detectors.presentation import Fields, Meaning, Presentation
from streams.core.domain.event import EventKind

_SIGNALS: Final = {
    "goal_dna_drift": "away from its goal",
    "loop_risk": "risk of a loop",
    "budget_velocity": "little progress",
    "quality_degradation": "worse context",
    "stuck_time": "stuck",
}
_SERIOUS: Final = 2
"""From the third of the five levels on: many a session that only begins reaches the second."""
_REASONS: Final = 2


class DriftPresentation(Presentation):
    """The overall drift, the signals that add most to it, and the suggestion."""

    __slots__ = ()

    events: ClassVar[tuple[EventKind, ...]] = (EventKind.RESPONSE,)

    def meaning(self, fields: Fields) -> Meaning:
        """Return that drift is serious if it has become worse and asks for a new plan or more.

        >>> DriftPresentation().meaning({"level": "INJECT_REMINDER", "previous_level": "CONTINUE"}).serious
        False
        """
        level = LEVELS.index(fields["level"])
        return Meaning(
            serious=level >= _SERIOUS and level > LEVELS.index(fields["previous_level"]),
            fired=None if fields["level"] == CONTINUE else ("A5", fields["level"]),
        )

    def sentence(self, fields: Fields) -> str:
        """Return the drift and the suggestion."""
        parts = sorted(fields["contributions"].items(), key=lambda part: part[1], reverse=True)
        why = ", ".join(
            f"{_SIGNALS.get(name, name)} {value:.2f}" for name, value in parts[:_REASONS] if value
        )
        return f"drift {fields['overall']:.2f}{f' ({why})' if why else ''}. {fields['suggestion']}"

    def summary(self, block: Fields) -> str:
        """Return the level and the signals that are known."""
        signals = ", ".join(
            f"{name} {value:g}" for name, value in block["signals"].items() if value is not None
        )
        return f"{block['overall']:g} {block['level']}: {signals}"

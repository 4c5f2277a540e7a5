"""A3 in words."""

from __future__ import annotations

from typing import ClassVar, Final

from streams.core.detectors.patterns import edit_revert, fail_loop, read_loop
from streams.core.detectors.presentation import Fields, Meaning, Presentation
from streams.core.domain.event import EventKind
from streams.core.domain.level import Level
from streams.core.domain.text.printable import printable

_SENTENCES: Final = {
    "read_loop": read_loop.SENTENCE,
    "edit_revert": edit_revert.SENTENCE,
    "test_fail_loop": fail_loop.SENTENCE,
}


class PatternsPresentation(Presentation):
    """What was done once more, and to what."""

    __slots__ = ()

    events: ClassVar[tuple[EventKind, ...]] = (EventKind.DRIFT_PATTERN,)

    def meaning(self, fields: Fields) -> Meaning:
        """Return the pattern; all escalations count as one rule."""
        rule = "escalation" if fields["phase"] == "escalation" else fields["pattern"]
        return Meaning(alert=fields["pattern"], fired=(f"A3:{rule}", Level.WARNING.value))

    def sentence(self, fields: Fields) -> str:
        """Return what the pattern means here.

        >>> alert = {
        ...     "event_type": "drift_pattern",
        ...     "phase": "alert",
        ...     "pattern": "read_loop",
        ...     "target": "a.py",
        ... }
        >>> PatternsPresentation().sentence(alert)
        'read a.py once more, though nothing has changed it since'
        """
        if fields["phase"] == "escalation":
            return f"this keeps coming back (moving average {fields['ema']:.2f})"
        if fields["pattern"] not in _SENTENCES:
            return super().sentence(fields)
        return _SENTENCES[fields["pattern"]].format(target=printable(fields["target"] or "the file", 60))

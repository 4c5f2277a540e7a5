"""A2 in words."""

from __future__ import annotations

from typing import ClassVar

from streams.core.detectors.presentation import Fields, Meaning, Presentation
from streams.core.domain.event import EventKind
from streams.core.domain.level import Level
from streams.core.domain.text.printable import printable


class RepeatPresentation(Presentation):
    """What was called, and how many times in a row."""

    __slots__ = ()

    events: ClassVar[tuple[EventKind, ...]] = (EventKind.DIVERGENCE_SUSPECTED,)

    def meaning(self, fields: Fields) -> Meaning:
        """Return that the rule of its kind fired.

        It goes by the name of a tool alone. Nearly every session calls one tool three times in a row, so
        that marks no session.
        """
        rule = f"A2:{fields['signature'][0]}"
        return Meaning(alert=fields["event_type"], fired=(rule, Level.WARNING.value), names_session=False)

    def sentence(self, fields: Fields) -> str:
        """Return the length of the run.

        >>> RepeatPresentation().sentence({"signature": ["tool", "Read"], "repeat_count": 3})
        'Read was called 3 times in a row'
        """
        kind, name = fields["signature"]
        return f"{printable(name or kind, 40)} was called {fields['repeat_count']} times in a row"

    def summary(self, block: Fields) -> str:
        """Return the run and its limit."""
        return f"run of {block['run_length']}, fires at {block['threshold']}"

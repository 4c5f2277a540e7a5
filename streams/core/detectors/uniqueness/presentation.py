"""A1 in words."""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar

from streams.core.detectors.presentation import Fields, Fired, Meaning, Presentation
from streams.core.domain.event import EventKind
from streams.core.domain.level import Level
from streams.core.domain.text.printable import printable


class UniquenessPresentation(Presentation):
    """The most frequent decision of the window, and how often it occurs."""

    __slots__ = ()

    events: ClassVar[tuple[EventKind, ...]] = (EventKind.ENTROPY_ALERT,)

    def meaning(self, fields: Fields) -> Meaning:
        """Return that an alert is news unless `alert_every_record` is the only reason for it."""
        return Meaning(alert=fields["event_type"], news=fields["reason"] != "every_record")

    def sentence(self, fields: Fields) -> str:
        """Return how many steps are the same, and which."""
        pattern = fields["repeated_pattern"]
        intent = printable(pattern["intent"], 60) or "no intent"
        tool = printable(pattern["tool_call"], 40) or "no tool"
        return (
            f"{fields['occurrence_count']} of the last {fields['window_size']} steps are the same: "
            f"“{intent}”, {tool}, {pattern['action_status']}"
        )

    def fired(self, block: Fields, tool: str) -> Iterator[Fired]:  # noqa: ARG002 - the decision says more
        """Yield A1 for each record below a threshold: it alerts only some of them."""
        if block["severity"] != Level.NORMAL:
            yield Fired("A1", block["severity"], self.sentence(block))

    def summary(self, block: Fields) -> str:
        """Return score and severity."""
        return f"{block['score']:g} {block['severity']}"

    def objection(self, block: Fields) -> str:
        """Return that decisions repeat."""
        if block["severity"] == Level.NORMAL:
            return ""
        score, severity = block["score"], block["severity"]
        return f"its decisions repeat (uniqueness {score:g}, {severity}): calls or results differ"

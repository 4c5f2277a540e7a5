"""What the detectors say of an event and of the block `eddy`, each in its own words."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, ClassVar, Final

from streams.core.detectors.detector import Fired, Meaning, Presentation
from streams.core.detectors.registry import DETECTORS, REGISTERED
from streams.core.domain.event_kind import EventKind
from streams.core.domain.text.printable import printable

Fields = Mapping[str, Any]


class _HandoverPresentation(Presentation):
    """Which agents hand each other the same task; found across sessions, by no detector."""

    __slots__ = ()

    events: ClassVar[tuple[EventKind, ...]] = (EventKind.HANDOVER_LOOP,)

    def meaning(self, fields: Fields) -> Meaning:
        """Return that it is an alert."""
        return Meaning(alert=fields["event_type"])

    def sentence(self, fields: Fields) -> str:
        """Return both agents and the number of rounds."""
        one = printable(fields["agent_id"] or "an agent", 40)
        other = printable(fields["target"] or "another agent", 40)
        rounds = f"{fields['count']} rounds without work in between"
        return f"{one} and {other} hand each other the same task: {rounds}"


_PRESENTATIONS: Final = (*[detector.presentation for detector in DETECTORS], _HandoverPresentation())
_BY_EVENT: Final = {kind: each for each in _PRESENTATIONS for kind in each.events}

_NO_NEWS: Final = Meaning(news=False)
"""An event that no detector emits: the pipeline's own, which follows from the others."""


def meaning(fields: Fields) -> Meaning:
    """Return what an event means to people.

    >>> event = {"event_type": "drift_pattern", "pattern": "read_loop", "phase": "alert"}
    >>> meaning(event).alert, meaning({"event_type": "node_state"}).news
    ('read_loop', False)
    """
    presentation = _BY_EVENT.get(fields["event_type"])
    return _NO_NEWS if presentation is None else presentation.meaning(fields)


def sentence(fields: Fields) -> str:
    """Return what an event says, in one line safe to print.

    >>> sentence({"event_type": "divergence_suspected", "signature": ["tool", "Read"], "repeat_count": 3})
    'Read was called 3 times in a row'
    >>> sentence({"event_type": "handover_loop", "agent_id": "coder", "target": "tester", "count": 6})
    'coder and tester hand each other the same task: 6 rounds without work in between'
    """
    presentation = _BY_EVENT.get(fields["event_type"])
    return str(fields["event_type"]) if presentation is None else presentation.sentence(fields)


def fired(eddy: Fields, events: Iterable[Fields], tool: str) -> Iterator[Fired]:
    """Yield the rules that fired with a record, by the blocks first and then by the events.

    Args:
        eddy: block of the record.
        events: fields of its events.
        tool: what the record called, in words.
    """
    for detector in DETECTORS:
        if block := eddy.get(detector.name):
            yield from detector.presentation.fired(block, tool)
    for fields in events:
        by = meaning(fields).fired
        if by is not None:
            yield Fired(*by, sentence(fields))


def summaries(eddy: Fields) -> Iterator[tuple[str, str]]:
    """Yield the name of each detector that sums its block up, and the summary."""
    for detector in REGISTERED:
        if (block := eddy.get(detector.name)) and (text := detector.presentation.summary(block)):
            yield detector.name, text


def objections(eddy: Fields) -> Iterator[str]:
    """Yield what speaks against a calm verdict on the record."""
    for detector in REGISTERED:
        if (block := eddy.get(detector.name)) and (text := detector.presentation.objection(block)):
            yield text

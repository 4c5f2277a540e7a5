"""What a detector says to people: the words for its events and its block, as plain text."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, ClassVar, NamedTuple, TypeAlias

from streams.core.domain.event import EventKind
from streams.core.domain.level import Level

Fields: TypeAlias = Mapping[str, Any]


class Meaning(NamedTuple):
    """What an event means to a person who follows a session.

    Attributes:
        alert: the name an alert is counted under; None for advice to the agent's runtime.
        level: the level of the session that an event of a judge explains; None for events of scores.
        news: whether it says more than that an earlier alert still holds.
        over: whether it reports an end.
        serious: whether advice is worth a person's time.
        fired: (rule, level) of an event by which a rule fires; None for other events.
        names_session: whether people should look at a session for this alert alone.
    """

    alert: str | None = None
    level: Level | None = None
    news: bool = True
    over: bool = False
    serious: bool = False
    fired: tuple[str, str] | None = None
    names_session: bool = True


class Fired(NamedTuple):
    """A rule that fired with a record, at a level, and on what evidence: one line, safe to print."""

    rule: str
    level: str
    evidence: str


class Presentation:
    """The words of one detector. Without words of its own, a detector is not mentioned.

    It holds nothing. What it returns is safe to print, whatever an agent wrote.

    Attributes:
        events: the kinds of events the detector emits.
    """

    __slots__ = ()

    events: ClassVar[tuple[EventKind, ...]] = ()

    def meaning(self, fields: Fields) -> Meaning:  # noqa: ARG002 - it depends on the event where it differs
        """Return what an event of this detector means."""
        return Meaning()

    def sentence(self, fields: Fields) -> str:
        """Return what an event of this detector says, in one line."""
        return str(fields["event_type"])

    def fired(self, block: Fields, tool: str) -> Iterable[Fired]:  # noqa: ARG002 - most fire by their events
        """Return the rules that fired with a record and made no event of their own.

        Args:
            block: of the detector in the block `eddy` of the record.
            tool: what the record called, in words.
        """
        return ()

    def summary(self, block: Fields) -> str:  # noqa: ARG002 - most blocks are not summed up
        """Return the scores of a block in one line; an empty text says nothing."""
        return ""

    def objection(self, block: Fields) -> str:  # noqa: ARG002 - most have none
        """Return what speaks against a calm verdict on the record; an empty text if nothing does."""
        return ""


def rule_name(rule: str, period: int | None) -> str:
    """Return the name of a rule; one that repeats several records has their number in it.

    >>> rule_name("R2", 3), rule_name("R1", 1), rule_name("R3", None)
    ('R2:period3', 'R1', 'R3')
    """
    return rule if period in (None, 1) else f"{rule}:period{period}"

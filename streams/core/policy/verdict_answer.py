"""The verdict of a session as a gateway asks for it, before it lets a call of a model through. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from streams.core.domain.level import Level


class VerdictAnswer(NamedTuple):
    """How a session is now, as far as it is known.

    Attributes:
        session_id: id of the session that was asked about.
        known: whether anything was heard of it; if not, the rest says nothing.
        level: of its open loop, NORMAL without one; None if it is not known.
        rule: of the verdict; None without an open loop.
        since: when the loop began, ms since 1970.
        tokens, cost: since the loop began, as far as records tell them.
        control: paused or aborted; none, if nobody asked for that; None of who knows no commands.
        until: when a pause ends, ms since 1970.
        ended: whether the session is over.
        as_of: time of its newest record, ms since 1970.
    """

    session_id: str
    known: bool = False
    level: Level | None = None
    rule: str | None = None
    since: int | None = None
    tokens: float | None = None
    cost: float | None = None
    control: str | None = None
    until: int | None = None
    ended: bool = False
    as_of: int | None = None

    def refusal(self, deny: Level | None) -> str | None:
        """Return why a call is to be refused, None if it may go through.

        Args:
            deny: From this level on. None refuses those only that are paused or aborted.

        >>> VerdictAnswer("s", known=True, level=Level.LOOP, rule="R1").refusal(Level.LOOP)
        'The session goes in circles (R1).'
        >>> VerdictAnswer("s", known=True, level=Level.WARNING).refusal(Level.LOOP) is None
        True
        >>> VerdictAnswer("s", known=True, level=Level.NORMAL, control="paused").refusal(None)
        'The session is paused.'
        """
        if self.control is not None and self.control != "none":
            return f"The session is {self.control}."
        if deny is not None and self.level is not None and self.level.rank >= deny.rank > Level.NORMAL.rank:
            return f"The session goes in circles ({self.rule})."
        return None

    def fields(self, deny: Level | None) -> Mapping[str, Any]:
        """Return it as a JSON-able object, with ``allow`` and ``why``."""
        why = self.refusal(deny)
        return {"allow": why is None, "why": why, **self._asdict()}


def verdict_of(standing: Mapping[str, Any]) -> VerdictAnswer:
    """Return the answer of who knows the state of a session, and no commands.

    Args:
        standing: As `streams.core.policy.standing.standing` has it, with the session_id.
    """
    answer = VerdictAnswer(standing["session_id"], known=True, level=Level.NORMAL, ended=standing["ended"])
    if answer.ended:
        return answer
    episode = standing["episode"] or {}
    return answer._replace(
        level=Level(standing["level"]),
        rule=episode.get("rule"),
        since=episode.get("first_timestamp"),
        tokens=episode.get("tokens_since_onset"),
        cost=episode.get("cost_since_onset"),
        as_of=standing["timestamp"],
    )


def asked_level(text: str | None) -> Level | None:
    """Return the level from which on calls are refused, by the word of a request.

    >>> asked_level("loop"), asked_level(None)
    (<Level.LOOP: 'LOOP'>, None)

    Raises:
        ValueError: the word is neither WARNING nor LOOP.
    """
    if not text:
        return None
    level = Level(text.upper())
    if level is Level.NORMAL:
        raise ValueError("NORMAL refuses every session")
    return level

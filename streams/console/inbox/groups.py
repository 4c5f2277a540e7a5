"""Rows of one cause together: the same rule with the same tools, in whatever sessions."""

from __future__ import annotations

from collections.abc import Iterable
from math import fsum
from typing import Any, Final

from streams.console.inbox.terms import tools
from streams.console.read_model.attention import RANK, Attention, Tab
from streams.core.domain.text.amounts import count

#: How many sessions one action reaches at most.
MOST_SESSIONS: Final = 1_000

_HOW: Final = {
    "R1": "again and again",
    "R2": "round and round",
    "R3": "with the same error",
    "R4": "with the same result",
    "R5": "with nearly the same call",
    "R6": "with nothing new",
    "R7": "without getting on",
    "R8": "with nothing new for long",
    "R9": "waiting in vain",
}


def groups(found: Iterable[Attention]) -> list[dict[str, Any]]:
    """Return the groups, worst first; a row without an episode is a group of its own."""
    by_cause: dict[str, list[Attention]] = {}
    for about in found:
        cause = about.episode.cause_key if about.episode else f"session:{about.session_id}"
        by_cause.setdefault(cause, []).append(about)
    made = [_group(cause, members) for cause, members in by_cause.items()]
    return sorted(made, key=lambda group: (RANK[group["class"]], -group["tokens"], group["cause_key"]))


def many(found: Iterable[Attention], cause: str) -> dict[str, Any] | None:
    """Return several rows as one group: what an action on all of them is about; None if there is none.

    Args:
        found: Rows that were found, of all groups.
        cause: That of the rows that are wanted; empty for all.
    """
    open_tabs = (Tab.NEEDS_YOU, Tab.WATCHING)
    members = [
        about
        for about in found
        if not cause or (about.tab in open_tabs and about.episode and about.episode.cause_key == cause)
    ]
    return _group(cause, members) if members else None


def _group(cause: str, members: list[Attention]) -> dict[str, Any]:
    ranked = sorted(members, key=lambda about: (about.rank, -about.tokens, about.session_id))
    worst = ranked[0]
    tokens = fsum(about.tokens for about in members)
    agents = {about.case.session.agent_id for about in members}
    names = sorted({tool or "no tool" for about in members for tool in tools(about)})
    rule = worst.episode.rule if worst.episode else None
    return {
        "cause_key": cause,
        "class": str(worst.class_),
        "rule": rule,
        "tools": names,
        "sessions": len(members),
        "agents": len(agents),
        "tokens": tokens,
        "cost": fsum(about.cost for about in members),
        "what": _what(names, rule),
        "sentence": _sentence(len(members), len(agents), _what(names, rule), tokens),
        "session_ids": [about.session_id for about in ranked if not about.case.session.ended][:MOST_SESSIONS],
        "subjects": [about.subject for about in ranked[:MOST_SESSIONS]],
        "worst": worst.session_id,
    }


def _what(names: list[str], rule: str | None) -> str:
    """Return what the sessions do, empty if they have no episode.

    >>> _what(["web_search"], "R4")
    'web_search with the same result (R4)'
    """
    return "" if rule is None else f"{', '.join(names)} {_HOW.get(rule, '')} ({rule})"


def _sentence(sessions: int, agents: int, what: str, tokens: float) -> str:
    """Return the line of a group.

    >>> _sentence(14, 3, "web_search with the same result (R4)", 380_000)
    '14 sessions of 3 agents: web_search with the same result (R4); 380,000 tokens'
    """
    said = f"{count(sessions, 'session')} of {count(agents, 'agent')}"
    return f"{said}: {what}; {tokens:,.0f} tokens" if what else said

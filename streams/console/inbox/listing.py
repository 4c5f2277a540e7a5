"""The page of the inbox: which rows or causes, in which order, the totals, and what to say of none."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from heapq import nsmallest
from math import fsum
from typing import Any, Final

from streams.console.inbox.query import InboxSort, Query, cursor_of
from streams.console.inbox.row import row
from streams.console.inbox.terms import rate, tools
from streams.console.read_model.attention import RANK, SILENT_MS, Attention, Class, Position, Tab
from streams.console.read_model.seen import SessionsSeen
from streams.core.domain.text.figures import count

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


def presence(model: SessionsSeen, now: int) -> dict[str, Any]:
    """Return the live sessions, the newest record, and the sentence of an empty page."""
    live = model.live(now)
    return {"live": live, "newest_ts": model.newest_ts, "sentence": said(live, model.newest_ts, now)}


def said(live: int, newest_ts: int | None, now: int) -> str:
    """Return the sentence. Silence is not health: an old newest record is what it says then.

    >>> said(4_120, 1_000, 3_000)
    'No session is in a loop. 4,120 sessions live, newest record 2 s ago.'
    >>> said(0, 0, 720_000)
    'No record for 12 min. Whether a session is in a loop is not known.'
    >>> said(0, None, 0)
    'No record yet. Whether a session is in a loop is not known.'
    """
    if newest_ts is None:
        return "No record yet. Whether a session is in a loop is not known."
    age = max(0, now - newest_ts)
    if age > SILENT_MS:
        return f"No record for {_age(age)}. Whether a session is in a loop is not known."
    return f"No session is in a loop. {count(live, 'session')} live, newest record {_age(age)} ago."


def _age(ms: int) -> str:
    for unit, size in (("d", 86_400_000), ("h", 3_600_000), ("min", 60_000)):
        if ms >= size:
            return f"{ms // size} {unit}"
    return f"{ms // 1000} s"


#: Rows of a page.
ROWS: Final = 100

_VALUES: Final[Mapping[InboxSort, Callable[[Attention, int], float]]] = {
    InboxSort.COST: lambda about, _: -about.cost,
    InboxSort.RATE: lambda about, now: -rate(about, now),
    InboxSort.SINCE: lambda about, _: about.since,
    InboxSort.NEWEST: lambda about, _: -about.newest,
}


@dataclass(frozen=True, slots=True)
class InboxPage:
    """A page of the inbox."""

    rows: list[dict[str, Any]]
    totals: Mapping[str, float]
    tabs: Mapping[str, int]
    matching: int
    next: str | None
    groups: list[dict[str, Any]] | None
    chips: tuple[str, ...]
    as_of: int
    empty: Mapping[str, Any]
    lag: int = 0

    def content(self) -> dict[str, Any]:
        """Return the page as JSON has it."""
        content = {
            "rows": self.rows,
            "totals": self.totals,
            "tabs": self.tabs,
            "matching": self.matching,
            "next": self.next,
            "chips": list(self.chips),
            "as_of": self.as_of,
            "lag": self.lag,
            "empty": self.empty,
        }
        return content if self.groups is None else {**content, "groups": self.groups}

    def behind(self, lag: int) -> InboxPage:
        """Return the page with the number of records that are still to be read."""
        return replace(self, lag=lag)


def page(model: SessionsSeen, query: Query, now: int) -> InboxPage:
    """Return the page that answers a query.

    Rows are sorted by class, then by what the query says, ties by session: rows of equal rank keep their
    places. ``totals`` count what is open and not handled, ``tabs`` every tab, ``matching`` the tab of the
    query; all three are over everything that the filter lets pass, not only this page.
    """
    known, tab = model.attention(now), query.tab
    found = list(known.values())
    if query.terms or query.ranks:
        found = [about for about in found if _passes(about, query, now)]
    here = [about for about in found if about.tab is tab]
    made = groups(here) if query.by_cause else None
    positions = _one_page(here, query, now)
    shown = [known[session_id] for _, _, session_id in positions[:ROWS]]
    totals, counts = _counts(found)
    return InboxPage(
        rows=[row(about, model.control(about.session_id, now), now) for about in shown],
        totals=totals,
        tabs=counts,
        matching=len(here),
        next=cursor_of(positions[ROWS - 1]) if len(positions) > ROWS else None,
        groups=made,
        chips=query.chips,
        as_of=now,
        empty=presence(model, now),
    )


def tabs(model: SessionsSeen, now: int) -> dict[str, int]:
    """Return how many rows each tab has without a filter: what the frame of every page shows."""
    return _counts(model.attention(now).values())[1]


def _passes(about: Attention, query: Query, now: int) -> bool:
    if query.ranks and about.rank not in query.ranks:
        return False
    for term in query.terms:  # noqa: SIM110  # a third of the time of `all`
        if not term(about, now):
            return False
    return True


def _one_page(here: list[Attention], query: Query, now: int) -> list[Position]:
    """Return where the rows of a page stand, and one more if there are more."""
    if query.sort is InboxSort.WASTE:
        positions = [about.position for about in here]
    else:
        value = _VALUES[query.sort]
        positions = [(about.rank, value(about, now), about.session_id) for about in here]
    if query.after is not None:
        positions = [each for each in positions if each > query.after]
    return nsmallest(ROWS + 1, positions)


def _counts(found: Iterable[Attention]) -> tuple[dict[str, float], dict[str, int]]:
    """Return the totals of what is open and not handled, and the number of rows of each tab.

    Tokens and cost are those of the rows that need somebody.
    """
    ranks, needs, watched, handled = [0] * len(Class), 0, 0, 0
    # Added up exactly: sums of floats depend on their order otherwise, and so on which record came first.
    tokens, cost = list[float](), list[float]()
    for about in found:
        tab = about.tab
        if tab is _HANDLED:
            handled += 1
            continue
        ranks[about.rank] += 1
        if tab is _NEEDS_YOU:
            needs += 1
            tokens.append(about.tokens)
            cost.append(about.cost)
        elif tab is _WATCHING:
            watched += 1
    *shown, ended, recovered = ranks
    totals: dict[str, float] = dict(zip(_OPEN, shown, strict=True))
    counts = (needs, watched, handled, ended, recovered)
    return {**totals, "tokens": fsum(tokens), "cost": fsum(cost)}, dict(zip(_TABS, counts, strict=True))


#: A member looked up in its class costs as much as the rest of the loop.
_NEEDS_YOU, _WATCHING, _HANDLED = Tab.NEEDS_YOU, Tab.WATCHING, Tab.HANDLED

_OPEN: Final = tuple(str(each) for each in Class if each not in {Class.ENDED, Class.RECOVERED})
_TABS: Final = tuple(str(each) for each in Tab)

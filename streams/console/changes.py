"""What changed since a moment: loops that began, how loops ended, and what people did."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, Final, NamedTuple

import orjson

from streams.console.action_list import did, session_of
from streams.console.inbox.terms import duration_of
from streams.console.paging import newest_first
from streams.console.read_model.episode import event_of
from streams.console.read_model.rows import ActionRow, EpisodeRow
from streams.core.detectors.verdict.presentation import pattern
from streams.core.domain.text.amounts import count

DEFAULT: Final = "24h"
"""How far back the page goes unless it is told."""

LOOKED: Final = "look"
"""In an address, the moment at which this browser last had the page."""

_ENDS: Final = {
    "quiet": ("good", "came out of its loop"),
    "terminal": ("high", "ended in its loop"),
    "expired": ("high", "fell silent in its loop"),
}
_NO_CHANGE: Final = frozenset({"login", "view_raw"})


class Change(NamedTuple):
    """Something that happened.

    Attributes:
        at: when, ms since 1970; of loops as the agent dates it.
        id: what no other change has.
        tone: how grave it is: the name of a colour and of a symbol.
        who, what, whom: agent or person, what happened, and to which session or what else.
        why: the reason that a person gave.
        session_id: Session that it is about, None if it is about none.
    """

    at: int
    id: str
    tone: str
    who: str
    what: str
    whom: str
    why: str
    session_id: str | None


def since_of(query: Mapping[str, str], looked: int | None, now: int) -> int:
    """Return the moment that a query names.

    Raises:
        ConfigurationError: it names none.

    >>> since_of({"since": "2h"}, None, 10_000_000), since_of({"since": "look"}, 7, 10_000_000)
    (2800000, 7)
    """
    given = query.get("since", "").strip() or DEFAULT
    if given == LOOKED and looked is not None:
        return looked
    return now - int(duration_of("since", DEFAULT if given == LOOKED else given))


def changes(
    episodes: Iterable[EpisodeRow], actions: Iterable[ActionRow], since: int, cursor: str
) -> dict[str, Any]:
    """Return what changed, newest first, with a sentence that sums it up.

    Args:
        episodes: Loops of all sessions, those in memory and those of the archive.
        actions: Rows of the audit, of consoles and of shells.
        since: Moment from which on, in milliseconds since 1970.
        cursor: That of the page before, empty for the first page.

    Raises:
        ConfigurationError: the cursor is none.
    """
    looped = [row for row in episodes if row.loop_ts is not None]
    began = [row for row in looped if (row.loop_ts or 0) >= since]
    over = [row for row in looped if not row.open and row.seen_ts >= since]
    acted = [row for row in actions if row.at >= since and row.kind not in _NO_CHANGE]
    known = {row.episode_id: row for row in looped}
    found = [*map(_began, began), *map(_ended, over), *(_acted(row, known.get) for row in acted)]
    shown, paged = newest_first(found, lambda row: row.at, lambda row: row.id, cursor)
    return {
        "rows": [row._asdict() for row in shown],
        "lead": ", ".join(_totals(began, over, acted)) + ".",
        "since": since,
        **paged._asdict(),
    }


def _totals(began: list[EpisodeRow], over: list[EpisodeRow], acted: list[ActionRow]) -> Iterator[str]:
    recovered = sum(row.reason == "quiet" for row in over)
    yield f"{count(len(began), 'loop')} began"
    yield f"{len(over) - recovered:,} ended in their loop"
    yield f"{recovered:,} came out of it"
    tokens = sum(row.tokens for row in began)
    if tokens:
        yield f"{tokens:,.0f} tokens since these began"
    yield f"{count(len(acted), 'action')} by people"


def _began(row: EpisodeRow) -> Change:
    what = f"began to loop: {pattern(event_of(row))}"
    return _of_session(row, row.loop_ts or 0, f"{row.episode_id}/began", "critical", what)


def _ended(row: EpisodeRow) -> Change:
    tone, what = _ENDS.get(row.reason or "", ("high", "is out of its loop, which a newer worker says why"))
    spent = f"; {row.tokens:,.0f} tokens" if row.tokens else ""
    return _of_session(row, row.seen_ts, f"{row.episode_id}/ended", tone, f"{what}{spent}")


def _of_session(row: EpisodeRow, at: int, change_id: str, tone: str, what: str) -> Change:
    return Change(at, change_id, tone, row.agent_id, what, row.session_id, "", row.session_id)


def _acted(row: ActionRow, episode: Callable[[str], EpisodeRow | None]) -> Change:
    what = did(row.kind, orjson.loads(row.body).get("request"))
    session_id = session_of(row, episode)
    tone = "low" if row.result in ("accepted", "") else "medium"
    return Change(row.at, row.id, tone, row.who, what, row.target, row.why, session_id)

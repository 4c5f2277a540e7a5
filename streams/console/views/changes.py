"""What changed since yesterday, or since whoever asks last looked."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, Final, NamedTuple

import orjson
from aiohttp import web

from streams.console.console import Console
from streams.console.inbox.terms import duration_of
from streams.console.interventions.decided import NOTHING_DONE, is_automatic
from streams.console.read_model.episode import event_of
from streams.console.read_model.rows import ActionRow, EpisodeRow
from streams.console.read_model.tables import EPISODE
from streams.console.view import newest_first
from streams.console.views.audit import did, session_of
from streams.console.views.following import board_of
from streams.core.detectors.verdict.presentation import pattern
from streams.core.domain.text.figures import count
from streams.core.errors import ConfigurationError

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
    acted = [
        row
        for row in actions
        if row.at >= since and row.kind not in _NO_CHANGE and row.result not in NOTHING_DONE
    ]
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
    automatic = sum(map(is_automatic, acted))
    yield f"{count(len(acted) - automatic, 'action')} by people"
    if automatic:
        yield f"{automatic:,} by policies"


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


_COOKIE: Final = "eddy-looked"
#: Who loads the page again within this time is still looking.
_SAME_LOOK_MS: Final = 30 * 60_000
_KEPT_S: Final = 90 * 86_400
#: The newest loops of the archive that a page looks at.
_MOST: Final = 20_000
_SINCE: Final = 'WHERE "loop_ts" >= ? OR "seen_ts" >= ? ORDER BY "seen_ts" DESC LIMIT ?'


def routes(console: Console) -> Sequence[web.RouteDef]:
    """Return the route of the page."""

    async def show(request: web.Request) -> web.Response:
        board, now, problem = board_of(console), console.clock(), ""
        before, newest = _looked(request.cookies.get(_COOKIE, ""), now)
        try:
            since = since_of(request.query, before, now)
        except ConfigurationError as error:
            since, problem = since_of({}, None, now), str(error)
        kept = await board.archived(EPISODE, _SINCE, (since, since, _MOST))
        rows = {row.episode_id: row for row in kept if isinstance(row, EpisodeRow)}
        for case in board.model.cases.values():
            rows |= {each.episode_id: case.current(each) for each in case.episodes.values()}
        found = changes(
            rows.values(), board.model.ledger.actions.values(), since, request.query.get("cursor", "")
        )
        content = {**found, "query": dict(request.query), "problem": problem, "looked": before}
        answer = console.answer(request, "changes.html.j2", "changes", content)
        answer.set_cookie(
            _COOKIE, f"{before or now}.{newest}", max_age=_KEPT_S, httponly=True, samesite="Strict"
        )
        return answer

    return [web.get("/changes", show)]


def _looked(cookie: str, now: int) -> tuple[int | None, int]:
    """Return when a browser had the page before this look, None for never; and what to keep as newest."""
    before, dot, newest = cookie.partition(".")
    if not dot or not (before.isdecimal() and newest.isdecimal()) or len(cookie) > 40:
        return None, now
    return (int(before) if now - int(newest) < _SAME_LOOK_MS else int(newest)), now

"""What changed since yesterday, or since whoever asks last looked."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from aiohttp import web

from streams.console.changes import changes, since_of
from streams.console.console import Console
from streams.console.read_model.rows import EpisodeRow
from streams.console.read_model.tables import EPISODE
from streams.console.views.following import board_of
from streams.core.errors import ConfigurationError

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

"""The list of sessions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from aiohttp import web

from streams.console.auth import Identity
from streams.console.console import Console
from streams.console.inbox.session_list import SEARCHES_GOALS
from streams.console.view import PageView
from streams.console.views.following import board_of
from streams.console.wording import row_key
from streams.core.errors import ConfigurationError


async def live(console: Console, query: Mapping[str, str], who: Identity, now: int) -> PageView:
    """Return the part of the list that changes."""
    asked = _asked(console, query, who)
    found = console.redaction.applied(console.board.sessions(asked, now), who.reads_as)
    pages = console.pages
    rows = {
        row_key(row["session_id"]): pages.fragment("session_row.html.j2", "session_row", row, None)
        for row in found["rows"]
    }
    lead = pages.fragment("session_row.html.j2", "sessions_lead", found["lead"])
    return PageView(tuple(rows), rows, {"lead": lead, **console.header_parts(now)})


def _asked(console: Console, query: Mapping[str, str], who: Identity) -> dict[str, str]:
    """Return a query that looks in goals too, unless whoever asks may not read them whole."""
    is_hidden = console.redaction.hides(who.reads_as) or console.redaction.patterns
    return {**query, SEARCHES_GOALS: "" if is_hidden else "1"}


def routes(whole: Console) -> Sequence[web.RouteDef]:
    """Return the routes of the list."""

    async def show(request: web.Request) -> web.Response:
        console = whole.seen_by(request["who"])
        now, problem = console.clock(), ""
        try:
            found = console.board.sessions(_asked(console, request.query, request["who"]), now)
        except ConfigurationError as error:
            found, problem = console.board.sessions({}, now), str(error)
        older, is_cut = list[dict[str, Any]](), False
        if console.board.live and not problem:
            older, is_cut = await board_of(console).older_sessions(
                _asked(console, request.query, request["who"]), now
            )
        content = {
            **found,
            "older": older,
            "older_cut": is_cut,
            "query": dict(request.query),
            "problem": problem,
        }
        return console.answer(request, "sessions.html.j2", "sessions", content)

    return [web.get("/sessions", show)]

"""The inbox: which sessions need somebody, worst first."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from aiohttp import web

from streams.console.auth import Identity
from streams.console.command_form import UNCONFIRMED
from streams.console.console import Console
from streams.console.view import PageView
from streams.console.wording import row_key
from streams.core.errors import ConfigurationError

#: Causes of a page, the worst.
MOST_GROUPS: Final = 100


async def live(console: Console, query: Mapping[str, str], who: Identity, now: int) -> PageView:
    """Return the part of the inbox that changes."""
    found = console.redaction.applied(console.board.alerts(query, now), who.reads_as)
    if found["groups"] is None:
        rows = {
            row_key(row["session_id"]): console.pages.fragment(
                "alert_row.html.j2", "alert_row", row, None, who.acts_on(row["agent_id"]), ""
            )
            for row in found["rows"]
        }
    else:
        rows = {
            row_key(group["cause_key"]): console.pages.fragment(
                "group_row.html.j2", "group_row", group, who.may_act and who.stops in (None, who.sees)
            )
            for group in found["groups"][:MOST_GROUPS]
        }
    tabs = console.pages.fragment("alerts_parts.html.j2", "tabs_bar", found["tabs"], found["tab"], query)
    lead = console.pages.fragment("alerts_parts.html.j2", "lead", found["summary"])
    return PageView(tuple(rows), rows, {"tabs": tabs, "lead": lead, **console.header_parts(now)})


def _many(console: Console, request: web.Request, now: int) -> Mapping[str, Any] | None:
    """Return what the dialog is about: of no session if all of them have left; None if there is no dialog."""
    if request.query.get("dialog") != "many" or not request["who"].may_act:
        return None
    chosen = request.query.getall("chosen", [])
    return console.board.many(request.query.get("cause", ""), chosen, now) or {"sessions": 0}


def routes(whole: Console) -> Sequence[web.RouteDef]:
    """Return the route of the inbox."""

    async def show(request: web.Request) -> web.Response:
        console = whole.seen_by(request["who"])
        now, problem = console.clock(), ""
        try:
            found = console.board.alerts(request.query, now)
        except ConfigurationError as error:
            found, problem = console.board.alerts({}, now), str(error)
        content = {
            **found,
            "query": dict(request.query),
            "problem": problem,
            "most_groups": MOST_GROUPS,
            "unconfirmed": UNCONFIRMED,
            "many": _many(console, request, now),
        }
        return console.answer(request, "alerts.html.j2", "alerts", content)

    return [web.get("/alerts", show)]

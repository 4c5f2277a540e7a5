"""The inbox: which sessions need somebody, worst first."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from aiohttp import web

from streams.console.access import Identity
from streams.console.console import Console
from streams.console.view import View
from streams.console.wording import row_key
from streams.errors import ConfigurationError


async def live(console: Console, query: Mapping[str, str], who: Identity, now: int) -> View:
    """Return the part of the inbox that changes."""
    found = console.redaction.applied(console.board.alerts(query, now), who.role)
    rows = {
        row_key(row["session_id"]): console.pages.fragment(
            "alert_row.html.j2", "alert_row", row, None, who.may_act, ""
        )
        for row in found["rows"]
    }
    tabs = console.pages.fragment("alerts_parts.html.j2", "tabs_bar", found["tabs"], found["tab"], query)
    lead = console.pages.fragment("alerts_parts.html.j2", "lead", found["summary"])
    return View(tuple(rows), rows, {"tabs": tabs, "lead": lead, **console.header_parts(now)})


def routes(console: Console) -> Sequence[web.RouteDef]:
    """Return the route of the inbox."""

    async def show(request: web.Request) -> web.Response:
        now, problem = console.clock(), ""
        try:
            found = console.board.alerts(request.query, now)
        except ConfigurationError as error:
            found, problem = console.board.alerts({}, now), str(error)
        content = {**found, "query": dict(request.query), "problem": problem}
        return console.answer(request, "alerts.html.j2", "alerts", content)

    return [web.get("/alerts", show)]

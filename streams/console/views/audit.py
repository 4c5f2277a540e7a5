"""The audit: who did what at the console or a shell."""

from __future__ import annotations

from collections.abc import Sequence

from aiohttp import web

from streams.console.action_list import action_list
from streams.console.console import Console
from streams.console.views.following import board_of
from streams.core.errors import ConfigurationError


def routes(console: Console) -> Sequence[web.RouteDef]:
    """Return the route of the list."""

    async def show(request: web.Request) -> web.Response:
        model, now, problem = board_of(console).model, console.clock(), ""
        try:
            found = action_list(model, request.query, now)
        except ConfigurationError as error:
            found, problem = action_list(model, {}, now), str(error)
        content = {**found, "query": dict(request.query), "problem": problem}
        return console.answer(request, "audit.html.j2", "audit", content)

    return [web.get("/audit", show)]

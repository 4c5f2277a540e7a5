"""The list of dead letters."""

from __future__ import annotations

from collections.abc import Sequence

from aiohttp import web

from streams.console.console import Console
from streams.console.letter_list import letter_list
from streams.console.views.following import board_of
from streams.core.errors import ConfigurationError


def routes(console: Console) -> Sequence[web.RouteDef]:
    """Return the route of the list."""

    async def show(request: web.Request) -> web.Response:
        model, now, problem = board_of(console).model, console.clock(), ""
        try:
            found = letter_list(model, request.query, now)
        except ConfigurationError as error:
            found, problem = letter_list(model, {}, now), str(error)
        content = {**found, "query": dict(request.query), "problem": problem}
        return console.answer(request, "dead_letters.html.j2", "dead-letters", content)

    return [web.get("/dead-letters", show)]

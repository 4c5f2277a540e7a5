"""What was commanded to sessions and agents, and how far it has come."""

from __future__ import annotations

from collections.abc import Sequence

from aiohttp import web

from streams.console.command_list import command_list
from streams.console.console import Console
from streams.console.views.following import board_of


def routes(console: Console) -> Sequence[web.RouteDef]:
    """Return the route of the list."""

    async def show(request: web.Request) -> web.Response:
        found = command_list(board_of(console).model, request.query, console.clock())
        return console.answer(
            request, "commands.html.j2", "commands", {**found, "query": dict(request.query)}
        )

    return [web.get("/commands", show)]

"""Holds: stop an agent, or every agent, and whatever attaches later; and release that."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from aiohttp import web
from eddy_client.protocol import LONGEST_ID

from streams.console.action_context import SessionQueries
from streams.console.console import Console
from streams.core.errors import ConfigurationError

#: For how long a hold may last, in minutes.
_MINUTES: Final = (15, 30, 60, 240, 1_440)


def routes(console: Console, known: SessionQueries) -> Sequence[web.RouteDef]:
    """Return the routes of the page of holds."""

    async def show(request: web.Request) -> web.Response:
        agent = request.query.get("agent", "").strip() or None
        if agent is not None and len(agent) > LONGEST_ID:
            raise ConfigurationError(f"An agent's id has {LONGEST_ID:,} characters or fewer.")
        content = {
            "agent": agent,
            "sessions": known.live(agent),
            "in_force": [each._asdict() for each in known.holds()],
            "minutes": _MINUTES,
        }
        return console.answer(request, "hold.html.j2", "hold", content)

    return [web.get("/hold", show)]

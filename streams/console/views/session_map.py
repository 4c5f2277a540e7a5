"""The map: every session at its place, in the colour and shape of its state; and who loops on what."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from aiohttp import web

from streams.console.auth import Identity
from streams.console.console import Console
from streams.console.live_board import LiveBoard
from streams.console.session_map import By, MapQuery, Seat, cell, matrix, picture, seat_of
from streams.console.view import PageView
from streams.console.views.following import board_of
from streams.core.errors import ConfigurationError

_GROUPS = {By.AGENT: "agent", By.AGENT_TYPE: "type", By.TASK_TYPE: "task", By.CLUSTER: "cluster"}


def routes(whole: Console) -> Sequence[web.RouteDef]:
    """Return the routes of the map and of one cell of it."""

    async def show(request: web.Request) -> web.Response:
        console = whole.seen_by(request["who"])
        board, query, now, problem = board_of(console), request.query, console.clock(), ""
        try:
            asked = MapQuery.parse(query)
        except ConfigurationError as error:
            asked, problem = MapQuery(), str(error)
        content = {
            **_content(board, asked, query, now),
            "groupings": [{"name": str(by), "title": title} for by, title in _GROUPS.items()],
            "cell": _chosen(board, asked, query, now),
            "query": dict(query),
            "problem": problem,
        }
        return console.answer(request, "map.html.j2", "map", content)

    async def show_cell(request: web.Request) -> web.Response:
        console = whole.seen_by(request["who"])
        board, now = board_of(console), console.clock()
        chosen = _chosen(board, MapQuery.parse(request.query), request.query, now)
        return console.answer(request, "map_cell.html.j2", "map", {"cell": chosen})

    return [web.get("/map", show), web.get("/map/cell", show_cell)]


async def live(console: Console, query: Mapping[str, str], who: Identity, now: int) -> PageView:
    """Return the part of the map that changes: a row for each group, with its cells."""
    asked, pages = MapQuery.parse(query), console.pages
    found = console.redaction.applied(_content(board_of(console), asked, query, now), who.reads_as)
    parts = {"lead": pages.fragment("map_parts.html.j2", "map_lead", found), **console.header_parts(now)}
    if found["form"] == "matrix":
        parts["matrix"] = pages.fragment("map_parts.html.j2", "matrix_table", found["matrix"])
        return PageView(parts=parts)
    parts["legend"] = pages.fragment("map_parts.html.j2", "legend", found, query)
    rows = {
        f"g{group['place']}": pages.fragment("map_parts.html.j2", "group_row", group, found["by"])
        for group in found["groups"]
    }
    return PageView(tuple(rows), rows, parts)


def _content(board: LiveBoard, asked: MapQuery, query: Mapping[str, str], now: int) -> dict[str, Any]:
    """Return what the page shows, beside the chosen cell."""
    form = query.get("as") if query.get("as") in ("table", "matrix") else "map"
    content = {"by": str(asked.by), "state": asked.state, "form": form, "as_of": now}
    if form == "matrix":
        return {
            **content,
            "matrix": {**matrix(board.seen.attention(now).values(), now), "linked": board.shows_all},
        }
    seating = board.session_map.settled(board.seen, asked.by)
    return {**content, **picture(board.seen, seating, now), "lag": board.facts(now).lag}


def _chosen(board: LiveBoard, asked: MapQuery, query: Mapping[str, str], now: int) -> dict[str, Any] | None:
    """Return what the card says: of the session with an ``id``, or of who stands ``at`` a seat."""
    seating = board.session_map.settled(board.seen, asked.by)
    session_id = query.get("id") or _standing(seat_of(query.get("at", "")), board, asked)
    return None if not session_id else cell(board.seen, seating, session_id, now)


def _standing(seat: Seat | None, board: LiveBoard, asked: MapQuery) -> str | None:
    return None if seat is None else board.session_map.seatings[asked.by].session(seat)

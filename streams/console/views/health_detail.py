"""One agent or one tool: its counts over time, its open sessions, and the loops that its sessions share."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any

import orjson
from aiohttp import web

from streams.console.auth import Identity
from streams.console.console import Console
from streams.console.health.detail import open_sessions, settings_changes, shared_loops
from streams.console.health.ranking import RankingScope
from streams.console.health.report import HealthReport
from streams.console.health.series import RANGES, SHOWN, points, range_of, strips
from streams.console.health_samples import samples
from streams.console.read_model.tables import HEALTH
from streams.console.view import PageView
from streams.console.views.following import board_of
from streams.console.views.health import report_content
from streams.console.wording import row_key
from streams.core.domain.text.printable import printable
from streams.core.errors import ConfigurationError

Live = Callable[[Console, Mapping[str, str], Identity, int], Awaitable[PageView | None]]


def routes_of(scope: RankingScope) -> Callable[[Console], Sequence[web.RouteDef]]:
    """Return what makes the route of the page of an agent or of a tool."""

    def routes(console: Console) -> Sequence[web.RouteDef]:
        async def show(request: web.Request) -> web.Response:
            name, now = request.query.get("name", ""), console.clock()
            found = await _content(console, scope, name, request.query.get("range", ""), now)
            content = {**found, "query": dict(request.query)}
            return console.answer(request, "health_detail.html.j2", "health", content)

        return [web.get(f"/health/{scope}", show)]

    return routes


def live_of(scope: RankingScope) -> Live:
    """Return what computes the part of such a page that changes."""

    async def live(console: Console, query: Mapping[str, str], who: Identity, now: int) -> PageView | None:
        report, pages = _report(console, scope, query.get("name", "")), console.pages
        found = {
            "report": report_content(report, now),
            **open_sessions(board_of(console).model, scope, report.name, now),
        }
        shown = console.redaction.applied(found, who.role)
        rows = {
            row_key(row["session_id"]): pages.fragment("health_parts.html.j2", "open_row", row, now)
            for row in shown["open"]
        }
        figures = pages.fragment("health_parts.html.j2", "one_figures", shown["report"], now)
        return PageView(tuple(rows), rows, {"figures": figures, **console.header_parts(now)})

    return live


def _report(console: Console, scope: RankingScope, name: str) -> HealthReport:
    row = board_of(console).model.ledger.newest_health().get((scope, name))
    if row is None:
        raise ConfigurationError(
            f"Nothing is known of {scope} {printable(name, 80)}. /health?scope={scope} has all names."
        )
    return HealthReport.of(row)


async def _content(console: Console, scope: RankingScope, name: str, wanted: str, now: int) -> dict[str, Any]:
    board, report = board_of(console), _report(console, scope, name)
    model, archive = board.model, board.feed.archive
    oldest = await archive.select(
        HEALTH, "WHERE scope = ? AND name = ? ORDER BY bucket LIMIT 1", (scope, name)
    )
    asked = range_of(wanted, oldest[0].bucket if oldest else report.as_of, now)  # type: ignore[union-attr]
    since = now - asked.length_ms
    kept = await samples(archive, model.ledger, scope, [name], since, asked.step_ms)
    known = points(kept[name], asked)
    changes = settings_changes(model.ledger.versions.values(), since)
    return {
        "report": report_content(report, now),
        "range": asked.name,
        "ranges": [{"name": each.name, "title": each.title} for each in RANGES],
        "points": known,
        "strips_json": orjson.dumps(
            {**strips(known, asked, now), "changes": changes, "shown": SHOWN}
        ).decode(),
        "changes": changes,
        "chains": shared_loops(model, report, now) if scope is RankingScope.AGENT else [],
        **open_sessions(model, scope, name, now),
    }

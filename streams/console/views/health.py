"""How agents and tools fare: who loops now, and who has wasted most."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from aiohttp import web

from streams.console.auth import Identity
from streams.console.console import Console
from streams.console.health.ranking import HealthQuery, RankingScope, ranking, totals
from streams.console.health.report import DAY_MS, HealthReport
from streams.console.health.series import HOUR_MS, by_hour
from streams.console.health_samples import samples
from streams.console.view import PageView
from streams.console.views.following import board_of
from streams.console.wording import row_key
from streams.core.errors import ConfigurationError

#: The counts change with each record, and are over an hour: they are read again after so long.
_FRESH_MS: Final = 5_000


def routes(console: Console) -> Sequence[web.RouteDef]:
    """Return the route of the list."""

    async def show(request: web.Request) -> web.Response:
        now, problem = console.clock(), ""
        try:
            found = await _content(console, HealthQuery.parse(request.query), now)
        except ConfigurationError as error:
            found, problem = await _content(console, HealthQuery(), now), str(error)
        content = {**found, "query": dict(request.query), "problem": problem}
        return console.answer(request, "health.html.j2", "health", content)

    return [web.get("/health", show)]


async def live(console: Console, query: Mapping[str, str], who: Identity, now: int) -> PageView:
    """Return the part of the list that changes."""
    key, version = ("health", tuple(sorted(query.items())), who.role), now // _FRESH_MS
    before = console.memo.get(key)
    if before is not None and before[0] == version:
        made = before[1]
    else:
        made = await _rows(console, query, who, now)
        console.remember(key, version, made)
    return PageView(made.order, made.rows, {**made.parts, **console.header_parts(now)})


async def _rows(console: Console, query: Mapping[str, str], who: Identity, now: int) -> PageView:
    found = console.redaction.applied(await _content(console, HealthQuery.parse(query), now), who.role)
    pages = console.pages
    rows = {
        row_key(row["name"]): pages.fragment("health_parts.html.j2", "health_row", row, now)
        for row in found["rows"]
    }
    figures = pages.fragment("health_parts.html.j2", "fleet_figures", found["totals"], found["scope"])
    return PageView(tuple(rows), rows, {"figures": figures})


async def _content(console: Console, query: HealthQuery, now: int) -> dict[str, Any]:
    board = board_of(console)
    ledger = board.model.ledger
    reports = [HealthReport.of(row) for row in ledger.newest_health().values()]
    found = ranking(reports, query, now)
    names = [each.name for each in found.reports]
    since = (now // HOUR_MS - 23) * HOUR_MS
    kept = await samples(board.feed.archive, ledger, query.scope, names, since, HOUR_MS)
    sparks = {name: by_hour(rows, now) for name, rows in kept.items()}
    # One scale for all rows: a bar is as high as the waste is large.
    most = max((value for spark in sparks.values() for value in spark), default=0)
    rows = [{**report_content(each, now), "spark": sparks[each.name], "most": most} for each in found.reports]
    return {
        "scope": str(query.scope),
        "sort": str(query.sort),
        "rows": rows,
        "totals": totals(reports, query.scope, now),
        "scopes": [
            {"name": str(scope), "count": sum(each.scope == scope for each in reports)}
            for scope in RankingScope
        ],
        "matching": found.matching,
        "next": found.next,
        "as_of": now,
    }


def report_content(report: HealthReport, now: int) -> dict[str, Any]:
    """Return the counts of an agent or a tool as a page shows them."""
    return {
        **report._asdict(),
        "cross_chains": [each._asdict() for each in report.cross_chains],
        "share": report.share,
        "stale": report.is_stale(now),
        "seen_today": now - report.as_of <= DAY_MS,
    }

"""How agents and tools fare: who loops now, who has wasted most, and the page of one of them."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any, Final

import orjson
from aiohttp import web

from streams.console.archive.row_store import RowStore
from streams.console.auth import Identity
from streams.console.console import Console
from streams.console.health import (
    DAY_MS,
    HOUR_MS,
    RANGES,
    SHOWN,
    HealthQuery,
    HealthReport,
    RankingScope,
    by_hour,
    merged,
    open_sessions,
    points,
    range_of,
    ranking,
    settings_changes,
    shared_loops,
    strips,
    totals,
)
from streams.console.read_model.ledger import Ledger
from streams.console.read_model.rows import HealthRow
from streams.console.read_model.tables import HEALTH
from streams.console.view import PageView
from streams.console.views.following import board_of
from streams.console.wording import row_key
from streams.core.domain.text.printable import printable
from streams.core.errors import ConfigurationError


async def samples(
    archive: RowStore, ledger: Ledger, scope: str, names: Sequence[str], since: int, step_ms: int
) -> dict[str, list[HealthRow]]:
    """Return the newest sample of each step of time, by name, oldest first.

    Args:
        archive: Has all samples of 30 days, but perhaps not yet the newest.
        ledger: Holds the newest samples.
        scope: Kind of subject, agent or tool.
        names: At most a page of them.
        since: Where it begins, in milliseconds since 1970.
        step_ms: The length of a step, whole samples of five minutes.
    """
    marks = ", ".join("?" * len(names))
    newest = (
        'WHERE ("scope", "name", "bucket") IN (SELECT "scope", "name", max("bucket") FROM "health" '  # noqa: S608
        f'WHERE "scope" = ? AND "name" IN ({marks}) AND "bucket" >= ? GROUP BY "name", "bucket" / ?)'
    )
    kept = await archive.select(HEALTH, newest, (scope, *names, since, step_ms)) if names else []
    wanted = set(names)
    held = [
        row
        for row in ledger.health.values()
        if row.scope == scope and row.name in wanted and row.bucket >= since
    ]
    found: dict[str, list[HealthRow]] = {name: [] for name in names}
    for row in merged((row for row in kept if isinstance(row, HealthRow)), held):
        found[row.name].append(row)
    return found


#: The counts change with each record, and are over an hour: they are read again after so long.
_FRESH_MS: Final = 5_000


def routes(console: Console) -> Sequence[web.RouteDef]:
    """Return the route of the list."""

    async def show(request: web.Request) -> web.Response:
        now, problem = console.clock(), ""
        try:
            found = await _page_content(console, HealthQuery.parse(request.query), now)
        except ConfigurationError as error:
            found, problem = await _page_content(console, HealthQuery(), now), str(error)
        content = {**found, "query": dict(request.query), "problem": problem}
        return console.answer(request, "health.html.j2", "health", content)

    return [web.get("/health", show)]


async def live(console: Console, query: Mapping[str, str], who: Identity, now: int) -> PageView:
    """Return the part of the list that changes."""
    key, version = ("health", tuple(sorted(query.items())), who.reads_as), now // _FRESH_MS
    before = console.memo.get(key)
    if before is not None and before[0] == version:
        made = before[1]
    else:
        made = await _rows(console, query, who, now)
        console.remember(key, version, made)
    return PageView(made.order, made.rows, {**made.parts, **console.header_parts(now)})


async def _rows(console: Console, query: Mapping[str, str], who: Identity, now: int) -> PageView:
    found = console.redaction.applied(
        await _page_content(console, HealthQuery.parse(query), now), who.reads_as
    )
    pages = console.pages
    rows = {
        row_key(row["name"]): pages.fragment("health_parts.html.j2", "health_row", row, now)
        for row in found["rows"]
    }
    figures = pages.fragment("health_parts.html.j2", "fleet_figures", found["totals"], found["scope"])
    return PageView(tuple(rows), rows, {"figures": figures})


async def _page_content(console: Console, query: HealthQuery, now: int) -> dict[str, Any]:
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


Live = Callable[[Console, Mapping[str, str], Identity, int], Awaitable[PageView | None]]


def routes_of(scope: RankingScope) -> Callable[[Console], Sequence[web.RouteDef]]:
    """Return what makes the route of the page of an agent or of a tool."""

    def routes(console: Console) -> Sequence[web.RouteDef]:
        async def show(request: web.Request) -> web.Response:
            name, now = request.query.get("name", ""), console.clock()
            found = await _detail_content(console, scope, name, request.query.get("range", ""), now)
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
        shown = console.redaction.applied(found, who.reads_as)
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


async def _detail_content(
    console: Console, scope: RankingScope, name: str, wanted: str, now: int
) -> dict[str, Any]:
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

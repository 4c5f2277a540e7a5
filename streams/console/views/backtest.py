"""A backtest of a proposal: begun, watched, cancelled."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

from aiohttp import web

from streams.console.action_context import ActionContext, done, form_sent
from streams.console.auth import Identity
from streams.console.backtests import BacktestJob, Backtests
from streams.console.command_form import one
from streams.console.console import Console, NavigationScreen
from streams.console.proposal import as_typed, proposal, sent
from streams.console.view import PageView
from streams.console.views.following import board_of
from streams.console.views.settings import changes_of
from streams.core.errors import ConfigurationError


def routes(console: Console, context: ActionContext, backtests: Backtests) -> Sequence[web.RouteDef]:
    """Return the routes that begin and cancel a backtest.

    Args:
        console: Parts that all screens share.
        context: What actions are done with.
        backtests: Runs and remembers the backtests.
    """

    async def backtest(request: web.Request) -> web.Response:
        form, who = await form_sent(request), context.who(request, console.clock())
        found = proposal(board_of(console).settings, sent(one(form, "changes")))
        if not found.acceptable:
            raise ConfigurationError("There is nothing to compare: no setting would change, or one is wrong.")
        hours = one(form, "hours") or "1"
        begun = await backtests.begin(
            found, int(hours) if hours.isascii() and hours.isdecimal() else 0, who.issuer.name
        )
        page = console.pages.url("/settings/backtest", id=begun.id)
        return done(console, request, form, {"id": begun.id}, page)

    async def cancel(request: web.Request) -> web.Response:
        form = await form_sent(request)
        await backtests.cancel()
        return done(console, request, form, {}, console.pages.url("/settings/backtest", id=one(form, "id")))

    return [
        web.post("/actions/settings/backtest", backtest),
        web.post("/actions/settings/backtest/cancel", cancel),
    ]


def screen(backtests: Backtests) -> NavigationScreen:
    """Return the page of a backtest, which moves as long as it runs.

    Args:
        backtests: Runs and remembers the backtests.
    """
    return NavigationScreen(
        "backtest", "", "/settings/backtest", "", partial(_routes, backtests), partial(_live, backtests)
    )


def _routes(backtests: Backtests, console: Console) -> Sequence[web.RouteDef]:
    async def shown(request: web.Request) -> web.Response:
        found = backtests.kept.get(request.query.get("id", ""))
        if found is None:
            raise ConfigurationError(
                "There is no such backtest: this console was started again, or ran twenty others since. Run "
                "it again from /settings/propose."
            )
        return console.answer(request, "settings_backtest.html.j2", "settings", _content(found))

    return [web.get("/settings/backtest", shown)]


async def _live(
    backtests: Backtests, console: Console, query: Mapping[str, str], who: Identity, now: int
) -> PageView | None:
    """Return the parts of the page that change: how far it is, and what came of it."""
    found = backtests.kept.get(query.get("id", ""))
    if found is None:
        return None
    key, version = ("backtest", found.id, who.reads_as, who.may_act), (found.judged, found.ended)
    before = console.memo.get(key)
    if before is not None and before[0] == version:
        made = before[1]
    else:
        made = _parts(console, found, who)
        console.remember(key, version, made)
    return PageView(parts={**made.parts, **console.header_parts(now)})


def _parts(console: Console, found: BacktestJob, who: Identity) -> PageView:
    content, page = console.redaction.applied(_content(found), who.reads_as), "backtest_parts.html.j2"
    return PageView(
        parts={
            "back": console.pages.fragment(page, "back", content["backtest"], content["typed"]),
            "outcome": console.pages.fragment(page, "outcome", content["backtest"], who.may_act),
        }
    )


def _content(found: BacktestJob) -> dict[str, Any]:
    return {
        "backtest": {
            "id": found.id,
            "by": found.by,
            "at": found.at,
            "ended": found.ended,
            "hours": found.hours,
            "based_on": found.based_on,
            "records": found.records,
            "held": found.held,
            "judged": found.judged,
            "problem": found.problem,
            "summary": found.summary,
            "sessions": found.sessions,
        },
        "changes": changes_of({name: (None, value) for name, value in found.changes.items()}),
        "typed": {name: as_typed(value) for name, value in found.changes.items()},
    }

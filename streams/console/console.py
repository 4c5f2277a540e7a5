"""What every screen has: the board, the pages, the clock, and the one way to answer."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from http import HTTPStatus
from typing import Any

import orjson
from aiohttp import web

from streams.console.auth import Access, Identity
from streams.console.auth.identity import Agents
from streams.console.board import Board, Facts
from streams.console.pages import Pages
from streams.console.redaction import Redaction
from streams.console.settings import ConsoleSettings
from streams.console.view import PageView
from streams.console.wording import ago
from streams.core.domain.text.figures import duration


@dataclass(frozen=True, slots=True)
class NavigationScreen:
    """A screen as the navigation shows it.

    Attributes:
        name: what templates call it.
        title: what people call it.
        path: Path of its first page.
        icon: Name of an icon of `icons.html.j2`.
        routes: Makes the routes of its pages.
        live: Computes what changes on its page.
        needs_broker: Whether it is left out where the console shows files.
        for_teams: Whether people see it who are limited to some agents: it shows sessions, and theirs alone.
    """

    name: str
    title: str
    path: str
    icon: str
    routes: Callable[[Console], Sequence[web.RouteDef]]
    live: Callable[[Console, Mapping[str, str], Identity, int], Awaitable[PageView | None]] | None = None
    needs_broker: bool = False
    for_teams: bool = False


@dataclass(frozen=True, slots=True)
class Console:
    """What the screens are made from.

    Attributes:
        settings: as read at start.
        board: what is known of the sessions.
        pages: Renders the templates of pages.
        access: who may do what.
        redaction: what is never shown.
        clock: Returns the time in milliseconds since 1970.
        screens: those the navigation shows.
        agents: patterns of the agents that are shown; None for all.
        memo: views as they were made last, with what they were made from.
        teams: the consoles of people who are limited to some agents, by these.
        judging: held while a session is judged again: one at a time.
    """

    settings: ConsoleSettings
    board: Board
    pages: Pages
    access: Access
    redaction: Redaction
    clock: Callable[[], int]
    screens: tuple[NavigationScreen, ...]
    agents: Agents = None
    memo: dict[object, tuple[object, PageView]] = field(default_factory=dict)
    teams: dict[tuple[str, ...], Console] = field(default_factory=dict)
    judging: asyncio.Lock = field(default_factory=asyncio.Lock)

    def seen_by(self, who: Identity) -> Console:
        """Return what somebody sees: everything, or the screens and sessions of their agents."""
        if who.sees is None or self.agents is not None:
            return self
        found = self.teams.get(who.sees)
        if found is None:
            screens = tuple(screen for screen in self.screens if screen.for_teams)
            board = self.board.within(who.sees)
            found = replace(self, board=board, screens=screens, agents=who.sees, memo={}, teams={})
            while len(self.teams) >= MOST_TEAMS:
                del self.teams[next(iter(self.teams))]
            self.teams[who.sees] = found
        return found

    def answer(
        self,
        request: web.Request,
        template: str,
        screen: str,
        content: Mapping[str, Any],
        status: int = HTTPStatus.OK,
    ) -> web.Response:
        """Return a page, or the same content as JSON if the client asks for that.

        Args:
            request: Request as it came in.
            template: Name of a template.
            screen: Name of the screen, for the navigation.
            content: What the page shows: values that JSON knows.
            status: The status of HTTP.
        """
        who: Identity = request["who"]
        if wants_json(request):
            shown = self.redaction.applied(content, who.reads_as)
            body = orjson.dumps(shown, default=_plain, option=orjson.OPT_NON_STR_KEYS)
            return web.Response(body=body, content_type="application/json", status=status)
        page = self.page(request, template, screen, content)
        return web.Response(text=page, content_type="text/html", status=status)

    def page(self, request: web.Request, template: str, screen: str, content: Mapping[str, Any]) -> str:
        """Return a page. The arguments are those of `answer`."""
        who: Identity = request["who"]
        frame = {"shell": self.seen_by(who).shell(request, screen), "now": self.clock()}
        return self.pages.render(template, {**self.redaction.applied(content, who.reads_as), **frame})

    def remember(self, key: object, version: object, view: PageView) -> None:
        """Keep a view as it was made; of many, the newest."""
        self.memo[key] = version, view
        while len(self.memo) > MOST_REMEMBERED:
            del self.memo[next(iter(self.memo))]

    def header_parts(self, now: int) -> dict[str, str]:
        """Return the parts of the frame that change, by their ids."""
        facts = self.board.facts(now)
        shown = {"live": self.board.live, **_pulse(facts, now)}
        counts = {
            f"count-{name}": self.pages.fragment("parts.html.j2", "count_badge", name, count)
            for name, count in facts.counts.items()
        }
        return {"pulse": self.pages.fragment("parts.html.j2", "pulse_line", shown), **counts}

    def shell(self, request: web.Request, screen: str) -> dict[str, Any]:
        """Return what the frame around every page shows."""
        who: Identity = request["who"]
        now, facts = self.clock(), self.board.facts(self.clock())
        of_teams = {each.name for each in self.screens if each.for_teams}
        return {
            "screen": screen,
            "theme": request.cookies.get("eddy-theme") if request.cookies.get("eddy-theme") in THEMES else "",
            "csrf": self.access.csrf(request),
            "live": self.board.live,
            "live_url": self.pages.url("/live") if self.board.live else "",
            **_pulse(facts, now),
            "who": who.name,
            "role": who.role,
            "role_means": _ROLES[who.role],
            "can_log_out": who.via in ("cookie", "openid"),
            "may_act": self.board.live and who.may_act and (who.stops is None or screen in of_teams),
            "sees_all": self.agents is None,
            "may_hold": self.board.live and who.may_act and who.stops is None,
            "acts_on": who.acts_on,
            "acts_on_all": who.may_act and who.stops in (None, who.sees),
            "holds": facts.holds,
            "screens": [
                {
                    "name": each.name,
                    "title": each.title,
                    "path": each.path,
                    "icon": each.icon,
                    "counted": each.name in facts.counts,
                    "count": facts.counts.get(each.name, 0),
                }
                for each in self.screens
            ],
        }


#: Views that are kept to be sent again.
MOST_REMEMBERED = 100

#: Groups of people with the same agents that have a console of their own.
MOST_TEAMS = 200

#: Older than this, the newest record says that nothing comes any more: silence is not health.
SILENT_MS = 300_000
THEMES = ("dark", "light")

_ROLES = {"viewer": "may look", "operator": "may look and act", "agent": "may not look"}


def _pulse(facts: Facts, now: int) -> dict[str, Any]:
    """Return what the header says of how current the page is. What is not known is not shown as live."""
    fresh = facts.newest is not None and now - facts.newest < SILENT_MS
    return {
        "fresh": fresh and not facts.trouble,
        "state": facts.trouble or ("Live" if fresh else "Silent"),
        "pulse": pulse(facts, now),
    }


def pulse(facts: Facts, now: int) -> str:
    """Return the line of the header: what is known, and how fresh it is."""
    parts = [facts.source]
    if facts.newest is not None:
        parts.append(f"newest record {ago(facts.newest, now)}")
    if facts.silent_ms is not None:
        parts.append(f"no broker has answered for {duration(facts.silent_ms)}")
    if facts.lag:
        parts.append(f"{facts.lag:,} records behind")
    if facts.history_from is not None:
        parts.append(facts.history_from)
    return " · ".join(parts)


def wants_json(request: web.Request) -> bool:
    """Tell whether a client asks for JSON before a page."""
    return request.headers.get("Accept", "").split(",")[0].split(";")[0].strip() == "application/json"


def _plain(value: Any) -> Any:
    return list(value) if isinstance(value, set | frozenset | tuple) else str(value)

"""Puts a console together from its settings and a board."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

from streams.console.auth import Access
from streams.console.auth.policy import AccessPolicy
from streams.console.auth.refusal import AuthRefusal
from streams.console.auth.trail import Audit
from streams.console.board import Board
from streams.console.console import Console, NavigationScreen
from streams.console.health import RankingScope
from streams.console.pages import Assets, Pages
from streams.console.redaction import Redaction
from streams.console.settings import ConsoleSettings
from streams.console.views import (
    alerts,
    audit,
    changes,
    commands,
    dead_letters,
    health,
    job,
    licenses,
    policy,
    session,
    session_map,
    sessions,
    settings,
)

SCREENS: Final = (
    NavigationScreen(
        "alerts", "Alerts", "/alerts", "alerts", alerts.routes, alerts.live, needs_broker=True, for_teams=True
    ),
    NavigationScreen(
        "sessions", "Sessions", "/sessions", "sessions", sessions.routes, sessions.live, for_teams=True
    ),
    NavigationScreen("changes", "Changes", "/changes", "clock", changes.routes, needs_broker=True),
    NavigationScreen(
        "map", "Map", "/map", "map", session_map.routes, session_map.live, needs_broker=True, for_teams=True
    ),
    NavigationScreen("health", "Health", "/health", "health", health.routes, health.live, needs_broker=True),
    NavigationScreen("settings", "Settings", "/settings", "settings", settings.routes, needs_broker=True),
    NavigationScreen(
        "dead-letters", "Dead letters", "/dead-letters", "letters", dead_letters.routes, needs_broker=True
    ),
    NavigationScreen("policy", "Policy", "/policy", "policy", policy.routes, needs_broker=True),
    NavigationScreen("job", "Job", "/job", "job", job.routes, job.live, needs_broker=True),
    NavigationScreen("commands", "Commands", "/commands", "commands", commands.routes, needs_broker=True),
    NavigationScreen("audit", "Audit", "/audit", "audit", audit.routes, needs_broker=True),
    *(
        NavigationScreen(
            f"health-{scope}",
            "",
            f"/health/{scope}",
            "",
            health.routes_of(scope),
            health.live_of(scope),
            needs_broker=True,
        )
        for scope in RankingScope
    ),
    NavigationScreen("licenses", "", "/licenses", "", licenses.routes, for_teams=True),
    NavigationScreen("session", "", "/session", "", session.routes, session.live, for_teams=True),
)
"""Those without a title are reached from others only."""


class TemplatePages:
    """Makes them from a template.

    Args:
        pages: Renders the templates of pages.
    """

    def __init__(self, pages: Pages) -> None:
        self._pages = pages

    def login(
        self, policy: AccessPolicy, continue_at: str, *, left: bool, refusal: AuthRefusal | None
    ) -> str:
        """Return the page where people log in."""
        detail = "" if refusal is None else f"{refusal.title}. {refusal.do}"
        return self._page(
            "Log in",
            detail=detail,
            door=True,
            form=policy.takes_tokens,
            openid=policy.openid,
            left=left,
            continue_at=continue_at,
        )

    def refused(self, refusal: AuthRefusal) -> str:
        """Return a page that says why, and what to do."""
        return self._page(refusal.title, detail=refusal.detail, do=refusal.do)

    def arriving(self, path: str) -> str:
        """Return a page that opens a path at once, as a click in the console would."""
        return self._page("Opening the console", refresh=self._pages.url(path))

    def _page(self, title: str, **content: object) -> str:
        plain = {
            "detail": "",
            "do": "",
            "door": False,
            "form": False,
            "openid": "",
            "left": False,
            "continue_at": "/",
            "refresh": "",
        }
        return self._pages.render("door.html.j2", {"title": title, **plain, **content})


def console_on(
    settings: ConsoleSettings,
    board: Board,
    clock: Callable[[], int],
    *,
    audit: Audit | None = None,
    beside: Sequence[NavigationScreen] = (),
) -> Console:
    """Return a console.

    Args:
        settings: As read at start.
        board: What the screens show.
        clock: Returns the time in milliseconds since 1970.
        audit: Takes logins and refusals.
        beside: Screens that are made from more than a console.

    Raises:
        ConfigurationError: the settings would let in whoever asks.
    """
    pages = Pages(settings.console_base_path, settings.console_currency, Assets())
    return Console(
        settings=settings,
        board=board,
        pages=pages,
        access=Access.of(settings, pages=TemplatePages(pages), audit=audit, clock=clock),
        redaction=Redaction.of(settings),
        clock=clock,
        screens=tuple(each for each in (*SCREENS, *beside) if board.live or not each.needs_broker),
    )

"""Puts a console together from its settings and a board."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from streams.console.assets import Assets
from streams.console.auth import Access
from streams.console.auth.trail import Audit
from streams.console.board import Board
from streams.console.console import Console, Screen
from streams.console.door_pages import DoorPages
from streams.console.pages import Pages
from streams.console.redaction import Redaction
from streams.console.screens import SCREENS
from streams.console.settings import ConsoleSettings


def console_on(
    settings: ConsoleSettings,
    board: Board,
    clock: Callable[[], int],
    *,
    audit: Audit | None = None,
    beside: Sequence[Screen] = (),
) -> Console:
    """Return a console.

    Args:
        settings: As read at start.
        board: What it shows.
        clock: Milliseconds since 1970.
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
        access=Access.of(settings, pages=DoorPages(pages), audit=audit, clock=clock),
        redaction=Redaction.of(settings),
        clock=clock,
        screens=tuple(each for each in (*SCREENS, *beside) if board.live or not each.needs_broker),
    )

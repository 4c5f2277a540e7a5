"""The pages that people see before they are logged in."""

from __future__ import annotations

from html import escape
from typing import Protocol

from streams.console.auth.refusal import AuthRefusal


class AccessPages(Protocol):
    """Makes these pages."""

    def login(self, continue_at: str, refusal: AuthRefusal | None) -> str:
        """Return the form that takes a token.

        Args:
            continue_at: Path to open afterwards.
            refusal: What was wrong with the try before.
        """

    def refused(self, refusal: AuthRefusal) -> str:
        """Return a page that says why, and what to do."""

    def arriving(self, path: str) -> str:
        """Return a page that opens a path at once, as a click in the console would."""


class PlainPages:
    """These pages without any style.

    Args:
        base_path: In front of every path.
    """

    def __init__(self, base_path: str) -> None:
        self._base_path = base_path

    def login(self, continue_at: str, refusal: AuthRefusal | None) -> str:
        """Return the form that takes a token."""
        problem = f'<p role="alert">{_e(refusal.title)}. {_e(refusal.do)}</p>' if refusal else ""
        return self._page(
            "Log in",
            f'{problem}<form method="post" action="{_e(self._base_path)}/login">'
            f'<input type="hidden" name="next" value="{_e(continue_at)}">'
            '<label>Token <input type="password" name="token" autocomplete="current-password" required '
            "autofocus></label> <button>Log in</button></form>",
        )

    def refused(self, refusal: AuthRefusal) -> str:
        """Return a page that says why, and what to do."""
        back = f'<p><a href="{_e(self._base_path)}/">Back to the alerts</a></p>'
        return self._page(refusal.title, f"<p>{_e(refusal.detail)}</p><p>{_e(refusal.do)}</p>{back}")

    def arriving(self, path: str) -> str:
        """Return a page that opens a path at once, as a click in the console would."""
        target = _e(self._base_path + path)
        return self._page(
            "Opening the console",
            f'<p><a href="{target}">Open the page</a></p>',
            f'<meta http-equiv="refresh" content="0; url={target}">',
        )

    def _page(self, title: str, main: str, head: str = "") -> str:
        return (
            f'<!doctype html><html lang="en"><head><meta charset="utf-8"><title>{_e(title)} · Eddy</title>'
            '<meta name="viewport" content="width=device-width, initial-scale=1">'
            f"{head}</head><body><main><h1>{_e(title)}</h1>{main}</main></body></html>"
        )


def _e(text: str) -> str:
    return escape(text, quote=True)

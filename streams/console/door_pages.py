"""The pages that people see before they are logged in, and those of refusals."""

from __future__ import annotations

from streams.console.auth.refusal import Refusal
from streams.console.pages import Pages


class DoorPages:
    """Makes them from a template.

    Args:
        pages: The templates.
    """

    def __init__(self, pages: Pages) -> None:
        self._pages = pages

    def login(self, continue_at: str, refusal: Refusal | None) -> str:
        """Return the form that takes a token."""
        detail = "" if refusal is None else f"{refusal.title}. {refusal.do}"
        return self._page("Log in", detail=detail, form=True, continue_at=continue_at)

    def refused(self, refusal: Refusal) -> str:
        """Return a page that says why, and what to do."""
        return self._page(refusal.title, detail=refusal.detail, do=refusal.do)

    def arriving(self, path: str) -> str:
        """Return a page that opens a path at once, as a click in the console would."""
        return self._page("Opening the console", refresh=self._pages.url(path))

    def _page(self, title: str, **content: object) -> str:
        plain = {"detail": "", "do": "", "form": False, "continue_at": "/", "refresh": ""}
        return self._pages.render("door.html.j2", {"title": title, **plain, **content})

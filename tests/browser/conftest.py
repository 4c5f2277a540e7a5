"""One browser for all tests, a context for each. A page that logs an error fails a test."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from tests.browser import chromium
from tests.browser.console_process import ConsoleProcess
from tests.browser.watched import Trouble, violations, watched

if TYPE_CHECKING:
    from playwright.sync_api import Browser, BrowserContext, Page

RECORDINGS = Path(__file__).parents[2] / "streams" / "formats" / "recordings"
#: For one thing to appear; only what fails waits for so long.
PATIENCE_MS = 60_000


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    """Chromium of the system, without a window."""
    try:
        from playwright.sync_api import sync_playwright  # noqa: PLC0415 - an extra
    except ImportError:
        pytest.fail("playwright is missing: run make test-browser, which installs it.", pytrace=False)
    path = chromium.found()
    if path is None:
        pytest.fail(f"Chromium is missing. As root: {chromium.INSTALL}", pytrace=False)
    with sync_playwright() as playwright:
        started = playwright.chromium.launch(executable_path=path)
        yield started
        started.close()


@pytest.fixture
def trouble() -> Iterator[Trouble]:
    """What goes wrong in the pages of a test: there must be nothing."""
    kept = Trouble()
    yield kept
    assert kept == []


class Site:
    """A console, and contexts that are logged in to it.

    Args:
        browser: Opens them.
        link: The address that logs in once.
    """

    def __init__(self, browser: Browser, link: str) -> None:
        self._browser = browser
        self.address = link.partition("/login")[0]
        context = browser.new_context()
        try:
            page = context.new_page()
            page.goto(link)
            page.wait_for_selector("main h1", timeout=PATIENCE_MS)
            page.wait_for_url(lambda url: "/login" not in url, timeout=PATIENCE_MS)
            self._state = context.storage_state()
        finally:
            context.close()

    def context(self, stack: ExitStack, trouble: Trouble, **options: Any) -> BrowserContext:
        """Open a context that is logged in and closes with a stack."""
        given = {"base_url": self.address, "storage_state": self._state, **options}
        context = stack.enter_context(watched(self._browser, trouble, **given))
        context.set_default_timeout(PATIENCE_MS)
        return context


@pytest.fixture(scope="session")
def files(browser: Browser, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    """A console that shows recordings."""
    process = ConsoleProcess([str(RECORDINGS)], tmp_path_factory.mktemp("console") / "files")
    try:
        yield Site(browser, process.link())
    finally:
        process.kill()


Opens = Callable[..., "Page"]


@pytest.fixture
def opens(files: Site, trouble: Trouble) -> Iterator[Opens]:
    """Open a page of the recordings; options are those of a context."""
    with ExitStack() as stack:

        def opened(path: str, **options: Any) -> Page:
            page = files.context(stack, trouble, **options).new_page()
            answer = page.goto(path)
            assert answer is not None
            assert answer.ok, f"{path}: {answer.status}"
            return page

        yield opened


@pytest.fixture
def axe() -> Callable[[Page], None]:
    """Assert that axe finds nothing on a page."""

    def clean(page: Page) -> None:
        assert violations(page) == [], page.url

    return clean

"""What an agent writes is shown as it was written, on every screen; it never becomes a part of the page."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from typing import TYPE_CHECKING
from urllib.parse import urlencode

import pytest

from streams.console.composition import SCREENS
from streams.console.wording import block, line
from tests.browser.conftest import Site
from tests.browser.console_process import ConsoleProcess
from tests.browser.corpus import TEXTS, steps
from tests.browser.watched import Trouble

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

pytestmark = [pytest.mark.browser, pytest.mark.timeout(600)]

#: No reader of JSON takes it: it is refused before it reaches a page.
REFUSED = "half a character"
SHOWN = sorted(set(TEXTS) - {REFUSED})
TABS = ({"lens": "all", "at": 3, "diff": 3}, {"tab": "scores"}, {"tab": "evidence"}, {"tab": "what-if"})
#: Elements and attributes that no page of the console has.
FOREIGN = ", ".join(
    [
        *(
            "iframe",
            "base",
            "meta[http-equiv]",
            "style:not(head style)",
            "animate",
            "noscript",
            "textarea:not([name])",
        ),
        *(
            "script:not([src])",
            "[onload]",
            "[onerror]",
            "[onbegin]",
            "[onmouseover]",
            "[onfocus]",
            "[autofocus]",
        ),
        *(
            "[srcdoc]",
            "[href^='javascript:' i]",
            "[href^='data:' i]",
            "[href^='//']",
            "[action^='//']",
        ),
        *("#document", "a#eddy-csrf", "img[src='x']", "main b"),
    ]
)


@pytest.fixture(scope="module")
def hostile(browser: Browser, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    """A console over a file whose every text is hostile."""
    folder = tmp_path_factory.mktemp("hostile")
    records = [record for text in TEXTS.values() for record in steps(text)]
    (path := folder / "run.jsonl").write_bytes(b"\n".join(records))
    process = ConsoleProcess([str(path)], folder / "console")
    try:
        yield Site(browser, process.link())
    finally:
        process.kill()


@pytest.fixture
def page(hostile: Site, trouble: Trouble) -> Iterator[Page]:
    """A page of that console, in a context that tells of trouble."""
    with ExitStack() as stack:
        yield hostile.context(stack, trouble).new_page()


def paths(session_id: str) -> Iterator[str]:
    """Yield the address of each screen that a console over files has; a new screen is among them at once."""
    for screen in SCREENS:
        path = screen.path or f"/{screen.name}"
        if path == "/session":
            for query in TABS:
                yield f"{path}?{urlencode({'id': session_id, **query})}"
        elif not screen.needs_broker:
            yield path


@pytest.mark.parametrize("name", SHOWN)
def test_a_text_is_shown_and_never_obeyed(page: Page, name: str) -> None:
    text = TEXTS[name]
    session_id = text[:200]
    for path in paths(session_id):
        page.goto(path)
        assert (
            page.locator(FOREIGN).evaluate_all("all => all.map(one => one.outerHTML.slice(0, 200))") == []
        ), path
        if path.startswith("/session?"):
            assert page.locator("h1").text_content() == line(session_id, 120)
        if "diff=" in path:
            # A long text is cut.
            begins = block(text)[:2_000]
            assert any(shown.startswith(begins) for shown in page.locator("#steps pre").all_text_contents())
            assert page.locator("#diff pre").count() >= 2


def test_the_list_names_every_session(page: Page) -> None:
    page.goto("/sessions")
    named = page.locator("a.row-link .id").all_text_contents()
    assert sorted(named) == sorted(line(TEXTS[name][:200], 120) for name in SHOWN)


def test_a_text_in_an_address_is_shown_and_never_obeyed(page: Page, trouble: Trouble) -> None:
    """Whoever sends a link chooses what is in it."""
    for text in (TEXTS["script"], TEXTS["an end of an attribute"], TEXTS["a link"]):
        for path in ("/sessions?q=", "/session?id=", "/session?id=x&tab=", "/session?id=x&at="):
            page.goto(path + urlencode({"": text})[1:])
            assert page.locator(FOREIGN).count() == 0
    # The answers are refusals, which the browser notes.
    assert [said for said in trouble if "the server responded with a status of" not in said] == []
    trouble.clear()

"""What stands on the topics is shown as it was written, on every screen of a board, also while it comes."""

from __future__ import annotations

import asyncio
from collections import Counter, defaultdict, deque
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from typing import TYPE_CHECKING, NamedTuple
from urllib.parse import parse_qsl, urlsplit

import pytest

from streams.console.composition import SCREENS
from streams.core.domain.record import Outgoing
from streams.core.domain.topic import Topic
from streams.kafka.client import connect
from streams.kafka.connection import Connection
from tests.browser.conftest import Site
from tests.browser.console_process import ConsoleProcess
from tests.browser.corpus import TEXTS
from tests.browser.hostile_topics import hostile_topics
from tests.browser.test_hostile_texts import FOREIGN, REFUSED
from tests.integration.brokers import Broker, new_broker
from tests.integration.stage import Stage

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

    from tests.browser.watched import Trouble

pytestmark = [pytest.mark.browser, pytest.mark.timeout(600)]

SHOWN = sorted(set(TEXTS) - {REFUSED})
#: These come while a page is open.
LATER = ("an end of an attribute", "a frame", "svg")
#: Where the sessions stand: each has looped on after its pause.
INBOX = "/alerts"
#: Pages with the same address and the same names of parameters that are looked at.
ALIKE = 3


class Topics(NamedTuple):
    """A broker with hostile records."""

    broker: Broker

    def write(self, names: list[str]) -> None:
        """Publish what belongs to some of the texts."""
        with ThreadPoolExecutor(1) as elsewhere:  # the browser has a loop in this thread
            elsewhere.submit(lambda: asyncio.run(self._write(names))).result()

    async def _write(self, names: list[str]) -> None:
        async with connect(Connection(self.broker.bootstrap)) as brokers:
            found = defaultdict[Topic, list[tuple[None, Outgoing]]](list)
            for name in names:
                for topic, record in hostile_topics(TEXTS[name], SHOWN.index(name)):
                    found[topic].append((None, record))
            for topic, records in found.items():
                await brokers.write(brokers.topic(topic), records)


@pytest.fixture(scope="module")
def topics(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Topics]:
    """A broker on which all that comes before a page is opened stands."""
    directory = tmp_path_factory.mktemp("broker")
    with new_broker(request.config.getoption("--broker"), directory) as running:
        stage = Stage(running, tmp_path_factory.mktemp("stage"), application_id="eddy")
        with ThreadPoolExecutor(1) as elsewhere:
            elsewhere.submit(lambda: asyncio.run(stage.create_topics())).result()
        found = Topics(running)
        found.write([name for name in SHOWN if name not in LATER])
        yield found


@pytest.fixture(scope="module")
def site(browser: Browser, topics: Topics, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    """A console on that broker."""
    process = ConsoleProcess(
        ["--bootstrap-servers", topics.broker.bootstrap], tmp_path_factory.mktemp("console") / "board"
    )
    try:
        yield Site(browser, process.link())
    finally:
        process.kill()


@pytest.fixture
def page(site: Site, trouble: Trouble) -> Iterator[Page]:
    """A page of that console, in a context that tells of trouble."""
    with ExitStack() as stack:
        yield site.context(stack, trouble).new_page()


def foreign(page: Page) -> list[str]:
    """Return what stands on a page and is no part of the console."""
    found: list[str] = page.locator(FOREIGN).evaluate_all(
        "all => all.map(one => one.outerHTML.slice(0, 200))"
    )
    return found


def shape(path: str) -> tuple[str, ...]:
    """Return what pages have in common that differ in their subject only."""
    parts = urlsplit(path)
    query = parse_qsl(parts.query, keep_blank_values=True)
    return parts.path, *(f"{name}={value if name in {'tab', 'lens'} else ''}" for name, value in query)


def test_no_page_that_a_link_leads_to_obeys_a_text(page: Page) -> None:
    left = deque([INBOX, *(screen.path for screen in SCREENS if screen.title)])
    seen, alike, showing = set(left), Counter[tuple[str, ...]](), Counter[str]()
    refused = dict[str, str]()
    page.goto(INBOX)
    page.wait_for_selector("#rows tr:visible")
    while left:
        path = left.popleft()
        answer = page.goto(path)
        assert answer is not None
        if answer.status != 200:
            refused[path] = page.locator("main").inner_text()[:300]
        assert foreign(page) == [], path
        showing[urlsplit(path).path] += "SEEN" in page.locator("body").inner_text()
        links = page.locator("a[href^='/']").evaluate_all("all => all.map(one => one.getAttribute('href'))")
        for link in links:
            if link not in seen and alike[shape(link)] < ALIKE:
                alike[shape(link)] += 1
                seen.add(link)
                left.append(link)
    assert refused == {}
    silent = {path for path, pages in showing.items() if not pages}
    assert silent <= {"/", "/hold", "/job", "/licenses"}, showing


def test_what_comes_while_a_page_is_open_is_not_obeyed(page: Page, topics: Topics) -> None:
    page.goto(INBOX)
    page.wait_for_selector("#rows tr:visible")
    assert not any(TEXTS[name] in page.locator("#rows").inner_text() for name in LATER)
    topics.write(list(LATER))
    for name in LATER:
        page.locator("#rows tr", has_text=TEXTS[name]).first.wait_for()
    assert foreign(page) == []

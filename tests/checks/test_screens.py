"""Every screen of the console has content, also as JSON, behind a login, and without scripts."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest

from streams.console.auth import Identity
from streams.console.auth.identity import Role
from streams.console.composition import SCREENS, console_on
from streams.console.console import Console, NavigationScreen
from streams.console.file_board import FileBoard
from streams.core.detectors.settings import DEFAULTS
from streams.core.domain.topic import Topic
from streams.core.offline import judge
from streams.formats.reading import entries
from streams.formats.recordings.catalogue import RECORDINGS
from tests.unit.console.auth.door_server import settings
from tests.unit.console.following import Reader, following, reading
from tests.unit.console.told import everything

NOW = 1_773_140_000_000
DOCS = (Path(__file__).parents[2] / "docs" / "console.md").read_text()
RECORDS = everything()


def named(topic: Topic, field: str, **wanted: str) -> str:
    """Return a field of the first record of a topic that has what is wanted."""
    found = (each.fields for each in RECORDS if each.topic is topic and each.fields)
    return str(next(each[field] for each in found if wanted.items() <= each.items()))


#: What a page needs to know that is about one thing.
ABOUT = {
    "session": f"id={named(Topic.SESSION_ALERTS, 'session_id')}",
    "health-agent": f"name={named(Topic.AGENT_HEALTH, 'name', scope='agent')}",
    "health-tool": f"name={named(Topic.AGENT_HEALTH, 'name', scope='tool')}",
}


class Main(HTMLParser):
    """Collects of the main part of a page: its words below the heading, its forms, links and ids.

    Attributes:
        title: Title of the page.
        words: Words of the main part, without those of its head.
        forms: Attributes of each form.
        links: Addresses of the links.
        ids: Every id of the page.
        handlers: Attributes that run a script.
    """

    def __init__(self, page: str) -> None:
        super().__init__()
        self.title = ""
        self.words: list[str] = []
        self.forms: list[dict[str, str | None]] = []
        self.links: list[str] = []
        self.ids: set[str] = set()
        self.handlers: list[str] = []
        self._open: list[tuple[str, bool]] = []
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        if given.get("id"):
            self.ids.add(str(given["id"]))
        self.handlers += [name for name in given if name.startswith("on")]
        if tag not in {"br", "img", "input", "link", "meta", "hr", "wbr"}:
            self._open.append((tag, "head" in (given.get("class") or "").split()))
        if tag == "form":
            self.forms.append(given)
        if tag == "a" and given.get("href"):
            self.links.append(str(given["href"]))

    def handle_endtag(self, tag: str) -> None:
        while self._open and self._open.pop()[0] != tag:
            pass

    def handle_data(self, data: str) -> None:
        tags = [tag for tag, _ in self._open]
        if tags[-1:] == ["title"]:
            self.title += data
        in_head = any(is_head for _, is_head in self._open)
        if "main" in tags and not in_head and tags[-1] not in {"script", "style"}:
            self.words += data.split()


@asynccontextmanager
async def console(folder: Path, screen: NavigationScreen) -> AsyncIterator[tuple[Reader, Console]]:
    """Serve a console in which a screen has something to show: over a file, if it reads steps."""
    if screen.name == "session":
        board = FileBoard("run.jsonl", "run.jsonl", DEFAULTS)
        for recording in RECORDINGS:
            for judgement in judge(entries([str(recording.path)], recording.input_format), DEFAULTS):
                board.add(judgement)
        shown = console_on(settings(folder, console_port=0), board, lambda: NOW)
        async with reading(shown) as (asking, cookie):
            yield Reader(asking, cookie, None), shown  # type: ignore[arg-type]  # it has read all
        return
    kept: list[Console] = []

    def keep(shown: Console) -> tuple[()]:
        kept.append(shown)
        return ()

    async with following(folder, RECORDS, NOW, beside=keep) as reader:
        yield reader, kept[0]


def address(screen: NavigationScreen) -> str:
    query = ABOUT.get(screen.name, "")
    return f"{screen.path}?{query}" if query else screen.path


every_screen = pytest.mark.parametrize("screen", SCREENS, ids=[each.name for each in SCREENS])


@every_screen
async def test_a_screen_shows_something_also_as_json(screen: NavigationScreen, tmp_path: Path) -> None:
    async with console(tmp_path, screen) as (reader, _):
        page = Main(await reader.page(address(screen)))
        found: Any = await reader.json(address(screen))
    assert screen.title in page.title
    # An empty block renders as well, and so does a heading alone.
    assert len(page.words) >= 10, page.words
    assert isinstance(found, dict)
    assert found


@every_screen
async def test_a_screen_works_without_scripts(screen: NavigationScreen, tmp_path: Path) -> None:
    async with console(tmp_path, screen) as (reader, _):
        page = Main(await reader.page(address(screen)))
    assert page.handlers == []
    assert all(form.get("action") for form in page.forms if form.get("method") != "dialog"), page.forms
    assert all(link.startswith(("/", "#", "?")) and link != "#" for link in page.links), page.links


@every_screen
async def test_a_screen_asks_for_a_login(screen: NavigationScreen, tmp_path: Path) -> None:
    async with console(tmp_path, screen) as (reader, _):
        page = await reader.asking("GET", address(screen), {"Accept": "text/html"})
        json = await reader.asking("GET", address(screen), {"Accept": "application/json"})
    assert page.status in {302, 303, 401}
    assert json.status == 401
    assert screen.title not in page.text or not screen.title


@every_screen
async def test_what_changes_on_a_screen_has_a_place_on_its_page(
    screen: NavigationScreen, tmp_path: Path
) -> None:
    if screen.live is None:
        return
    who = Identity("ana", Role.OPERATOR, "cookie", may_act=True)
    query = dict(pair.split("=") for pair in ABOUT.get(screen.name, "").split("&") if pair)
    async with console(tmp_path, screen) as (reader, shown):
        page = Main(await reader.page(address(screen)))
        view = await screen.live(shown, query, who, NOW)
    if view is None:
        assert not shown.board.live
        return
    assert set(view.parts) <= page.ids
    assert set(view.order) == set(view.rows)


@pytest.mark.parametrize("title", [each.title for each in SCREENS if each.title])
def test_a_screen_of_the_navigation_stands_in_the_documents(title: str) -> None:
    assert f"**{title}**" in DOCS


def test_screens_have_names_and_paths_of_their_own() -> None:
    assert len({each.name for each in SCREENS}) == len({each.path for each in SCREENS}) == len(SCREENS)
    assert {each.name for each in SCREENS if each.path != f"/{each.name}" and each.title} == set()


def test_an_empty_page_would_be_noticed() -> None:
    head = "<div class='head'><h1>Job</h1><p>Some words that say what the page is for.</p></div>"
    page = Main(f"<title>Job · Eddy</title><main>{head}</main>")
    assert (page.title, page.words) == ("Job · Eddy", [])

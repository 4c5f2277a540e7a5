"""Whatever an address or a session's id has in it: pages answer, and views go on."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from urllib.parse import quote, urlencode

import orjson
import pytest
from aiohttp import ClientSession, DummyCookieJar
from markupsafe import escape

from streams.console.app import compressed_file, served
from streams.console.auth.identity import Identity, Role
from streams.console.board import Steps
from streams.console.composition import console_on
from streams.console.console import Console
from streams.console.file_board import FileBoard
from streams.console.live_board import LiveBoard
from streams.console.views import alerts
from streams.core.detectors.settings import DEFAULTS
from streams.core.offline import judge
from streams.formats.reading import entries
from streams.formats.recordings.catalogue import RECORDINGS
from tests.unit.console.agents import Board
from tests.unit.console.auth.door_server import ANA, settings

LIMIT_S = 60.0
OPERATOR = Identity("ana", Role.OPERATOR, "cookie", may_act=True)
ODD = ["a  b", "a\nb", "a\x00b", "\u202eba", "x" * 300, "x" * 299 + "y", '"><b>&amp;', "{{ 7*7 }}", "a b #1"]


class Still:
    """A feed that has read everything."""

    history_from = None

    def lag(self) -> dict[str, int]:
        return {}

    def silent_ms(self, *_: object) -> None:
        return None


class Unasked:
    """A job of which nobody has said anything."""

    trouble = ""


class Empty:
    """A timeline of a topic that has nothing."""

    async def steps(self, session_id: str, *, before: int | None, limit: int) -> Steps:
        return Steps(())


@pytest.fixture
def looping(tmp_path: Path) -> Console:
    """Return a console in whose inbox every odd session stands."""
    board = Board()
    for session in (*ODD, "s-1"):
        board.loop(session, 12)
    given = settings(tmp_path, console_port=0)
    live = LiveBoard(board.model, Still(), Empty(), Unasked(), "here")  # type: ignore[arg-type]
    return console_on(given, live, lambda: board.now)


@pytest.fixture
def judged(tmp_path: Path) -> Console:
    """Return a console over a recording."""
    board = FileBoard("run.jsonl", "run.jsonl", DEFAULTS)
    [recording] = [each for each in RECORDINGS if each.name == "read_loop"]
    for judgement in judge(entries([str(recording.path)], recording.input_format), DEFAULTS):
        board.add(judgement)
    return console_on(settings(tmp_path, console_port=0), board, lambda: 0)


class Looking:
    """Someone who looks at a console and is logged in."""

    def __init__(self, client: ClientSession, address: str) -> None:
        self.client, self.address = client, address

    async def log_in(self) -> None:
        async with self.client.post(
            "/login", headers={"Origin": self.address}, data={"token": ANA}, allow_redirects=False
        ) as done:
            cookie = done.headers["Set-Cookie"].partition(";")[0]
        self.client.headers["Cookie"] = cookie

    async def status(self, path: str, accept: str = "text/html") -> int:
        async with self.client.get(path, headers={"Accept": accept}) as answer:
            await answer.read()
            return answer.status


async def looking(console: Console) -> AsyncIterator[Looking]:
    async with served(console) as address, ClientSession(address, cookie_jar=DummyCookieJar()) as client:
        found = Looking(client, address)
        await found.log_in()
        yield found


async def test_each_row_is_sent_under_the_key_that_it_has_on_the_page(looping: Console) -> None:
    view = await alerts.live(looping, {}, OPERATOR, looping.clock())
    assert len(view.rows) == len(ODD) + 1
    for key, html in view.rows.items():
        assert f'data-key="{quoted(key)}"' in html


async def test_a_row_in_which_nothing_changed_is_not_sent_again_while_time_passes(looping: Console) -> None:
    at = looping.clock() - looping.clock() % 20_000 + 20_000
    views = [await alerts.live(looping, {}, OPERATOR, at + ms) for ms in (0, 700, 1_400, 19_999)]
    assert views[0].rows
    assert all(view.rows == views[0].rows and view.order == views[0].order for view in views)


def quoted(text: str) -> str:
    return str(escape(text))


@pytest.mark.parametrize("odd", ["//[", "//]", "/nothing?[", "/alerts?q=%ff", "\x00", "/session?id=%00"])
async def test_a_view_of_any_address_ends_no_stream_of_others(looping: Console, odd: str) -> None:
    async for who in looking(looping):
        async with asyncio.timeout(LIMIT_S), who.client.get(f"/live?view={quote(odd)}") as strange:
            await strange.content.readuntil(b"\n\n")
            async with who.client.get("/live?" + urlencode({"view": "/alerts"})) as other:
                await other.content.readuntil(b"\n\n")
                rows = await other.content.readuntil(b"\n\n")
        assert orjson.loads(rows.partition(b"data: ")[2])["order"]


@pytest.mark.parametrize("value", ["nan", "inf", "-inf", "1e999", "9" * 400, "1e308", "-0", "", "x", "\x00"])
@pytest.mark.parametrize("accept", ["text/html", "application/json"])
async def test_any_value_of_a_slider_is_answered(judged: Console, value: str, accept: str) -> None:
    [session] = judged.board.ids  # type: ignore[attr-defined]
    async for who in looking(judged):
        query = {"id": session, "tab": "what-if", "identical_loop": value, "stuck_warn": value}
        assert await who.status(f"/session?{urlencode(query)}", accept) == 200


@pytest.mark.parametrize("value", ["0", "-1", "9" * 5_000, "x", "\u0663", "1.5"])
async def test_any_number_in_an_address_is_answered(judged: Console, value: str) -> None:
    [session] = judged.board.ids  # type: ignore[attr-defined]
    async for who in looking(judged):
        assert await who.status(f"/sessions?{urlencode({'cursor': value})}") == 200
        for name in ("at", "before", "diff"):
            query = urlencode({"id": session, name: value})
            assert await who.status(f"/session?{query}") in (200, 400)


@pytest.mark.parametrize("odd", ODD)
@pytest.mark.parametrize("accept", ["text/html", "application/json"])
async def test_any_id_in_an_address_is_answered(judged: Console, odd: str, accept: str) -> None:
    async for who in looking(judged):
        assert await who.status(f"/session?{urlencode({'id': odd})}", accept) == 404
        assert await who.status(f"/{quote(odd, safe='')}", accept) == 404


async def test_a_session_that_is_not_known_is_not_found_and_the_nearest_are_named(
    looping: Console, judged: Console
) -> None:
    [known] = judged.board.ids  # type: ignore[attr-defined]
    for console, wrong, nearest in ((looping, "s-2", "s-1"), (judged, f"{known}x", known)):
        async for who in looking(console):
            path = f"/session?{urlencode({'id': wrong})}"
            async with who.client.get(path, headers={"Accept": "text/html"}) as page:
                assert page.status == 404
                assert nearest in (await page.text()).partition("<main")[2]
            async with who.client.get(path, headers={"Accept": "application/json"}) as answer:
                assert (answer.status, answer.content_type) == (404, "application/problem+json")
                problem = orjson.loads(await answer.read())
            assert problem["status"] == 404
            assert nearest in problem["detail"]


async def test_a_page_that_was_sent_is_not_kept(judged: Console) -> None:
    before = compressed_file.cache_info().currsize
    async for who in looking(judged):
        for number in range(5):
            assert await who.status(f"/sessions?q={number}") == 200
        assert compressed_file.cache_info().currsize == before

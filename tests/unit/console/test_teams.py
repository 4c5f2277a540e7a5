"""People who are limited to the agents of their team see nothing of others, and act on no others."""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from schemas.codec import Codec
from streams.console import actions
from streams.console.action_context import ActionContext, ModelKnown
from streams.console.app import Routes
from streams.console.console import Console
from streams.console.live_board import LiveBoard
from streams.console.read_model.control import ControlState
from streams.console.read_model.seen import TeamSessions
from streams.control.publisher import CommandPublisher
from streams.kafka.client import Brokers
from tests.unit.console.agents import Board
from tests.unit.console.auth.door_server import ANA, PAGES, digest
from tests.unit.console.following import Reader, following
from tests.unit.console.told import Told

OWN, FOREIGN = "checkout-7", "search-3"
SEARCH_GOAL = "a goal of the search team"
#: Pages that name no agent of anybody.
PLAIN = ("/", "/licenses")


def told() -> tuple[list[Told], int]:
    """Return what two teams have done: each has a session that loops, and one that works."""
    board, records = Board(), list[Told]()
    board.take = lambda each: records.append(each) or Board.take(board, each)  # type: ignore[method-assign, func-returns-value]
    for agent, team in ((OWN, "checkout"), (FOREIGN, "search")):
        board.loop(f"{team}-loops", 8, agent=agent, goal=f"a goal of the {team} team")
        board.work(f"{team}-works", 4, agent=agent, goal=f"a goal of the {team} team")
    return records, board.now + 1_000


def action_routes(console: Console) -> Routes:
    """Return the actions as a console on brokers has them. None of these tests gets as far as a broker."""
    board = console.board
    assert isinstance(board, LiveBoard)
    brokers: Any = board.job._brokers
    assert isinstance(brokers, Brokers)
    publisher = CommandPublisher(brokers, Codec.bundled(), None)
    context = ActionContext(publisher, ModelKnown(board.model, console.clock), board.feed.passed)
    return actions.routes(console, context)


@asynccontextmanager
async def read_by(folder: Path, line: str, **given: object) -> AsyncIterator[Reader]:
    """Serve what both teams have done to somebody with a line in the file of tokens."""
    people = folder / "team"
    people.write_text(f"{line}:{digest(ANA)}\n")
    records, now = told()
    async with following(
        folder, records, now, console_tokens=people, beside=action_routes, **given
    ) as reader:
        yield reader


@pytest.fixture(params=["viewer", "operator"])
async def limited(tmp_path: Path, request: pytest.FixtureRequest) -> AsyncIterator[Reader]:
    async with read_by(tmp_path, f"ana:{request.param}:checkout-*") as reader:
        yield reader


@pytest.fixture
async def operator(tmp_path: Path) -> AsyncIterator[Reader]:
    async with read_by(tmp_path, "ana:operator:checkout-*") as reader:
        yield reader


async def test_no_page_says_anything_of_other_agents(limited: Reader) -> None:
    queries = (
        "/alerts?group=cause", "/alerts?state=watching", "/alerts?q=search",
        "/alerts?dialog=many&chosen=search-loops",
        "/sessions?q=agent:search-3", "/sessions?agent=search-*", "/map?as=matrix", "/map?as=table",
        "/map/cell?id=search-loops", "/map/cell?at=0", "/map?id=search-loops",
    )  # fmt: skip
    for path in (*PAGES, *queries):
        for accept in ("text/html", "application/json"):
            if path == "/live":
                continue
            answer = await limited.answer(path, accept)
            # What was asked for may be said back.
            said = answer.text.replace("agent:search-3", "").replace("search-*", "")
            said = re.sub(r"(value=\"|[?&;]\w+=|\"\w+\": ?\"|\[\")(search-loops|search)\b", "", said)
            assert FOREIGN not in said, (path, accept)
            assert SEARCH_GOAL not in said, (path, accept)
            assert "search-works" not in said, (path, accept)
            assert answer.status in (200, 302, 400, 403), (path, answer.status)


async def test_their_own_agents_are_there_and_counts_are_of_them(limited: Reader) -> None:
    inbox: Any = await limited.json("/alerts")
    assert [row["session_id"] for row in inbox["rows"]] == ["checkout-loops"]
    assert inbox["matching"] == 1
    assert {tab["name"]: tab["count"] for tab in inbox["tabs"]}["needs_you"] == 1
    found: Any = await limited.json("/sessions")
    assert {row["session_id"] for row in found["rows"]} == {"checkout-loops", "checkout-works"}
    assert (found["matching"], found["live"]) == (2, 2)
    picture: Any = await limited.json("/map")
    assert picture["sessions"] == 2
    page = await limited.page("/alerts")
    assert "2 live" in page
    assert re.search(r'id="count-alerts"[^>]*>\s*1\s*<', page) or ">1</span>" in page


@pytest.mark.parametrize("session", ["search-loops", "search-works", "never-was"])
async def test_a_session_of_others_is_as_if_it_never_was(limited: Reader, session: str) -> None:
    for tab in ("steps", "scores", "evidence", "what-if", "commands"):
        answer = await limited.answer(f"/session?id={session}&tab={tab}&dialog=pause")
        assert answer.status == 404
        assert f"Nothing is known of session {session}" in answer.text
        assert FOREIGN not in answer.text


async def test_screens_of_all_agents_are_refused_and_not_offered(limited: Reader) -> None:
    page = await limited.page("/alerts")
    for path in (
        "/settings",
        "/health",
        "/audit",
        "/commands",
        "/job",
        "/policy",
        "/dead-letters",
        "/changes",
    ):
        assert f'href="{path}"' not in page
        answer = await limited.answer(path, "application/json")
        assert answer.status == 403
        assert '"type": "urn:eddy:problem:wrong-team"' in answer.text
        assert "checkout-*" in answer.text
    assert 'href="/hold"' not in page


async def views(reader: Reader, *pages: str) -> str:
    """Return what the stream of some pages says at first."""
    address = reader.asking._session._base_url
    query = "&".join(f"view={page}" for page in pages)
    async with reader.asking._session.get(
        f"{str(address).rstrip('/')}/live?{query}", headers=reader.cookie, allow_redirects=False
    ) as stream:
        assert stream.status == 200
        said = b""
        while said.count(b"event: rows") < 1 or b"checkout-loops" not in said:
            said += await asyncio.wait_for(stream.content.readany(), 30)
        return said.decode()


async def test_live_views_are_limited_like_the_pages(limited: Reader) -> None:
    said = await views(limited, "/health", "/job", "/session?id=search-loops", "/sessions", "/map", "/alerts")
    assert FOREIGN not in said
    assert SEARCH_GOAL not in said
    assert '"view":"/health"' not in said
    assert '"view":"/job"' not in said


ACTS = {
    "a pause": ("/actions/commands", {"session_ids": "search-loops", "action": "pause", "reason": "x"}),
    "an abort of what is not known": (
        "/actions/commands",
        {"session_ids": "never-was", "action": "abort", "reason": "x"},
    ),
    "a hold of another agent": (
        "/actions/commands",
        {"scope": "agent", "agent_id": FOREIGN, "action": "pause", "reason": "x", "confirm": "2"},
    ),
    "a hold of everything": (
        "/actions/commands",
        {"scope": "all", "action": "pause", "reason": "x", "confirm": "4"},
    ),
    "an acknowledgement": ("/actions/triage", {"episode_ids": "session/search-loops", "do": "ack"}),
    "a label of what is not known": ("/actions/triage", {"episode_ids": "made-up", "do": "not_a_loop"}),
    "settings": ("/actions/settings/apply", {"changes": "{}"}),
    "a policy": ("/actions/policy", {"mode": "off"}),
}


@pytest.mark.parametrize("act", ACTS)
async def test_actions_on_others_are_refused(operator: Reader, act: str) -> None:
    path, fields = ACTS[act]
    answer = await sent(operator, path, **fields)
    assert (answer.status, "wrong-team" in answer.text) == (403, True), answer.text


async def test_one_of_others_among_ones_own_lets_nothing_happen(operator: Reader) -> None:
    fields = {"action": "pause", "reason": "x", "confirm": "2"}
    body = [("session_ids", "checkout-loops"), ("session_ids", "search-loops"), *fields.items()]
    answer = await sent(operator, "/actions/commands", body=body)
    assert (answer.status, "wrong-team" in answer.text) == (403, True)


async def sent(reader: Reader, path: str, body: Any = None, **fields: str) -> Any:
    page = await reader.page("/alerts")
    csrf = re.search(r'name="csrf" value="([^"]+)"', page)
    assert csrf
    origin = {"Sec-Fetch-Site": "same-origin", "X-CSRF-Token": csrf[1], **reader.cookie}
    async with reader.asking._session.post(
        path, headers={**origin, "Accept": "application/json"}, data=body or fields, allow_redirects=False
    ) as answer:
        text = await answer.text()
        return type("Sent", (), {"status": answer.status, "text": text})


async def test_who_sees_all_and_acts_on_some_has_buttons_there_only(tmp_path: Path) -> None:
    records, now = told()
    given = {
        "console_trusted_proxies": "127.0.0.1/32",
        "console_operator_groups": "checkout=checkout-*",
    }
    async with following(tmp_path, records, now, beside=action_routes, **given) as logged_in:
        by_proxy = {"X-Forwarded-User": "ana", "X-Forwarded-Groups": "checkout,staff"}
        reader = logged_in._replace(cookie=by_proxy)
        page = await reader.page("/alerts")
        assert "dialog=pause" in row_of(page, "checkout-loops")
        assert "dialog=pause" not in row_of(page, "search-loops")
        assert "Hold…" not in page
        causes = await reader.page("/alerts?group=cause")
        assert "Act on it" not in causes
        assert "Act on all" not in causes
        for session, pauses in (("checkout-loops", True), ("search-loops", False)):
            shown = await reader.page(f"/session?id={session}&dialog=pause")
            assert ("button danger slim" in shown) is pauses
            cell = await reader.page(f"/map/cell?id={session}")
            assert ("button danger slim" in cell) is pauses
        assert 'action="/actions/' not in await reader.page("/settings/propose")
        answer = await sent(
            reader, "/actions/commands", session_ids="search-loops", action="pause", reason="x"
        )
        assert answer.status == 403
        # Texts are shown as to a viewer: the sessions of others are among them.
    async with following(tmp_path, records, now, console_viewer_sees="digests", **given) as logged_in:
        reader = logged_in._replace(cookie=by_proxy)
        assert "a goal of the" not in await reader.page("/sessions")


def row_of(page: str, session: str) -> str:
    return next(row for row in page.split("<tr") if f"id={session}" in row)


async def test_a_session_that_another_agent_goes_on_with_is_theirs(tmp_path: Path) -> None:
    board = Board()
    seen = TeamSessions(board.model, lambda agent: agent is not None and agent.startswith("checkout-"))
    board.loop("s-1", 6, agent=OWN)
    assert set(seen.cases) == set(seen.attention(board.now)) == {"s-1"}
    board.loop("s-1", 1, agent=FOREIGN)
    assert (dict(seen.cases), seen.attention(board.now), seen.find("s-1")) == ({}, {}, None)
    assert seen.control("s-1", board.now) == ControlState()
    assert seen.live(board.now) == 0

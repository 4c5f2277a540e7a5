"""People who are limited to the agents of their team see nothing of others, and act on no others."""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from html import unescape
from pathlib import Path
from typing import Any

import pytest

from schemas.codec import Codec
from streams.console import actions
from streams.console.action_context import ActionContext, ModelKnown
from streams.console.app import Routes
from streams.console.board import Steps
from streams.console.console import Console
from streams.console.file_board import FileBoard
from streams.console.live_board import LiveBoard
from streams.console.read_model.control import ControlState
from streams.console.read_model.rows import SessionRow
from streams.console.read_model.seen import TeamSessions
from streams.console.read_model.tables import SESSION
from streams.console.timeline import StepReader
from streams.console.view import RecordStep
from streams.control.publisher import CommandPublisher
from streams.core.detectors.settings import DEFAULTS
from streams.core.domain.topic import Topic
from streams.core.offline import judge
from streams.formats.reading import entries
from streams.formats.recordings.catalogue import RECORDINGS
from streams.kafka.client import Brokers
from tests.unit.console.agents import Board, Recorded
from tests.unit.console.auth.door_server import ANA, PAGES, digest
from tests.unit.console.following import Reader, following
from tests.unit.console.told import Told, folded

OWN, FOREIGN = "checkout-7", "search-3"
FOREIGN_TEXTS = (FOREIGN, "a secret of the search team", "why of search", "search-works")
#: Pages that name no agent of anybody.
PLAIN = ("/", "/licenses")


def told(*, held: bool = True) -> tuple[list[Told], int]:
    """Return what two teams have done: each has a session that loops, one that works, and a hold."""
    board = Recorded()
    records = board.records
    for agent, team in ((OWN, "checkout"), (FOREIGN, "search")):
        board.loop(f"{team}-loops", 8, agent=agent, intent=f"a secret of the {team} team")
        board.work(f"{team}-works", 4, agent=agent)
        if held:
            why = f"why of {team}"
            board.take(board.topics.command("pause", f"{team}-works", board.now, reason=why))
            board.take(
                board.topics.command("pause", None, board.now, scope="agent", agent_id=agent, reason=why)
            )
    return records, board.now + 1_000


@pytest.fixture(autouse=True)
def no_brokers(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let steps be those that were told: a topic is not read here."""
    records, _ = told()

    async def steps(_: StepReader, session_id: str, **__: Any) -> Steps:
        found = [
            each.fields
            for each in records
            if each.topic is Topic.ENRICHED and each.fields and each.fields["session_id"] == session_id
        ]
        return Steps(
            tuple(RecordStep(0, number, number, each, number + 1) for number, each in enumerate(found))
        )

    monkeypatch.setattr(StepReader, "steps", steps)


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
        "/map/cell?id=search-loops", "/map/cell?at=0", "/map?id=search-loops", "/map/cell?by=zzz", "/nowhere",
        "/session?id=never-was", "/session?id=checkout-works&tab=zzz", "/session?id=checkout-loops&at=x",
        "/session?id=checkout-loops", "/session?id=checkout-works&tab=commands", "/session?id=search",
    )  # fmt: skip
    for path in (*PAGES, *queries):
        for accept in ("text/html", "application/json"):
            if path == "/live":
                continue
            answer = await limited.answer(path, accept)
            # What was asked for may be said back.
            said = answer.text.replace("agent:search-3", "").replace("search-*", "")
            said = re.sub(r"(value=\"|[?&;]\w+=|\"\w+\": ?\"|\[\")(search-loops|search)\b", "", said)
            assert [text for text in FOREIGN_TEXTS if text in said] == [], (path, accept)
            assert answer.status in (200, 302, 400, 403, 404), (path, answer.status)
            if accept == "text/html" and "<nav" in said:
                assert "2 live" in said, path
                assert 'href="/audit"' not in said, path


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
        assert [text for text in FOREIGN_TEXTS if text in answer.text.replace(session, "")] == []


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


async def views(reader: Reader, *pages: str, until: str = "checkout-loops") -> str:
    """Return what the stream of some pages says, until it says something."""
    address = reader.asking._session._base_url
    query = "&".join(f"view={page}" for page in pages)
    async with reader.asking._session.get(
        f"{str(address).rstrip('/')}/live?{query}", headers=reader.cookie, allow_redirects=False
    ) as stream:
        assert stream.status == 200
        said = b""
        while b"event: rows" not in said or until.encode() not in said:
            said += await asyncio.wait_for(stream.content.readany(), 30)
        return said.decode()


async def test_live_views_are_limited_like_the_pages(limited: Reader) -> None:
    said = await views(limited, "/health", "/job", "/session?id=search-loops", "/sessions", "/map", "/alerts")
    assert [text for text in FOREIGN_TEXTS if text in said] == []
    assert '"view":"/health"' not in said
    assert '"view":"/job"' not in said


async def test_two_teams_look_at_the_same_page_at_the_same_time_and_see_their_own(tmp_path: Path) -> None:
    records, now = told()
    given = {"console_trusted_proxies": "127.0.0.1/32", "console_viewer_groups": "a=checkout-*,b=search-*"}
    async with following(tmp_path, records, now, **given) as logged_in:
        teams = {"checkout": proxied(logged_in, "a"), "search": proxied(logged_in, "b")}
        pages = ("/alerts", "/sessions", "/map?as=table")
        for page in pages:
            said = await asyncio.gather(
                *(views(reader, page, until=f"{team}-loops") for team, reader in teams.items())
            )
            assert "search-" not in said[0], page
            assert "checkout-" not in said[1], page


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
    records, now = told(held=False)
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


PARTIAL = {
    "console_trusted_proxies": "127.0.0.1/32",
    "console_operator_groups": "checkout=checkout-*",
    "console_viewer_sees": "digests",
}


def proxied(reader: Reader, groups: str) -> Reader:
    return reader._replace(cookie={"X-Forwarded-User": "ana", "X-Forwarded-Groups": groups})


async def test_texts_stay_hidden_from_viewers_whoever_looked_before(tmp_path: Path) -> None:
    records, now = told()
    async with following(tmp_path, records, now, beside=action_routes, **PARTIAL) as logged_in:
        # Who sees more than they act on reads as a viewer does, on pages and in streams.
        for groups in ("checkout,staff", "staff"):
            reader = proxied(logged_in, groups)
            for page in ("/session?id=checkout-loops", "/session?id=search-loops"):
                shown = await reader.page(page)
                live = await views(reader, page, until="event: rows")
                for text in ("a secret of", "noise"):
                    assert text not in shown, (groups, page)
                    assert text not in live, (groups, page)
                assert re.search(r"#[a-z]{8} \(", shown)
    people = tmp_path / "team"
    people.write_text(f"ana:operator:checkout-*:{digest(ANA)}\n")
    given = {"console_viewer_sees": "digests", "console_tokens": people}
    async with following(tmp_path, records, now, **given) as reader:
        assert "a secret of the checkout team" in await reader.page("/session?id=checkout-loops")


@pytest.mark.parametrize("role", ["viewer", "operator"])
async def test_no_link_of_their_pages_leads_to_a_refusal(tmp_path: Path, role: str) -> None:
    async with read_by(tmp_path, f"ana:{role}:checkout-*") as reader:
        seen, waiting = (
            set[str](),
            ["/alerts", "/sessions", "/map?as=matrix", "/alerts?group=cause", "/licenses"],
        )
        tabs = ("steps", "evidence", "what-if&stuck_loop=9", "commands", "scores")
        waiting += [f"/session?id=checkout-{name}&tab={tab}" for name in ("loops", "works") for tab in tabs]
        while waiting and len(seen) < 150:
            path = waiting.pop()
            seen.add(path)
            answer = await reader.answer(path)
            assert answer.status in (200, 503), (path, answer.text)  # no broker answers here
            for link in re.findall(r'<a[^>]* href="(/[^"#]*)"', answer.text):
                address = unescape(link)
                if address not in seen and not address.startswith(("/static", "/logout")) and address != "/":
                    waiting.append(address)
        assert len(seen) > 30


async def test_what_is_wrong_with_a_form_says_nothing_of_other_agents(operator: Reader) -> None:
    for about in (
        {"scope": "agent", "agent_id": FOREIGN},
        {"scope": "agent", "agent_id": "nobody"},
        {"scope": "all"},
    ):
        answer = await sent(operator, "/actions/commands", action="pause", reason="x", **about)
        assert (answer.status, "live session" in answer.text) == (403, False), about
    own = {"scope": "agent", "agent_id": OWN}
    answer = await sent(operator, "/actions/commands", action="pause", reason="x", **own)
    assert (answer.status, "2 live sessions" in answer.text) == (400, True)


@pytest.mark.parametrize(("first", "then", "theirs"), [(FOREIGN, OWN, True), (OWN, FOREIGN, False)])
async def test_triage_goes_by_the_agent_that_pages_go_by(
    tmp_path: Path, first: str, then: str, theirs: bool
) -> None:
    board = Recorded()
    board.loop("s-1", 8, agent=first)
    board.loop("s-1", 1, agent=then)
    [episode] = board.model.cases["s-1"].episodes.values()
    people = tmp_path / "team"
    people.write_text(f"ana:operator:checkout-*:{digest(ANA)}\n")
    async with following(
        tmp_path, board.records, board.now, console_tokens=people, beside=action_routes
    ) as reader:
        assert bool((await reader.json("/alerts"))["rows"]) is theirs
        for path, fields in (
            ("/actions/triage", {"episode_ids": episode.episode_id, "do": "ack"}),
            ("/actions/triage", {"episode_ids": episode.episode_id, "do": "not_a_loop"}),
            ("/actions/commands", {"session_ids": "s-1", "action": "pause", "reason": "x"}),
        ):
            answer = await sent(reader, path, **fields)
            # What is let through comes as far as the brokers, which are not there.
            assert ("wrong-team" not in answer.text) is theirs, (fields, answer.text)


async def test_the_archive_is_searched_for_sessions_of_the_team(tmp_path: Path) -> None:
    records, now = told()
    row = next(each for each in folded(records).rows() if isinstance(each, SessionRow))
    foreign = [row._replace(session_id=f"f-{n}", agent_id="search-1", last_ts=2_000 + n) for n in range(60)]
    own = [row._replace(session_id=f"o-{n}", agent_id="checkout-1", last_ts=1_000 + n) for n in range(5)]
    given = {
        **PARTIAL,
        "console_viewer_groups": "a=checkout-*,b=other-*,c=[!s]*",
        "console_operator_groups": "",
    }
    async with following(tmp_path, records, now, **given) as logged_in:
        archive = logged_in.feed.archive
        archive.save([(SESSION, each) for each in (*foreign, *own)], ()).result()
        for groups in ("a", "a,b", "c", "b,c"):
            reader = proxied(logged_in, groups)
            for query, count in (
                ("", 5),
                ("?agent=search-*", 0),
                ("?agent=zzz", 0),
                ("?q=checkout-1", 5),
            ):
                found: Any = await reader.json(f"/sessions{query}")
                assert (len(found["older"]), found["older_cut"]) == (count, False), (groups, query)


async def test_files_are_limited_too(tmp_path: Path) -> None:
    board = FileBoard("run.jsonl", "run.jsonl", DEFAULTS)
    recording = next(each for each in RECORDINGS if each.name == "same_call")
    for judgement in judge(entries([str(recording.path)], recording.input_format), DEFAULTS):
        board.add(judgement)
    [agent] = {row["agent_id"] for row in board.sessions({}, 0)["rows"]}
    assert board.within((agent,)).sessions({}, 0)["rows"] == board.sessions({}, 0)["rows"]
    assert board.within(("nobody-*",)).sessions({}, 0)["rows"] == []


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

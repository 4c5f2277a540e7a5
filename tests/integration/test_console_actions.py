"""Commands and triage from the console, on a broker: the audit first, and who acts sees what they did."""

import hashlib
import json
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from aiohttp.test_utils import TestServer
from eddy_client.protocol import Signature, verified

from schemas.codec import Codec
from streams.console import actions
from streams.console.action_context import ActionContext, ModelKnown
from streams.console.app import application
from streams.console.composition import console_on
from streams.console.file_board import FileBoard
from streams.console.live_console import live_console
from streams.console.read_model.model import ReadModel
from streams.console.settings import ConsoleSettings
from streams.console.topic_follower import FollowerSettings
from streams.control.audit import AuditRecord
from streams.control.command import Command
from streams.control.publisher import CommandPublisher
from streams.core.detectors.settings import DEFAULTS
from streams.core.domain.topic import Topic
from streams.kafka.client import Brokers, connect
from streams.kafka.clock import now_ms
from streams.kafka.connection import Connection
from tests.integration.console_feed import running
from tests.integration.console_operator import Operator, logged_in
from tests.integration.load import decision, keyed
from tests.integration.stage import Stage

pytestmark = pytest.mark.integration

PARTITIONS = 4
KEY = b"a key of sixteen characters"
PAUSE = {"session_ids": "s-17", "action": "pause", "reason": "it loops"}


class Following(FileBoard):
    """No session to look at, on a console where people may act."""

    live = True


class Deck:
    """A running console: its read model, its brokers, and its operator."""

    def __init__(self, model: ReadModel, brokers: Brokers, operator: Operator) -> None:
        self.model = model
        self.operator = operator
        self._brokers = brokers

    async def commands(self) -> list[Command]:
        decoder = Codec.bundled().decoder("session-commands-value")
        return [
            Command.of(decoder.decode(each.value, tuple(each.headers)))
            async for each in self._brokers.read(Topic.SESSION_COMMANDS)
        ]

    async def audit(self) -> list[AuditRecord]:
        decoder = Codec.bundled().decoder("console-actions-value")
        return [
            AuditRecord.of(decoder.decode(each.value, tuple(each.headers)))
            async for each in self._brokers.read(Topic.CONSOLE_ACTIONS)
        ]


@pytest.fixture
async def brokers(stage: Stage) -> AsyncIterator[Brokers]:
    async with connect(Connection(stage.broker.bootstrap)) as connected:
        yield connected


@pytest.fixture
async def deck(brokers: Brokers, tmp_path: Path) -> AsyncIterator[Deck]:
    settings = ConsoleSettings(_env_file=None, console_dir=tmp_path, web_port=0)
    console = console_on(settings, Following("", "", DEFAULTS), now_ms)
    following = running(brokers, tmp_path / "archive", FollowerSettings(from_beginning=True), clock=now_ms)
    async with following as board:
        publisher = CommandPublisher(brokers, Codec.bundled(), KEY)
        context = ActionContext(publisher, ModelKnown(board.model, now_ms), board.feed.passed)
        async with (
            TestServer(application(console, actions.routes(console, context))) as server,
            logged_in(console, str(server.make_url("")).rstrip("/")) as operator,
        ):
            yield Deck(board.model, brokers, operator)


async def test_a_pause_is_audited_first_signed_and_visible_to_who_asked(deck: Deck, brokers: Brokers) -> None:
    answer = await deck.operator.posts("/actions/commands", {**PAUSE, "ttl_ms": "900000"})
    said = await answer.json()
    assert answer.status == 200, said
    [command] = await deck.commands()
    [stored] = [each async for each in brokers.read(Topic.SESSION_COMMANDS)]
    assert said == {
        "status": "accepted",
        "id": command.command_id,
        "place": [stored.partition, stored.offset],
        "visible": True,
        "commands": 1,
        "said": "Asked: pause.",
        "undo": {
            "scope": "session",
            "action": "resume",
            "reason": "The pause was taken back at once.",
            "session_ids": ["s-17"],
            "confirm": 1,
        },
    }
    assert verified(stored.value or b"", stored.headers, [KEY]) is Signature.VALID
    assert (command.issuer.name, command.issuer.role, command.issuer.via) == ("local", "operator", "cookie")
    assert deck.model.control("s-17", now_ms()).state == "asked"
    before, after = await deck.audit()
    assert (before.id, before.result, after.id, after.result) == (after.id, None, before.id, "accepted")
    assert after.result_place == f"session-commands/{stored.partition}/{stored.offset}"
    assert json.loads(before.request or "")["command_id"] == command.command_id


async def test_who_is_limited_to_a_team_stops_its_sessions_and_no_others(
    brokers: Brokers, stage: Stage, tmp_path: Path
) -> None:
    people = tmp_path / "people"
    people.write_text(f"ana:operator:checkout-*:{hashlib.sha256(b'a token').hexdigest()}\n")
    settings = ConsoleSettings(_env_file=None, console_dir=tmp_path, web_port=0, console_tokens=people)
    worker = stage.worker()
    sessions = {"s-own": "checkout-7", "s-foreign": "search-3"}
    for session_id, agent in sessions.items():
        value = decision(session_id, 0)
        value["identity"]["agent_id"] = agent
        await stage.send([keyed(value, PARTITIONS)])
    await stage.processed()
    worker.terminate()
    assert await worker.ended() == 0, worker.tail()
    decoder = Codec.bundled().decoder("session-commands-value")
    async with (
        live_console(settings, brokers, Codec.bundled(), "here", now_ms, from_beginning=True) as (
            console,
            routes,
            _,
        ),
        TestServer(application(console, routes)) as server,
        logged_in(console, str(server.make_url("")).rstrip("/"), "a token") as operator,
    ):
        seen = await operator.reads_json("/sessions")
        while seen["matching"] == 0:  # it has not read the topics yet
            seen = await operator.reads_json("/sessions")
        assert [row["session_id"] for row in seen["rows"]] == ["s-own"]
        for chosen, status in ((["s-own"], 200), (["s-foreign"], 403), (["s-own", "s-foreign"], 403)):
            asked = {
                "session_ids": chosen,
                "action": "pause",
                "reason": "it loops",
                "confirm": len(chosen),
            }
            assert (await operator.posts_json("/actions/commands", asked)).status == status
        hold = {"scope": "agent", "action": "pause", "reason": "it loops", "confirm": 1}
        for agent, status in (("checkout-7", 200), ("search-3", 403)):
            answer = await operator.posts_json("/actions/commands", {**hold, "agent_id": agent})
            assert answer.status == status
    sent = [
        Command.of(decoder.decode(each.value, tuple(each.headers)))
        async for each in brokers.read(Topic.SESSION_COMMANDS)
    ]
    assert {(each.session_id, each.agent_id) for each in sent} == {("s-own", None), (None, "checkout-7")}


async def test_a_form_without_a_script_leads_to_a_page_of_the_console(deck: Deck) -> None:
    for fields, page in (
        (PAUSE, "/session?id=s-17"),
        ({**PAUSE, "next": "/session?id=s-17&tab=scores"}, "/session?id=s-17&tab=scores"),
        ({**PAUSE, "next": "//evil.example"}, "/"),
        ({**PAUSE, "scope": "all", "session_ids": "", "confirm": "0"}, "/alerts"),
    ):
        answer = await deck.operator.posts("/actions/commands", fields, accept="text/html")
        assert (answer.status, answer.headers["Location"]) == (303, page)


async def test_an_action_on_many_sessions_is_one_audit_record_and_a_command_for_each(deck: Deck) -> None:
    sessions = [f"s-{number}" for number in range(12)]
    fields = [("session_ids", each) for each in sessions]
    fields += [("action", "resume"), ("reason", "the sandbox is up")]
    refused = await deck.operator.posts("/actions/commands", fields)
    assert refused.status == 400
    assert "type 12 in the field confirm" in (await refused.json())["detail"]
    assert await deck.audit() == []

    document = {"session_ids": sessions, "action": "resume", "reason": "the sandbox is up", "confirm": 12}
    answer = await deck.operator.posts_json("/actions/commands", document)
    said = await answer.json()
    assert (answer.status, said["commands"], said["visible"]) == (200, 12, True), said
    assert {each.session_id for each in await deck.commands()} == set(sessions)
    records = await deck.audit()
    assert [(each.target, each.result) for each in records] == [
        ("12 sessions", None),
        ("12 sessions", "accepted"),
    ]
    assert json.loads(records[0].request or "")["session_ids"] == sessions


async def test_a_hold_is_confirmed_shown_and_released_on_its_page(deck: Deck) -> None:
    page = await deck.operator.reads("/hold")
    assert "Type 0 to confirm" in page
    assert "Nothing is on hold" in page
    hold = {"scope": "agent", "agent_id": "coder-7", "action": "pause", "reason": "<b>wrong</b> branch"}
    answer = await deck.operator.posts(
        "/actions/commands", {**hold, "confirm": "0", "next": "/hold"}, "text/html"
    )
    assert (answer.status, answer.headers["Location"]) == (303, "/hold")
    page = await deck.operator.reads("/hold?agent=coder-7")
    assert "Agent coder-7" in page
    assert "&lt;b&gt;wrong&lt;/b&gt; branch" in page
    release = {"scope": "agent", "agent_id": "coder-7", "action": "resume", "reason": "done", "next": "/hold"}
    await deck.operator.posts("/actions/commands", release, "text/html")
    assert "Nothing is on hold" in await deck.operator.reads("/hold")


async def test_triage_is_an_audit_record_that_is_folded_before_the_answer(deck: Deck) -> None:
    fields = [("episode_ids", "e1"), ("episode_ids", "e2"), ("do", "ack")]
    said = await (await deck.operator.posts("/actions/triage", fields)).json()
    assert (said["status"], said["visible"], said["episodes"]) == ("accepted", True, 2), said
    assert {name: row.state for name, row in deck.model.ledger.triage.items()} == {
        "e1": "acknowledged",
        "e2": "acknowledged",
    }
    await deck.operator.posts("/actions/triage", {"episode_ids": "e1", "do": "unack"})
    assert deck.model.ledger.triage["e1"].state == "open"
    wrong = await deck.operator.posts("/actions/triage", {"episode_ids": "e1", "do": "close"})
    assert wrong.status == 400


async def test_an_action_needs_the_token_of_the_page(deck: Deck) -> None:
    deck.operator._headers.pop("X-CSRF-Token")
    answer = await deck.operator.posts("/actions/commands", PAUSE)
    assert answer.status == 403
    assert await deck.commands() == []


async def test_a_label_stands_in_the_audit_and_on_its_topic(deck: Deck, brokers: Brokers) -> None:
    form = {"episode_ids": "session/s-17", "do": "not_a_loop", "note": "It waits for a build."}
    answer = await deck.operator.posts("/actions/triage", form)
    said = await answer.json()
    assert answer.status == 200, said
    assert said["undo"] == {"do": "unack", "episode_ids": ["session/s-17"]}
    [record] = [each for each in await deck.audit() if each.kind == "triage"]
    [stored] = [each async for each in brokers.read(Topic.SESSION_LABELS)]
    label = json.loads(stored.value or b"")
    assert (label["subject"], label["session_id"], label["label"]) == ("session/s-17", "s-17", "not_a_loop")
    assert (label["who"], label["why"], label["at"]) == (record.who, "It waits for a build.", record.at)
    assert stored.key == b"session/s-17"

    async def triages() -> list[str]:
        return [json.loads(each.request or "")["do"] for each in await deck.audit() if each.kind == "triage"]

    await deck.operator.posts("/actions/triage", {**form, "do": "loop"})
    assert await triages() == ["not_a_loop", "unack", "loop"]
    await deck.operator.posts("/actions/triage", form)
    await deck.operator.posts("/actions/triage", {**form, "do": "unack"})
    newest = [each async for each in brokers.read(Topic.SESSION_LABELS)][-1]
    assert (newest.key, newest.value) == (b"session/s-17", None)

"""`eddy session` on a broker: what is asked, what guards answer, and what a person is told of it."""

import asyncio
import json
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import orjson
import pytest
from click.testing import CliRunner, Result
from eddy_client.protocol import HEADER, Signature, Status, verified

from schemas.codec import Codec
from streams.cli import main
from streams.cli.command_group import PROBLEM_FOUND, WRONG_INPUT
from streams.control.audit import AuditRecord
from streams.control.audit import Result as Ended
from streams.control.command import Command
from streams.control.outcome import Ack, GuardFacts
from streams.core.domain.record import Outgoing
from streams.core.domain.topic import CONTROL, Topic
from streams.kafka.client import Stored, connect
from streams.kafka.connection import Connection
from streams.kafka.reading import partition_of
from tests.integration.brokers import Broker
from tests.integration.stage import delete_topics

pytestmark = pytest.mark.integration

PARTITIONS = 4
KEY = "a key of sixteen characters"
LONG = "60"
FACTS = GuardFacts(version="0.2.0", integration="langgraph", host="host-1", pid=7)
JSON_HEADER: list[tuple[str, bytes | None]] = [("content-type", b"application/json")]


class Desk:
    """A shell, and what the topics hold."""

    def __init__(self, broker: Broker) -> None:
        self._connection = Connection(broker.bootstrap)
        self._bootstrap = broker.bootstrap

    def eddy(self, *words: str, **environment: str) -> Result:
        runner = CliRunner(env=environment)
        return runner.invoke(main, [*words, "--bootstrap-servers", self._bootstrap])

    def session(self, *words: str, **environment: str) -> Result:
        return self.eddy("session", *words, **environment)

    def stored(self, topic: Topic) -> list[Stored]:
        async def read() -> list[Stored]:
            async with connect(self._connection) as brokers:
                return [record async for record in brokers.read(topic)]

        return asyncio.run(read())

    def fields(self, topic: Topic) -> list[dict[str, Any]]:
        decoder = Codec.bundled().decoder(f"{topic}-value")
        return [decoder.decode(each.value, tuple(each.headers)) for each in self.stored(topic)]

    def commands(self) -> list[Command]:
        return [Command.of(each) for each in self.fields(Topic.SESSION_COMMANDS)]

    def writes(self, topic: Topic, partition: int, key: bytes, value: bytes) -> None:
        async def write() -> None:
            async with connect(self._connection) as brokers:
                await brokers.write(topic, [(partition, Outgoing(key, value, now(), JSON_HEADER))])

        asyncio.run(write())

    def says(self, status: Status, session: str = "s-17", **more: Any) -> None:
        """Answer as a guard does that writes JSON."""
        guard_id = more.pop("guard_id", f"guard of {session}")
        command_id = more.get("command_id")
        ack = Ack(
            id=f"{command_id or session}/{guard_id}/{status}",
            session_id=session,
            status=status,
            at=now(),
            guard_id=guard_id,
            guard=FACTS,
            **more,
        )
        partition = partition_of(ack.key, PARTITIONS)
        self.writes(Topic.SESSION_COMMAND_ACKS, partition, ack.key, orjson.dumps(ack.fields()))

    @contextmanager
    def answering(self, *answers: tuple[str, Status, dict[str, Any]]) -> Iterator[None]:
        """Answer the next command as guards do that have attached: (session, status, more) in order."""
        failed: list[BaseException] = []
        over = threading.Event()

        def answer() -> None:
            try:
                while not (found := self.commands()):
                    if over.wait(0.05):
                        return
                for session, status, more in answers:
                    self.says(status, session, command_id=found[-1].command_id, **more)
            except BaseException as error:  # noqa: BLE001 - the test shall see it
                failed.append(error)

        thread = threading.Thread(target=answer)
        thread.start()
        try:
            yield
        finally:
            over.set()
            thread.join()
        assert failed == []


def now() -> int:
    return int(time.time() * 1000)


@pytest.fixture
def desk(stage_broker: Broker) -> Desk:
    desk = Desk(stage_broker)
    assert desk.eddy("topics", "apply", "--partitions", str(PARTITIONS), "--replicas", "1").exit_code == 0
    return desk


def test_a_pause_that_no_guard_answers_stands_until_it_expires_and_says_so(desk: Desk) -> None:
    result = desk.session("pause", "s-17", "--why", "it loops", "--ttl", "30m", "--wait", "1")
    assert result.exit_code == PROBLEM_FOUND, result.output
    asked, silent, unguarded = result.stdout.splitlines()
    [command] = desk.commands()
    assert asked.startswith("asked      s-17: pause until ")
    assert ", then resume (" in asked
    assert silent.startswith("no guard answered within 1 s: the command stands until ")
    assert unguarded.startswith("No guard of s-17 was heard of in the last 10 minutes")
    assert command.expires_at - command.issued_at == 30 * 60_000
    assert (command.action, command.on_timeout, command.reason) == ("pause", "resume", "it loops")
    assert command.issuer.kind == "cli"


def test_a_command_is_signed_stands_in_the_partition_of_its_session_and_is_in_the_audit(desk: Desk) -> None:
    result = desk.session("abort", "s-17", "--why", "enough", "--wait", "0", EDDY_COMMAND_KEY=KEY)
    assert result.exit_code == 0, result.output
    [stored] = desk.stored(Topic.SESSION_COMMANDS)
    assert (stored.partition, stored.key) == (partition_of(b"s-17", PARTITIONS), b"s-17")
    assert stored.value is not None
    assert verified(stored.value, stored.headers, [KEY.encode()]) is Signature.VALID
    [command] = desk.commands()
    before, after = map(AuditRecord.of, desk.fields(Topic.CONSOLE_ACTIONS))
    assert before.id == after.id
    assert before.request is not None
    assert json.loads(before.request)["command_id"] == command.command_id
    assert (before.result, after.result) == (None, Ended.ACCEPTED)
    assert after.result_place == f"session-commands/{stored.partition}/{stored.offset}"
    assert (after.kind, after.target, after.why) == ("command", "s-17", "enough")
    assert after.request is not None
    assert json.loads(after.request)["action"] == "abort"


def test_without_a_key_nothing_is_signed_and_json_is_written_where_it_is_asked_for(desk: Desk) -> None:
    result = desk.session("resume", "s-17", "--why", "done", "--wait", "0", EDDY_OUTPUT_FORMAT="json")
    assert result.exit_code == 0, result.output
    [stored] = desk.stored(Topic.SESSION_COMMANDS)
    assert stored.value is not None
    assert orjson.loads(stored.value)["action"] == "resume"
    assert HEADER not in dict(stored.headers)


def test_a_guard_that_obeys_is_reported_and_ends_the_waiting(desk: Desk) -> None:
    desk.says(Status.ATTACHED)
    applied = {"effective_at": 1_760_000_000_000}
    with desk.answering(("s-17", Status.RECEIVED, {}), ("s-17", Status.APPLIED, applied)):
        result = desk.session("pause", "s-17", "--why", "it loops", "--wait", LONG)
    assert result.exit_code == 0, result.output
    last = result.stdout.splitlines()[-1]
    assert last == (
        "in effect  since 2025-10-09 08:53:20 UTC, the agent is paused "
        "(guard of s-17, langgraph 0.2.0 on host-1)"
    )


def test_a_guard_that_refuses_is_a_problem_and_says_what_to_do(desk: Desk) -> None:
    desk.says(Status.ATTACHED)
    with desk.answering(("s-17", Status.REJECTED, {"detail": "no signature"})):
        result = desk.session("pause", "s-17", "--why", "it loops", "--wait", LONG)
    assert result.exit_code == PROBLEM_FOUND, result.output
    assert "refused" in result.stdout
    assert ": no signature Is EDDY_COMMAND_KEY here the key of the guard?" in result.stdout


def test_a_session_that_has_ended_is_not_waited_for_and_is_said_to_have_ended(desk: Desk) -> None:
    desk.says(Status.ATTACHED)
    desk.says(Status.DETACHED, last_event_id="e-9")
    result = desk.session("abort", "s-17", "--why", "enough", "--wait", LONG)
    assert result.exit_code == PROBLEM_FOUND, result.output
    _, silent, gone = result.stdout.splitlines()
    assert silent.startswith("no guard answered: the command stands until ")
    assert gone.startswith("The last guard of s-17 left at ")
    assert gone.endswith(
        " after event e-9: the session has ended, or its process, so there is no agent to reach."
    )
    last = desk.session("commands", "s-17").stdout.splitlines()[-1]
    assert last.startswith("s-17 has no guard: the last one left at ")


def test_a_hold_of_an_agent_waits_for_each_of_its_guards_and_for_no_others(desk: Desk) -> None:
    for session, agent in (("s-1", "coder-7"), ("s-2", "coder-7"), ("s-3", "coder-8")):
        desk.says(Status.ATTACHED, session, agent_id=agent)
    answers = [(session, Status.APPLIED, {"agent_id": "coder-7"}) for session in ("s-1", "s-2")]
    with desk.answering(*answers):
        words = ["pause", "--agent", "coder-7", "--why", "wrong branch", "--wait", LONG, "--json"]
        result = desk.session(*words)
    assert result.exit_code == 0, result.output
    document = json.loads(result.stdout)
    assert (document["state"], document["guards"]) == ("in_effect", 2)
    assert sorted(answer["session_id"] for answer in document["answers"]) == ["s-1", "s-2"]
    assert (document["scope"], document["agent_id"], document["session_id"]) == ("agent", "coder-7", None)
    [stored] = desk.stored(Topic.SESSION_COMMANDS)
    assert stored.key == b"agent/coder-7"


def test_what_was_asked_and_answered_can_be_read_again(desk: Desk) -> None:
    assert desk.session("commands", "s-17").stdout.splitlines() == [
        "No command in the last 24 hours; --all shows older ones.",
        "s-17 has no guard: none was heard of in the last 10 minutes, so a pause cannot reach it",
    ]
    desk.says(Status.ATTACHED, agent_id="coder-7")
    for words in (
        ["pause", "s-17", "--why", "it loops", "--on-timeout", "abort"],
        ["note", "s-17", "--why", "it cannot find them", "--message", "The tests are in tests/unit."],
        ["budget", "s-17", "--why", "big task", "--steps", "300", "--tokens", "90000"],
        ["pause", "--agent", "coder-7", "--why", "wrong branch"],
        ["pause", "--agent", "coder-8", "--why", "not of this session"],
        ["pause", "s-18", "--why", "not of this session"],
        ["resume", "--all", "--why", "all is well"],
    ):
        assert desk.session(*words, "--wait", "0").exit_code == 0
    first = next(command for command in desk.commands() if command.on_timeout == "abort")
    desk.says(Status.RECEIVED, command_id=first.command_id)
    desk.says(Status.APPLIED, command_id=first.command_id)
    partition = partition_of(b"s-17", PARTITIONS)
    desk.writes(Topic.SESSION_COMMANDS, partition, b"s-17", b'{"session_id": "s-17"}')

    result = desk.session("commands", "s-17")
    assert result.exit_code == 0, result.output
    text = result.stdout
    for part in (
        ", then abort, by ",
        "in effect  since ",
        "message 'The tests are in tests/unit.', until ",
        "budget of 300 steps and 90,000 tokens in all, until ",
        "agent coder-7: pause until ",
        "every agent: resume, until ",
        "asked      no guard answered; it stands",
        "guard guard of s-17, langgraph 0.2.0 on host-1, last heard of ",
    ):
        assert part in text, text
    assert "not of this session" not in text
    assert result.stderr == "Left out, because unreadable: 1 record.\n"

    lines = desk.session("commands", "s-17", "--json").stdout.splitlines()
    states = {each["action"]: each["state"] for each in map(json.loads, lines) if each["scope"] == "session"}
    assert states == {"pause": "in_effect", "inject_message": "asked", "raise_budget": "asked"}


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["pause", "--why", "x"], "Say for whom"),
        (["pause", "s-17", "--agent", "coder-7", "--why", "x"], "Say for whom"),
        (["pause", "--all", "--why", "x"], "add --yes to hold every agent"),
        (["pause", "s-17"], "--why"),
        (["pause", "s-17", "--why", " "], "Say why"),
        (["pause", "s-17", "--why", "x", "--ttl", "25h"], "within 24 hours"),
        (["pause", "s-17", "--why", "x", "--ttl", "soon"], "no time such as 90s, 15m or 2h"),
        (["note", "s-17", "--why", "x", "--message", "m" * 4_001], "4,000 are possible"),
        (["budget", "s-17", "--why", "x"], "the new total of steps, of tokens, or of both"),
    ],
)
@pytest.mark.any_broker
def test_a_wrong_command_is_not_sent_and_says_why(words: list[str], said: str) -> None:
    result = CliRunner().invoke(main, ["session", *words, "--bootstrap-servers", "127.0.0.1:1"])
    assert result.exit_code == WRONG_INPUT, result.output
    assert said in result.stderr


def test_an_installation_without_the_topics_gets_them_and_keeps_the_others(stage_broker: Broker) -> None:
    desk = Desk(stage_broker)
    apply = ("topics", "apply", "--partitions", str(PARTITIONS), "--replicas", "1")
    assert desk.eddy(*apply).exit_code == 0
    asyncio.run(delete_topics(stage_broker, CONTROL))
    result = desk.session("pause", "s-17", "--why", "it loops", "--wait", "0")
    assert result.exit_code == WRONG_INPUT, result.output
    assert "Create the topics with `eddy topics apply`." in result.stderr
    plan = desk.eddy("topics", "plan", "--partitions", str(PARTITIONS), "--replicas", "1").stdout
    created = [line.split()[2].rstrip(":") for line in plan.splitlines() if line.startswith("+ create")]
    assert created == list(CONTROL)
    assert [line for line in plan.splitlines() if line.startswith(("~", "!"))] == []
    assert desk.eddy(*apply).exit_code == 0
    assert desk.session("pause", "s-17", "--why", "it loops", "--wait", "0").exit_code == 0

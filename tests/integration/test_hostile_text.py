"""No command lets a terminal obey, hide or reorder what an agent, a file, a topic or a variable says."""

from __future__ import annotations

import asyncio
import json
import re
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click
import orjson
import pytest

from streams.cli import main
from streams.core.domain.record import Outgoing
from streams.core.domain.topic import Topic
from streams.kafka.client import connect
from streams.kafka.connection import Connection
from streams.kafka.reading import partition_of
from tests.integration.commands import Commands, commands
from tests.integration.load import decision, keyed
from tests.integration.stage import Stage

pytestmark = [pytest.mark.integration, pytest.mark.any_broker]

#: Not in a file name: / and NUL.
NAME = (
    "\x1b[2J\x1b[31;7m\x1b]0;owned\x07\x9b31m\x7f\u202egnp.\u2066\u200b\u200f\u061c\u2028\U000e0041"
    "[red]x[link=https:x.example]y e" + "\u0301" * 40 + "\r\neddy: all is well"
)
#: Not in a word of a command line: NUL.
SESSION = f"{NAME}/"
EVIL = f"{SESSION}\0"
RAW = ("\x1b[2J", "\x1b[31;7m", "\x1b]", "\x07", "\x9b", "\x7f", "\u202e")
#: What Eddy itself writes to a terminal: styles, and a line of progress that is erased.
OWN = re.compile(r"\x1b\[[0-9;]*m|\r\x1b\[2K")
PARTITIONS = 4

#: The words of each command that needs no broker. FILE and so on are hostile in name and content.
ALONE = {
    "completion": [["bash"], [NAME]],
    "backtest": [
        ["--a", "default", "--b", "SETTINGS", "FILE"],
        ["--a", "default", "--b", "SETTINGS", "FILE", "--json"],
        ["--a", "default", "--b", "default", "FILE", "--json"],
    ],
    "detect": [
        ["FILE"],
        ["FILE", "--json"],
        ["FILE", "--settings", "SETTINGS"],
        ["FILE", "--only-loops"],
        [NAME],
        [f"--{NAME}"],
    ],
    "evaluate": [["LABELLED"], ["LABELLED", "--json"], ["LABELLED", "--against", "SETTINGS"], [NAME]],
    "ingest": [
        ["FILE", "--out", "-"],
        ["FILE", "--dry-run"],
        ["FILE", "--judge"],
        ["FILE", "--out", "FILE"],
        ["FILE", "--strict", "--state", "FILE", "--out", "LABELLED"],
        [NAME, "--dry-run"],
    ],
    "explain": [[SESSION, "FILE"], [SESSION, "FILE", "--json"], ["nobody", "FILE"], [NAME, NAME]],
    # With a file it serves until it is stopped; what its pages show of such a file is tested in a browser.
    "console": [["--port", NAME, "FILE"], [NAME]],
    "demo": [["--input", "FILE"], ["--input", NAME]],
    "worker": [["--data-dir", "FILE"], ["--log-level", NAME]],
    "bridge otlp": [["--data-dir", "FILE"], ["--log-level", NAME], ["--content", NAME]],
    "config describe": [[], ["--json"], [NAME]],
    "config explain": [["--settings", "SETTINGS"], [NAME, "--settings", "defaults"]],
    "notify test": [[], ["--dry-run"], [NAME]],
    # On a terminal it runs until it is ended; what stands on its screen then is tested without a process.
    "top": [
        ["--follow", "FILE", "--once"],
        ["--follow", "FILE", "--json"],
        ["--follow", NAME, "--once"],
        [NAME],
    ],
    "broker": [["--port", NAME]],
    "settings": [[], ["--json"], [NAME]],
    "topics export": [["--strimzi", "--cluster", NAME], ["--terraform"], [NAME]],
    "hook": [[], [NAME]],
    "guard install": [["claude-code", "--yes"], ["opencode", "--project", "--yes"], [NAME]],
    "guard uninstall": [["claude-code", "--yes"], [NAME]],
    "guard status": [[]],
    "guard hook": [[NAME, "before"], ["codex", "after", "--timeout", NAME]],
    "guard pause": [[SESSION, "--why", NAME]],
    "guard resume": [[SESSION, "--why", NAME]],
    "guard abort": [[SESSION, "--why", NAME]],
    "guard note": [[SESSION, NAME]],
    "guard run": [["--session", NAME, "--bootstrap-servers", "127.0.0.1:1", "--", "true"], ["--", NAME]],
    "watch": [["--policy", "FILE", "--plain"], ["--policy", "SETTINGS", "--plain"], [NAME]],
}
#: The words of each command that asks brokers.
ASKING = {
    "backtest": [["--a", "live", "--b", "shadow", "--topic", "decision-logs"]],
    "config explain": [[]],
    "config get": [["cycle_loop"], ["tool_policies"], [NAME]],
    "config history": [[], ["--json"]],
    "config list": [[], ["--json"]],
    "config set": [["cycle_loop=5", "--why", NAME], [f"{NAME}=1"]],
    "config shadow clear": [["--why", NAME]],
    "config shadow get": [[], ["--json"], [NAME]],
    "config shadow history": [[], ["--json"]],
    "config shadow set": [["cycle_loop=5", "--why", NAME]],
    "dlq list": [[], ["--json"], ["--session", NAME]],
    "dlq redrive": [["--all", "--dry-run"], ["--all", "--dry-run", "--json"], [NAME]],
    "dlq show": [["0:0"], ["0:0", "--json"], [NAME]],
    "doctor": [[], ["--json"]],
    "explain": [[SESSION, "--topic"], [SESSION, "--topic", "--json"]],
    "forget": [
        [SESSION, NAME, "--dry-run"],
        ["--agent", NAME, "--dry-run", "--json"],
        [SESSION, "--yes", "--why", NAME, "--wait", "0.1"],
        ["--before", NAME],
    ],
    "label": [[SESSION, "not-a-loop", "--why", NAME], ["nobody", "loop"], [SESSION, NAME]],
    "evaluate": [
        ["--labels"],
        ["--labels", "--json"],
        ["--interventions"],
        ["--interventions", "--json"],
    ],
    "send": [["FILE"], [NAME], ["FILE", "--bootstrap-servers", NAME]],
    "session abort": [[SESSION, "--why", NAME, "--wait", "0"], [SESSION, "--why", NAME, "--ttl", NAME]],
    "session budget": [[SESSION, "--why", NAME, "--steps", "9", "--wait", "0"]],
    "session commands": [[SESSION], [SESSION, "--json"], [SESSION, "--all"]],
    "session note": [[SESSION, "--why", NAME, "--message", NAME, "--wait", "0"]],
    "session pause": [
        [SESSION, "--why", NAME, "--wait", "0.1"],
        [SESSION, "--why", NAME, "--wait", "0.1", "--json"],
        ["--agent", NAME, "--why", NAME, "--wait", "0.1"],
    ],
    "session resume": [[SESSION, "--why", NAME, "--wait", "0"]],
    "top": [["--once"], ["--json"], ["--bootstrap-servers", NAME]],
    "topics plan": [[], ["--partitions", NAME]],
    "topics apply": [[], ["--bootstrap-servers", NAME]],
}


def names_of(command: click.Command, path: tuple[str, ...] = ()) -> Iterator[str]:
    if isinstance(command, click.Group):
        context = click.Context(command)
        for name in command.list_commands(context):
            found = command.get_command(context, name)
            assert found is not None
            yield from names_of(found, (*path, name))
    else:
        yield " ".join(path)


def test_every_command_has_a_case() -> None:
    assert set(names_of(main)) == {*ALONE, *ASKING}


def hostile_acts(session: str) -> list[dict[str, Any]]:
    acts = [
        decision(session, n, intent=EVIL, tool_call=EVIL, target=EVIL, error=EVIL, status="failure")
        for n in range(8)
    ]
    for act in acts:
        act["identity"] = {"agent_id": EVIL, "agent_type": EVIL}
        act["task_type"] = EVIL
    refused = decision(session, 9, tool_call=EVIL)
    refused["action"]["status"] = EVIL
    return [*acts, refused]


def hostile_control(now: int) -> list[tuple[Topic, dict[str, Any]]]:
    """Return a command to the hostile session and what a guard says of it."""
    command = {
        "command_id": EVIL,
        "scope": "session",
        "session_id": SESSION,
        "agent_id": EVIL,
        "action": EVIL,
        "issued_at": now,
        "expires_at": now + 60_000,
        "on_timeout": EVIL,
        "message": EVIL,
        "reason": EVIL,
        "issuer": {"kind": EVIL, "name": EVIL, "role": EVIL, "via": EVIL},
    }
    facts = {"version": EVIL, "integration": EVIL, "host": EVIL}
    acks = [
        {
            "id": f"{EVIL}{status}",
            "session_id": SESSION,
            "agent_id": EVIL,
            "command_id": EVIL,
            "status": status,
            "at": now,
            "guard_id": f"{EVIL}{status}",
            "guard": facts,
            "detail": EVIL,
        }
        for status in ("attached", "received", "applied", "rejected", EVIL)
    ]
    paused = {**command, "command_id": "p", "action": "pause"}
    commands = [(Topic.SESSION_COMMANDS, each) for each in (command, paused)]
    return [*commands, *((Topic.SESSION_COMMAND_ACKS, ack) for ack in acks)]


@pytest.fixture(scope="module")
def eddy() -> Iterator[Commands]:
    with commands() as running:
        yield running


@pytest.fixture
def files(tmp_path: Path) -> dict[str, str]:
    """Write hostile files; return their names by the words that stand for them."""
    names = {word: str(tmp_path / f"{word}{NAME}") for word in ("FILE", "SETTINGS", "LABELLED")}
    acts = [orjson.dumps(act) for act in hostile_acts(SESSION)]
    Path(names["FILE"]).write_bytes(b"\n".join([*acts, EVIL.encode(), b"\x9b\xff"]) + b"\n")
    Path(names["SETTINGS"]).write_bytes(
        orjson.dumps({NAME: EVIL, "cycle_loop": EVIL, "entropy_window_size": 4})
    )
    label = {"session_id": SESSION, "label_source": "people", "source": EVIL, "action_action": ["Repetition"]}
    unknown = {**label, "session_id": f"{EVIL}2"}
    lines = [*acts, orjson.dumps(label), orjson.dumps(unknown)]
    Path(names["LABELLED"]).write_bytes(b"\n".join(lines) + b"\n")
    return names


def offences(written: bytes) -> list[str]:
    """Return the lines in which something is not printable, and sequences that came through."""
    text = written.decode()
    found = [sequence for sequence in RAW if sequence in text]
    lines = OWN.sub("", text).replace("\r\n", "\n").split("\n")
    found += [line for line in lines if not line.isprintable() or line.startswith("eddy: all is well")]
    return [repr(each) for each in found]


def documents(written: bytes) -> list[Any]:
    """Return the JSON that a command wrote: one document, or one on each line."""
    try:
        return [json.loads(written)]
    except ValueError:
        return [json.loads(line) for line in written.splitlines()]


def run(
    eddy: Commands, words: list[str], files: dict[str, str], environment: dict[str, str], directory: Path
) -> list[str]:
    """Run a command with pipes and on a terminal; return what is wrong with what it wrote."""
    words = [files.get(word, word) for word in words]
    out, errors = eddy.run(words, environment, directory, terminal=False)
    shown = eddy.run(words, {**environment, "TERM": "xterm-256color"}, directory, terminal=True).out
    assert shown, words
    assert out or errors, words
    assert b"Traceback" not in errors, errors.decode()
    if "--json" in words:
        assert documents(out) or errors, words
    return [*offences(out), *offences(errors), *offences(shown)]


@pytest.mark.timeout(400)
@pytest.mark.parametrize("command", ALONE)
def test_a_command_without_brokers_obeys_nothing(
    eddy: Commands, command: str, files: dict[str, str], tmp_path: Path
) -> None:
    environment = {**Stage.inherited(), "HOME": str(tmp_path)}
    for words in ALONE[command]:
        assert run(eddy, [*command.split(), *words], files, environment, tmp_path) == []


def test_json_gives_back_the_text_of_agents_as_it_is(
    eddy: Commands, files: dict[str, str], tmp_path: Path
) -> None:
    words = ["detect", "--json", files["FILE"]]
    out, _ = eddy.run(words, Stage.inherited(), tmp_path, terminal=False)
    assert [document["session_id"] for document in documents(out)][:9] == [SESSION] * 9


@pytest.mark.timeout(900)
async def test_a_command_that_asks_brokers_obeys_nothing(
    eddy: Commands, stage: Stage, files: dict[str, str], tmp_path: Path
) -> None:
    worker = stage.worker()
    await stage.send([keyed(act, PARTITIONS) for act in hostile_acts(SESSION)])
    await stage.processed()
    worker.terminate()
    assert await worker.ended() == 0, worker.tail()
    assert [line for line in worker.log.splitlines() if not line.isprintable()] == []

    document = {
        "version": 1,
        "changed": {"by": EVIL, "why": EVIL, "settings": [EVIL]},
        NAME: 1,
        "cycle_loop": EVIL,
    }
    letter = [
        ("x-dlq-reason", EVIL.encode()),
        ("__streams.errors.message", EVIL.encode()),
        (NAME, b"\x9b\xff"),
    ]
    async with connect(Connection(stage.broker.bootstrap)) as brokers:
        for topic in (Topic.DETECTOR_CONFIG, Topic.SHADOW_CONFIG):
            await brokers.write(topic, [(0, Outgoing(b"settings", orjson.dumps(document), 0))])
        for topic, fields in hostile_control(int(time.time() * 1000)):
            partition = partition_of(SESSION.encode(), PARTITIONS)
            record = Outgoing(SESSION.encode(), orjson.dumps(fields), 0)
            await brokers.write(topic, [(partition, record)])
        await brokers.write(Topic.DEAD_LETTERS, [(0, Outgoing(EVIL.encode(), EVIL.encode(), 0, letter))])
    environment = {**stage.environment(), "EDDY_" + NAME.replace("=", ""): NAME}
    wrong = {}
    for command, cases in ASKING.items():
        for case in cases:
            words = [*command.split(), *case]
            if found := await asyncio.to_thread(run, eddy, words, files, environment, tmp_path):
                wrong[" ".join(words)] = found
    assert wrong == {}

"""`eddy top` on a terminal: a loop comes up and goes, and the terminal is afterwards as it was."""

from __future__ import annotations

import asyncio
import json
import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from streams.core.domain.topic import Topic
from streams.kafka.clock import now_ms
from tests.integration.load import Sending, decision, keyed
from tests.integration.pseudo_terminal import (
    ALTERNATE_SCREEN,
    CURSOR_SHOWN,
    MAIN_SCREEN,
    PseudoTerminal,
    on_a_terminal,
)
from tests.integration.stage import Stage
from tests.pages import ROOT
from tests.unit.formats.ingest.following import LOG

SESSION = "60a3a234"
TREES = ("ash", "birch", "cedar", "elder", "fir", "hazel", "larch", "maple", "oak", "pine", "rowan", "yew")
"""How the session of the log begins."""


def environment(home: Path, **more: str) -> dict[str, str]:
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("EDDY_", "NO_COLOR"))}
    return {**kept, "HOME": str(home), "TERM": "xterm-256color", **more}


def of_now(text: str) -> str:
    """Return the log as if it had been written in the last minute."""
    first = min(re.findall(r'"timestamp":"([^"]+)"', text))
    shift = datetime.now(UTC) - timedelta(seconds=30) - datetime.fromisoformat(first)
    return re.sub(
        r'"timestamp":"([^"]+)"',
        lambda found: f'"timestamp":"{(datetime.fromisoformat(found[1]) + shift).isoformat()}"',
        text,
    )


def assert_left_as_it_was(terminal: PseudoTerminal) -> None:
    written = bytes(terminal.written)
    assert terminal.attributes == terminal.attributes_before
    assert written.count(ALTERNATE_SCREEN) == written.count(MAIN_SCREEN) >= 1
    assert written.rindex(MAIN_SCREEN) > written.rindex(ALTERNATE_SCREEN)
    assert written.rstrip().endswith(CURSOR_SHOWN)
    assert b"Traceback" not in written


def append(path: Path, text: str) -> None:
    with path.open("a") as file:
        file.write(text)


@pytest.fixture
def log(tmp_path: Path) -> Path:
    """Return an empty log of a coding agent, where such an agent keeps it."""
    folder = tmp_path / ".claude" / "projects" / "here"
    folder.mkdir(parents=True)
    return folder / "a.jsonl"


@pytest.fixture
def looping(log: Path) -> Path:
    """Return a home folder with a log of an agent that has looped in the last minute."""
    append(log, of_now(LOG.read_text()))
    return log.parents[3]


async def test_a_loop_in_a_log_comes_up_and_is_looked_at(log: Path, tmp_path: Path) -> None:
    variables = environment(tmp_path, COLUMNS="80", LINES="24")  # what counts is how large the terminal is
    async with on_a_terminal(["top", "--follow"], variables) as terminal:
        await terminal.shows("0 logs", "up to date", "Whether a session is in a loop is not known.")
        append(log, of_now(LOG.read_text()))
        await terminal.shows("1 in a loop", f"● {SESSION}", "LOOP", "(R1)", "1 log of claude-code")
        terminal.type(b"\x1b[B\r")
        page = await terminal.shows("The newest steps that were read", "why       Bash: the same call")
        assert "eddy session pause" not in page  # there is no way to reach an agent of a log
        terminal.resize(120, 50)
        await terminal.shows(f"eddy explain {SESSION}", " 7  ")
        assert len(terminal.text.splitlines()) == 50
        terminal.type(b"\x1b")
        await terminal.shows("SESSION", "q quit")
        terminal.type(b"q")
        assert await terminal.ended() == 0
        assert_left_as_it_was(terminal)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
async def test_a_signal_ends_it_and_leaves_the_terminal_as_it_was(
    looping: Path, number: signal.Signals
) -> None:
    async with on_a_terminal(["top", "--follow"], environment(looping)) as terminal:
        await terminal.shows("1 in a loop")
        assert terminal.attributes != terminal.attributes_before
        terminal.process.send_signal(number)
        assert await terminal.ended() == 0
        assert_left_as_it_was(terminal)


async def test_ctrl_c_is_the_same_signal(looping: Path) -> None:
    async with on_a_terminal(["top", "--follow"], environment(looping)) as terminal:
        await terminal.shows("1 in a loop")
        terminal.type(b"\x03")
        assert await terminal.ended() == 0
        assert_left_as_it_was(terminal)


async def test_suspended_it_gives_the_terminal_back_and_takes_it_again(looping: Path) -> None:
    async with on_a_terminal(["top", "--follow"], environment(looping)) as terminal:
        await terminal.shows("1 in a loop")
        terminal.process.send_signal(signal.SIGTSTP)
        await terminal.is_suspended()
        assert terminal.attributes == terminal.attributes_before
        terminal.process.send_signal(signal.SIGCONT)
        await terminal.writes(ALTERNATE_SCREEN, times=2)
        await terminal.shows("1 in a loop")
        terminal.type(b"q")
        assert await terminal.ended() == 0
        assert_left_as_it_was(terminal)


def snapshot(words: Iterable[str], home: Path, **more: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "streams", "top", *words],
        env=environment(home, **more),
        capture_output=True,
        text=True,
        check=False,
    )


def test_without_a_terminal_it_writes_what_is_so_and_ends(looping: Path) -> None:
    found = snapshot(["--follow"], looping)
    assert (found.returncode, found.stderr) == (0, "")
    assert "1 in a loop · 1.1k tokens since the loops began · 1 session live\nup to date" in found.stdout
    assert re.search(rf"^● {SESSION}\S+ +claude-code +LOOP ", found.stdout, re.MULTILINE)
    assert "\x1b" not in found.stdout
    document = json.loads(snapshot(["--follow", "--json"], looping).stdout)
    assert (document["loop"], document["rows"][0]["rule"]) == (1, "R1")


def test_wrong_usage_and_brokers_that_are_away_have_their_exit_codes(tmp_path: Path) -> None:
    wrong = snapshot(["a.jsonl"], tmp_path)
    assert (wrong.returncode, "PATHs are read with --follow." in wrong.stderr) == (2, True)
    for nothing in ("nosuch", "nosuch/*.jsonl", "a**b"):
        found = snapshot(["--follow", str(tmp_path), nothing], tmp_path)
        assert (found.returncode, len(found.stderr.splitlines())) == (2, 1)
    away = snapshot(["--bootstrap-servers", "127.0.0.1:1"], tmp_path)
    assert (away.returncode, "No broker answers" in away.stderr) == (3, True)


def searches(stage: Stage, session: str, first: int, *results: str) -> Iterator[Sending]:
    """Yield what an agent sends that searches for the same, and fails with these one after the other."""
    for number, result in enumerate(results, first):
        found = {
            "tool_call": "search",
            "tool_input": '{"q": "a"}',
            "status": "failure",
            "error": result,
        }
        value = decision(session, number, **found)
        value["meta"]["timestamp"] = now_ms()
        yield keyed(value, stage.partitions)


@pytest.mark.integration
async def test_a_looping_session_of_a_job_comes_up_and_goes(stage: Stage, tmp_path: Path) -> None:
    await stage.worker().ready()
    words = ["top", "--bootstrap-servers", stage.broker.bootstrap]
    await stage.send(searches(stage, "s-before", 0, *["none"] * 6))
    await stage.processed()
    async with on_a_terminal(words, environment(tmp_path), 100, 30) as terminal:
        # It began before the terminal did.
        await terminal.shows(stage.broker.bootstrap, "● s-before", "1 in a loop")
        await stage.send(searches(stage, "s-now", 0, *["none"] * 9))
        await terminal.shows("2 in a loop", "● s-now", "search: the same call with the same result")
        # Each in words that neither its call nor an earlier one holds: it is another error.
        await stage.send(searches(stage, "s-now", 9, *[f"{tree} is missing" for tree in TREES]))
        await terminal.shows("1 in a loop")
        await terminal.shows_no("● s-now")
        terminal.type(b"j\r")
        await terminal.shows(
            "eddy session pause s-before", "none has reported: a pause cannot reach this agent"
        )
        terminal.type(b"q")
        assert await terminal.ended() == 0
        assert_left_as_it_was(terminal)
    found = snapshot([*words[1:], "--json"], tmp_path)
    assert found.returncode == 0, found.stderr
    assert [row["session_id"] for row in json.loads(found.stdout)["rows"]] == ["s-before"]


@pytest.mark.integration
async def test_a_session_that_is_not_a_loop_is_called_so_by_pressing_n_twice(
    stage: Stage, tmp_path: Path
) -> None:
    await stage.worker().ready()
    words = ["top", "--bootstrap-servers", stage.broker.bootstrap]
    await stage.send(searches(stage, "s-wrong", 0, *["none"] * 6))
    await stage.processed()
    async with on_a_terminal(words, environment(tmp_path), 100, 30) as terminal:
        await terminal.shows("● s-wrong", "1 in a loop")
        terminal.type(b"jn")
        await terminal.shows("Press n again if s-wrong is not a loop.")
        terminal.type(b"jn")  # another key in between takes it back
        await terminal.shows("Press n again if s-wrong is not a loop.", "● s-wrong")
        terminal.type(b"n")
        await terminal.shows("■ s-wrong", "0 in a loop, 1 handled", "not a loop by")
        terminal.type(b"q")
        assert await terminal.ended() == 0
    [stored] = await stage.read(Topic.SESSION_LABELS)
    label = json.loads(stored.value or b"")
    assert (label["session_id"], label["label"], label["rule"]) == ("s-wrong", "not_a_loop", "R1")


async def test_of_a_log_nothing_is_kept_and_that_is_said(looping: Path) -> None:
    async with on_a_terminal(["top", "--follow"], environment(looping), 140, 30) as terminal:
        await terminal.shows("1 in a loop")
        terminal.type(b"jnn")
        await terminal.shows("Only `eddy watch` and a job on Kafka keep what you say")
        terminal.type(b"q")
        assert await terminal.ended() == 0


async def test_of_a_watched_machine_it_is_kept(looping: Path) -> None:
    async with on_a_terminal(["watch"], environment(looping), 140, 30) as terminal:
        await terminal.shows("1 in a loop")
        terminal.type(b"jnn")
        await terminal.shows("0 in a loop, 1 handled", "not a loop by")
        terminal.type(b"q")
        assert await terminal.ended() == 0
    lines = (looping / ".local" / "state" / "eddy" / "watch.jsonl").read_text().splitlines()
    [label] = [json.loads(line)["value"] for line in lines if '"session-labels"' in line]
    assert (label["label"], label["rule"], label["tools"]) == ("not_a_loop", "R1", ["Bash"])


async def test_a_watched_session_that_is_paused_is_shown_so(looping: Path) -> None:
    def eddy(*words: str, given: str = "") -> str:
        ran = subprocess.run(
            [sys.executable, "-m", "streams", "guard", *words],
            env=environment(looping),
            cwd=ROOT,
            input=given,
            capture_output=True,
            text=True,
            check=True,
        )
        return ran.stdout

    name = re.findall(r'"sessionId":"([^"]+)"', LOG.read_text())[0]
    hook = ("hook", "claude-code", "before", "--timeout", "10.1")
    async with on_a_terminal(["watch"], environment(looping), 140, 30) as terminal:
        await terminal.shows("1 in a loop", "no hook has asked yet")
        await asyncio.to_thread(eddy, "pause", name, "--why", "Wait for me.")
        answer = await asyncio.to_thread(eddy, *hook, given=json.dumps({"session_id": name}))
        assert "permissionDecision" in answer
        await terminal.shows(f"■ {SESSION}", "paused 0:0", "1 handled")
        terminal.type(b"q")
        assert await terminal.ended() == 0


@pytest.mark.integration
async def test_a_cluster_without_the_topics_is_wrong_usage(stage: Stage, tmp_path: Path) -> None:
    words = ["--bootstrap-servers", stage.broker.bootstrap]
    found = snapshot(words, tmp_path, EDDY_TOPIC_PREFIX="nobody.")
    assert found.returncode == 2
    assert f"There is no topic nobody.{Topic.SESSION_ALERTS}. Create the topics" in found.stderr

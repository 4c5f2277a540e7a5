"""The real CLI of Claude Code, with the hook that the page shows, on a stub of the model."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import claude_agent_sdk
import pytest
from eddy_client.integrations.claude_code_hooks import TOKEN_VARIABLE, URL_VARIABLE

from tests.guard.anthropic_stub import StubMessages, stub_messages
from tests.guard.claude import without_claude
from tests.guard.console import TOKEN, Console, console
from tests.guard.work import CALLS, DONE
from tests.pages import ROOT, Page

pytestmark = pytest.mark.guard

CLAUDE = Path(claude_agent_sdk.__file__).parent / "_bundled" / "claude"
BIN = Path(sys.executable).parent
SESSION = "7d1f4b1e-8c0a-4c55-9b3a-2f6f5f0e7a11"
TIMEOUT = "600"
SHORTLY = "11"

(SETTINGS,) = Page((ROOT / "docs" / "stop-your-agent.md").read_text()).blocks("json")

WITH_BASH = ("--allowedTools", "Bash", "--output-format", "json")

Claude = Callable[..., dict[str, Any]]


@pytest.fixture
def model() -> Iterator[StubMessages]:
    with stub_messages() as server:
        yield server


@pytest.fixture
def operator() -> Iterator[Console]:
    with console() as server:
        yield server


@pytest.fixture
def claude(model: StubMessages, operator: Console, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Claude:
    """Return what runs `claude -p` with the settings of the page, and returns its result."""
    environment = without_claude(monkeypatch, home=tmp_path, model=model.url)

    def claude(
        *options: str, timeout: str = TIMEOUT, more: str = "", url: str | None = None
    ) -> dict[str, Any]:
        shown = SETTINGS.replace(f"--timeout {TIMEOUT}", f"--timeout {timeout}{more}")
        settings = json.loads(shown.replace(f'"timeout": {TIMEOUT}', f'"timeout": {timeout}'))
        settings["env"] = {URL_VARIABLE: url or operator.url, TOKEN_VARIABLE: TOKEN}
        ran = subprocess.run(
            [CLAUDE, "-p", "--settings", json.dumps(settings), *WITH_BASH, *options],
            env={"PATH": f"{BIN}{os.pathsep}{os.environ['PATH']}", **environment},
            cwd=tmp_path,
            input="Work.",
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )
        assert ran.returncode == 0, ran.stdout + ran.stderr
        return json.loads(ran.stdout)

    return claude


def results(model: StubMessages) -> list[str]:
    """Return what the tools have answered."""
    return [
        str(part["content"])
        for message in model.asked[-1]["messages"]
        if isinstance(message["content"], list)
        for part in message["content"]
        if part["type"] == "tool_result"
    ]


def test_a_session_that_gets_no_command_runs_to_its_end(
    claude: Claude, model: StubMessages, operator: Console
) -> None:
    assert claude("--session-id", SESSION)["result"] == DONE
    assert results(model) == ["0", "1", "2"]
    assert {(ack["session_id"], ack["status"]) for ack in operator.acks} == {(SESSION, "attached")}
    assert len({ack["guard_id"] for ack in operator.acks}) == 1


def test_a_paused_session_calls_no_tool_until_it_is_resumed(
    claude: Claude, model: StubMessages, operator: Console, background: ThreadPoolExecutor
) -> None:
    paused = []
    model.during[1] = lambda: paused.append(operator.command(SESSION, "pause"))
    ran = background.submit(claude, "--session-id", SESSION)
    operator.until(lambda: paused != [])
    operator.until_acknowledged(paused[0], "applied")
    assert len(model.asked) == 2
    operator.command(SESSION, "resume")
    assert ran.result()["result"] == DONE
    assert results(model) == ["0", "1", "2"]


def test_an_abort_ends_the_run_before_the_tool(
    claude: Claude, model: StubMessages, operator: Console, tmp_path: Path
) -> None:
    model.during[1] = lambda: operator.command(SESSION, "abort")
    result = claude("--session-id", SESSION)
    assert result["terminal_reason"] == "hook_stopped"
    assert len(model.asked) == 2
    (log,) = tmp_path.rglob(f"{SESSION}.jsonl")
    assert operator.reason in log.read_text()


def test_a_note_is_what_the_model_reads_next_and_only_once(
    claude: Claude, model: StubMessages, operator: Console
) -> None:
    model.during[1] = lambda: operator.command(SESSION, "inject_message", "Read the log first.")
    assert claude("--session-id", SESSION)["result"] == DONE
    system = [message for message in model.asked[-1]["messages"] if message["role"] == "system"]
    assert json.dumps(system).count("Read the log first.") == 1


def test_a_call_that_waits_for_too_long_is_refused_and_made_again(
    claude: Claude, model: StubMessages, operator: Console
) -> None:
    model.during[1] = lambda: operator.command(SESSION, "pause")
    model.during[2] = lambda: operator.command(SESSION, "resume")
    assert claude("--session-id", SESSION, timeout=SHORTLY)["result"] == DONE
    first, second, third = results(model)
    assert (first, third) == ("0", "2")
    assert "An operator has paused this session" in second


def test_a_call_that_waits_for_too_long_ends_the_run_if_it_is_deferred(
    claude: Claude, model: StubMessages, operator: Console
) -> None:
    model.during[1] = lambda: operator.command(SESSION, "pause")
    deferred = claude("--session-id", SESSION, timeout=SHORTLY, more=" --refusal defer")
    assert deferred["terminal_reason"] == "tool_deferred"
    operator.command(SESSION, "resume")
    assert claude("--resume", SESSION)["result"] == DONE
    assert results(model) == ["0", "1", "2"]


@pytest.mark.parametrize(("more", "runs"), [("", True), (" --on-lost closed", False)])
def test_a_console_that_is_away_lets_tools_run_unless_it_is_said_otherwise(
    more: str, runs: bool, claude: Claude, model: StubMessages
) -> None:
    assert claude(more=more, url="http://127.0.0.1:1")["result"] == DONE
    assert (results(model) == ["0", "1", "2"]) == runs
    assert len(results(model)) == CALLS

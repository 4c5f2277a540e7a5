"""`eddy watch` and the hooks of agents as processes, without brokers and without the agents themselves."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.pages import ROOT

pytestmark = [pytest.mark.integration, pytest.mark.any_broker]

EDDY = [sys.executable, "-m", "streams"]
NOTE = "seems to go in circles"
PATIENCE_SECONDS = 60

PAUSES_AND_ENDS = {
    "mode": "live",
    "rules": [
        {
            "name": "stop-it",
            "when": {"level": "LOOP"},
            "do": [
                {"action": "pause", "ttl_ms": 1000},
                {"action": "abort", "after_records": 3},
            ],
            "limits": {"max_share_of_live": 1.0},
        }
    ],
}


class Laptop:
    """A home with an agent in it.

    Attributes:
        home: its folder.
        said: the file of what the watch says.
    """

    def __init__(self, home: Path) -> None:
        self.home, self.said = home, home / "said"
        self.environment = {**os.environ, "HOME": str(home), "PYTHONPATH": str(ROOT)}
        for name in ("XDG_STATE_HOME", "CLAUDE_CONFIG_DIR", "CODEX_HOME"):
            self.environment.pop(name, None)
        (home / ".claude" / "projects" / "p").mkdir(parents=True)
        self.log = home / ".claude" / "projects" / "p" / "s-1.jsonl"
        self.calls = 0

    def run(self, *words: str, given: str = "") -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [*EDDY, *words],
            env=self.environment,
            cwd=self.home,
            input=given,
            capture_output=True,
            text=True,
            check=False,
        )

    def hook(self, program: str, moment: str, timeout: float = 600, **event: Any) -> dict[str, Any]:
        """Run a hook, and return what it answers."""
        words = ("guard", "hook", program, moment, "--timeout", str(timeout))
        ran = self.run(*words, given=json.dumps(event))
        assert ran.returncode == 0, ran.stderr
        found: dict[str, Any] = json.loads(ran.stdout or "{}")
        return found

    def cursor_calls(self, session_id: str = "c-1", output: str = "no such file") -> dict[str, Any]:
        """Let Cursor make the same call once more; return what its hook after it answers."""
        self.calls += 1
        return self.hook(
            "cursor",
            "after",
            hook_event_name="postToolUse",
            conversation_id=session_id,
            tool_name="Shell",
            tool_use_id=f"call-{self.calls}",
            tool_input={"command": "cat missing"},
            tool_output=output,
        )

    def cursor_until_told(self) -> int:
        """Let Cursor go in circles until its hook says something; return after how many calls."""
        for number in range(1, 30):
            if NOTE in json.dumps(self.cursor_calls()):
                return number
        raise AssertionError(self.said.read_text())

    def claude_writes(self, number: int) -> None:
        """Let Claude Code write one more equal call and its result into its log."""
        at = time.strftime("%Y-%m-%dT%H:%M:%S.000Z", time.gmtime())
        call = {"type": "tool_use", "id": f"t-{number}", "name": "Bash", "input": {"command": "cat missing"}}
        result = {"type": "tool_result", "tool_use_id": f"t-{number}", "content": "no", "is_error": True}
        lines = [
            {"type": "assistant", "message": {"id": f"m-{number}", "content": [call]}},
            {"type": "user", "message": {"content": [result]}},
        ]
        with self.log.open("a") as file:
            for count, line in enumerate(lines):
                about = {"sessionId": "s-1", "uuid": f"{number}-{count}", "timestamp": at}
                file.write(json.dumps({**line, **about}) + "\n")

    @contextmanager
    def watched(self, *options: str) -> Iterator[subprocess.Popen[str]]:
        self.said.write_text("")
        with self.said.open("w") as said:
            watch = subprocess.Popen(
                [*EDDY, "watch", "--plain", *options],
                env=self.environment,
                cwd=self.home,
                stdin=subprocess.DEVNULL,
                stdout=said,
                stderr=said,
                text=True,
            )
            try:
                self.until("Watching", watch)
                yield watch
            finally:
                watch.kill()
                watch.wait()

    def until(self, words: str, watch: subprocess.Popen[str]) -> None:
        """Wait until the watch has said some words."""
        end = time.monotonic() + PATIENCE_SECONDS
        while words not in self.said.read_text():
            assert watch.poll() is None, self.said.read_text()
            assert time.monotonic() < end, self.said.read_text()
            time.sleep(0.05)

    def policy(self, document: object) -> str:
        file = self.home / "policy.json"
        file.write_text(json.dumps(document))
        return str(file)


@pytest.fixture
def laptop(tmp_path: Path) -> Laptop:
    return Laptop(tmp_path)


def test_an_agent_without_a_log_is_told_by_its_hook_and_never_twice_also_by_the_next_watch(
    laptop: Laptop,
) -> None:
    with laptop.watched() as watch:
        assert laptop.cursor_until_told() < 10
        laptop.until("c-1 was given the note", watch)
        assert [laptop.cursor_calls() for _ in range(5)] == [{}] * 5
    with laptop.watched():
        assert [laptop.cursor_calls() for _ in range(12)] == [{}] * 12


def test_an_agent_with_a_log_is_told_before_its_next_call(laptop: Laptop) -> None:
    with laptop.watched() as watch:
        answers = []
        for number in range(12):
            laptop.claude_writes(number)
            answers.append(laptop.hook("claude-code", "before", session_id="s-1", tool_name="Bash"))
            if any(answers):
                break
        else:
            laptop.until("s-1 is asked to read a note", watch)
            answers.append(laptop.hook("claude-code", "before", session_id="s-1", tool_name="Bash"))
        *quiet, told = answers
        assert quiet == [{}] * len(quiet)
        assert NOTE in told["hookSpecificOutput"]["additionalContext"]
        assert laptop.hook("claude-code", "before", session_id="s-2", tool_name="Bash") == {}


def test_a_policy_pauses_lets_go_on_and_ends(laptop: Laptop) -> None:
    def before(timeout: float = 600) -> dict[str, Any]:
        return laptop.hook("cursor", "before", timeout, conversation_id="c-1", tool_name="Shell")

    with laptop.watched("--policy", laptop.policy(PAUSES_AND_ENDS)) as watch:
        while "c-1 is asked to pause" not in laptop.said.read_text():
            laptop.cursor_calls()
        assert before() == {}  # after the pause, which is a second long
        laptop.until("c-1 goes on", watch)
        while "c-1 is asked to end" not in laptop.said.read_text():
            laptop.cursor_calls()
        assert before()["permission"] == "deny"
        laptop.until("c-1 was ended", watch)


def test_a_person_pauses_and_lets_go_on(laptop: Laptop) -> None:
    with laptop.watched() as watch:
        laptop.hook("codex", "before", session_id="t-1")
        assert laptop.run("guard", "pause", "t-1", "--why", "Wait for me.").returncode == 0
        refused = laptop.hook("codex", "before", timeout=10.1, session_id="t-1")
        assert refused["hookSpecificOutput"]["permissionDecision"] == "deny"
        laptop.until("t-1 is paused", watch)
        waiting = subprocess.Popen(
            [*EDDY, "guard", "hook", "codex", "before", "--timeout", "600"],
            env=laptop.environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        assert waiting.stdin is not None
        waiting.stdin.write('{"session_id": "t-1"}')
        waiting.stdin.close()
        assert laptop.run("guard", "note", "t-1", "Look at the log.").returncode == 0
        assert laptop.run("guard", "resume", "t-1", "--why", "Go on.").returncode == 0
        assert waiting.stdout is not None
        assert "Look at the log." in waiting.stdout.read()
        waiting.stdout.close()
        waiting.wait()


def test_a_pause_outlives_a_watch_that_was_killed(laptop: Laptop) -> None:
    with laptop.watched():
        laptop.hook("codex", "before", session_id="t-1")
        unknown = laptop.run("guard", "pause", "t-2", "--why", "Wait for me.")
        assert (unknown.returncode, "No session of the name t-2" in unknown.stderr) == (2, True)
        assert laptop.run("guard", "pause", "t-1", "--why", "Wait for me.").returncode == 0
    with laptop.watched():
        refused = laptop.hook("codex", "before", timeout=10.1, session_id="t-1")
        assert refused["hookSpecificOutput"]["permissionDecision"] == "deny"


def test_no_act_tells_nobody(laptop: Laptop) -> None:
    with laptop.watched("--no-act") as watch:
        laptop.until("The mode of the policy is off: no agent is told anything", watch)
        assert [laptop.cursor_calls() for _ in range(12)] == [{}] * 12
        laptop.until("c-1 goes in circles", watch)


@pytest.mark.parametrize(
    ("options", "given", "says"),
    [
        (("--policy",), {"mode": "live", "rules": [{"name": "x"}]}, "rules[0].do.action: must be"),
        (("--policy",), [], "it must be an object"),
    ],
)
def test_a_policy_that_is_none_is_refused_with_what_is_wrong(
    laptop: Laptop, options: tuple[str, ...], given: object, says: str
) -> None:
    ran = laptop.run("watch", "--plain", *options, laptop.policy(given))
    assert ran.returncode == 2
    assert says in ran.stderr


def test_one_watch_runs_and_a_command_without_one_says_so(laptop: Laptop) -> None:
    with laptop.watched():
        second = laptop.run("watch", "--plain")
        assert (second.returncode, "Another `eddy watch` has" in second.stderr) == (2, True)
        assert laptop.run("guard", "status").returncode == 0
    alone = laptop.run("guard", "pause", "t-1", "--why", "Wait.")
    assert (alone.returncode, "No `eddy watch` answers" in alone.stderr) == (2, True)
    assert laptop.run("guard", "status").returncode == 1


def test_a_link_of_a_project_that_leads_elsewhere_is_not_followed(laptop: Laptop) -> None:
    (laptop.home / "project" / ".claude").mkdir(parents=True)
    outside = laptop.home / "bashrc"
    outside.write_text("mine")
    (laptop.home / "project" / ".claude" / "settings.local.json").symlink_to(outside)
    ran = subprocess.run(
        [*EDDY, "guard", "install", "claude-code", "--project", "--yes"],
        env=laptop.environment,
        cwd=laptop.home / "project",
        capture_output=True,
        text=True,
        check=False,
    )
    assert (ran.returncode, "leads out of this project" in ran.stderr) == (2, True)
    assert outside.read_text() == "mine"


def test_a_watch_whose_reader_has_gone_still_obeys(laptop: Laptop) -> None:
    with subprocess.Popen(
        [*EDDY, "watch", "--plain"], env=laptop.environment, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
    ) as watch:
        assert watch.stdout is not None
        try:
            assert b"Watching" in watch.stdout.readline()
            watch.stdout.close()
            laptop.hook("codex", "before", session_id="t-1")
            assert laptop.run("guard", "pause", "t-1", "--why", "Wait.").returncode == 0
            refused = laptop.hook("codex", "before", timeout=10.1, session_id="t-1")
            assert refused["hookSpecificOutput"]["permissionDecision"] == "deny"
            assert watch.poll() is None
        finally:
            watch.kill()


def test_a_watch_that_stands_still_holds_no_call(laptop: Laptop) -> None:
    with laptop.watched() as watch:
        watch.send_signal(signal.SIGSTOP)
        try:
            assert laptop.hook("codex", "before", session_id="t-1") == {}
        finally:
            watch.send_signal(signal.SIGCONT)


def test_hooks_are_shown_written_and_taken_out_again(laptop: Laptop) -> None:
    settings = laptop.home / ".claude" / "settings.json"
    settings.write_text('{\n  "model": "opus"\n}\n')
    shown = laptop.run("guard", "install", "claude-code", given="n\n")
    assert "guard hook claude-code before" in shown.stdout
    assert settings.read_text() == '{\n  "model": "opus"\n}\n'
    assert laptop.run("guard", "install", "claude-code", "--yes").returncode == 0
    assert set(json.loads(settings.read_text())["hooks"]) == {"PreToolUse", "PostToolUse"}
    assert laptop.run("guard", "uninstall", "claude-code", "--yes").returncode == 0
    assert settings.read_text() == '{\n  "model": "opus"\n}\n'
    settings.write_text("{ // mine\n}")
    refused = laptop.run("guard", "install", "claude-code", "--yes")
    assert (refused.returncode, "left as it is" in refused.stderr) == (2, True)
    assert settings.read_text() == "{ // mine\n}"

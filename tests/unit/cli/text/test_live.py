"""Notices on the desktop: each loop once, nothing of an agent as markup, and none that is lost in silence."""

import asyncio
from pathlib import Path

import pytest
from click.testing import CliRunner

from streams.cli import main
from streams.cli.text.live import Desktop, LiveAlerts
from streams.core.detectors.settings import DEFAULTS
from streams.core.errors import ConfigurationError
from streams.formats.ingest.sink import SentRecord

SHOWS = """#!/bin/sh
for word; do printf '%s\\0' "$word"; done >> "$0.told"
echo >> "$0.told"
"""


def step(number: int) -> SentRecord:
    action = {"status": "success", "tool_call": "search", "tool_input": "{}", "tool_output": "<b>none</b>"}
    log = {
        "session_id": "s-<i>1",
        "event_id": f"e-{number}",
        "meta": {"trace_id": "t", "timestamp": 1_760_000_000_000 + number * 1000},
        "identity": {"agent_id": "coder & co", "agent_type": "coder"},
        "cognition": {"intent": "look"},
        "action": action,
    }
    return SentRecord(log, "claude-code")


def becomes(program: Path, script: str) -> None:
    program.write_text(f"#!/bin/sh\n{script}\n")


@pytest.fixture
def program(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    path = tmp_path / "notify-send"
    path.write_text(SHOWS)
    path.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    return path


async def test_a_loop_is_told_once_and_text_of_an_agent_is_no_markup(program: Path) -> None:
    lines: list[object] = []
    live = LiveAlerts(lines.append, DEFAULTS, Desktop().tell)
    live.catch_up()
    await live.write([step(number) for number in range(12)])
    [told] = program.with_suffix(".told").read_text().splitlines()
    *options, dashes, title, text = told.rstrip("\0").split("\0")
    assert options == ["-a", "Eddy", "-u", "critical"]
    assert (dashes, title) == ("--", "coder & co goes in circles")
    assert text.startswith("s-&lt;i&gt;1: ")
    assert "<" not in text
    assert lines


async def test_what_was_before_is_not_told(program: Path) -> None:
    live = LiveAlerts(lambda _: None, DEFAULTS, Desktop().tell)
    await live.write([step(number) for number in range(12)])
    live.catch_up()
    assert not program.with_suffix(".told").exists()


async def test_a_desktop_that_shows_nothing_is_said_once(
    program: Path, caplog: pytest.LogCaptureFixture
) -> None:
    becomes(program, "echo no display >&2; exit 1")
    desktop = Desktop()
    for _ in range(2):
        await desktop.tell("a", "b")
    assert [record.getMessage() for record in caplog.records] == ["The desktop shows no notice: no display"]


async def test_a_desktop_that_hangs_holds_nothing_up(
    program: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    becomes(program, "exec sleep 600")
    monkeypatch.setattr("streams.cli.text.live._DESKTOP_SECONDS", 0.2)
    async with asyncio.timeout(60):
        await Desktop().tell("a", "b")
    assert "no answer" in caplog.text


def test_without_the_program_or_without_anything_live_it_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for words in (["--notify"], ["--notify", "--judge"]):
        refused = CliRunner().invoke(main, ["ingest", *words, str(tmp_path)])
        assert refused.exit_code == 2
        assert "--judge, and --follow or --otlp" in refused.output
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(ConfigurationError, match="apt-get install libnotify-bin"):
        Desktop()

"""How `eddy worker` ends."""

import asyncio
from types import SimpleNamespace
from typing import Any

import pytest
from click.testing import CliRunner

from streams.cli import main, running
from streams.cli.command_group import PROBLEM_FOUND
from streams.core.errors import StateError

ADVICE = "Move the state away."


def exit_because_of(error: BaseException) -> BaseException:
    """Return an exit as mode raises it while it handles an error."""
    ended = SystemExit(1)
    ended.__context__ = error
    return ended


@pytest.mark.parametrize(
    ("ended", "reason"),
    [
        (SystemExit(1), StateError(ADVICE)),
        (asyncio.CancelledError(), StateError(ADVICE)),
        (exit_because_of(KeyError()), StateError(ADVICE)),
        (exit_because_of(StateError(ADVICE)), None),
        (exit_because_of(StateError(ADVICE)), asyncio.CancelledError()),
    ],
    ids=["exit", "cancelled", "of something else", "at the start", "at the start, and cancelled"],
)
def test_the_last_line_says_why_however_faust_ends(
    monkeypatch: pytest.MonkeyPatch, ended: BaseException, reason: BaseException | None
) -> None:
    def run() -> None:
        raise ended

    def new_worker(_app: object, _log_level: str) -> Any:
        return SimpleNamespace(execute_from_commandline=run)

    async def nothing_is_wrong(_options: Any) -> None:
        return

    app = SimpleNamespace(finalize=lambda: None, crash_reason=reason)
    monkeypatch.setattr(running, "_check", nothing_is_wrong)
    monkeypatch.setattr("streams.worker.wiring.build", lambda _settings: app)
    monkeypatch.setattr(running, "StoppableWorker", new_worker)
    monkeypatch.setattr(running, "collect_rarely", lambda: None)
    result = CliRunner().invoke(main, ["worker"])
    assert result.exit_code == PROBLEM_FOUND
    assert result.output.splitlines()[-1] == f"eddy: {ADVICE}"

"""Coding agents as people install them, with the hooks that Eddy writes, beside `eddy watch`: no Kafka."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.programs.looping_model import GIVES_UP, MOST_CALLS, LoopingModel, looping_model
from tests.programs.program import BIN, PROGRAMS, Machine

pytestmark = [pytest.mark.programs, pytest.mark.timeout(300)]

FAILED = "no-such-file: No such file"

LADDER = {
    "mode": "live",
    "rules": [
        {
            "name": "stop-it",
            "when": {"level": "LOOP"},
            "do": [{"action": "inject_message"}, {"action": "abort", "after_records": 3}],
            "limits": {"max_share_of_live": 1.0},
        }
    ],
}


@pytest.fixture
def model() -> Iterator[LoopingModel]:
    with looping_model() as server:
        yield server


@pytest.fixture(params=list(PROGRAMS))
def machine(request: pytest.FixtureRequest, model: LoopingModel, tmp_path: Path) -> Machine:
    return Machine(request.param, tmp_path, model.url)


@contextmanager
def watched(machine: Machine, *options: str) -> Iterator[Path]:
    """Watch the machine for as long as the block lasts; yield the file of what is said."""
    said = machine.home / "watch.log"
    with (
        said.open("w") as log,
        subprocess.Popen(
            [BIN / "eddy", "watch", "--plain", *options],
            env=machine.environment,
            cwd=machine.project,
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
        ) as watch,
    ):
        try:
            while "Watching" not in said.read_text():
                assert watch.poll() is None, said.read_text()
            yield said
        finally:
            watch.terminate()
            watch.wait()


def name_of(machine: Machine) -> str:
    return next(name for name, program in PROGRAMS.items() if program is machine.program)


def acknowledged(machine: Machine) -> list[tuple[str, str]]:
    """Return the action and the status of each answer to a command, in order."""
    lines: list[Any] = machine.journal()
    actions = {
        line["value"]["command_id"]: line["value"]["action"]
        for line in lines
        if line["topic"] == "session-commands"
    }
    return [
        (actions[line["value"]["command_id"]], line["value"]["status"])
        for line in lines
        if line["topic"] == "session-command-acks" and line["value"]["command_id"]
    ]


def test_one_that_goes_in_circles_is_told_so_and_gets_out(machine: Machine, model: LoopingModel) -> None:
    machine.eddy("guard", "install", name_of(machine), "--yes")
    with watched(machine) as said:
        wrote = machine.work()
    assert model.was_told, said.read_text() + wrote
    assert GIVES_UP in wrote
    assert model.calls < MOST_CALLS / 2
    assert acknowledged(machine) == [("inject_message", "received"), ("inject_message", "applied")]


def test_one_that_heeds_no_note_calls_no_tool_any_more(machine: Machine, model: LoopingModel) -> None:
    model.heeds = False
    policy = machine.home / "policy.json"
    policy.write_text(json.dumps(LADDER))
    machine.eddy("guard", "install", name_of(machine), "--yes")
    with watched(machine, "--policy", str(policy)) as said:
        wrote = machine.work()
    assert ("abort", "applied") in acknowledged(machine), said.read_text() + wrote
    assert max(body.count(FAILED) for body in model.seen) < MOST_CALLS / 2


def test_installed_to_refuse_it_calls_no_tool_while_no_watch_runs(
    machine: Machine, model: LoopingModel
) -> None:
    machine.eddy("guard", "install", name_of(machine), "--yes", "--if-lost", "refuse")
    machine.work()
    assert model.calls > 0
    assert not any(FAILED in body for body in model.seen)


def test_while_no_watch_runs_it_works_as_it_did_before(machine: Machine, model: LoopingModel) -> None:
    machine.eddy("guard", "install", name_of(machine), "--yes")
    machine.work()
    assert model.calls == MOST_CALLS
    assert not model.was_told
    machine.eddy("guard", "uninstall", name_of(machine), "--yes")
    assert "guard hook" not in "".join(
        file.read_text()
        for file in machine.home.rglob("*.js*")
        if "eddy" in file.name or "hooks" in file.name
    )

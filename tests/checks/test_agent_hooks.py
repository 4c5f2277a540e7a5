"""What every program with hooks has to pass."""

from __future__ import annotations

import json
from pathlib import PurePosixPath
from typing import Any

import pytest

from streams.formats.agent_hooks.program import MARK, HookAnswer, HookDecision, HookMoment, HookProgram
from streams.formats.agent_hooks.registry import PROGRAMS
from tests.pages import ROOT

each_program = pytest.mark.parametrize("program", PROGRAMS.values(), ids=list(PROGRAMS))

#: What each program gives its hooks: a field that names the session, and what else is read.
GIVEN: dict[str, dict[str, Any]] = {
    "claude-code": {"session_id": "s-1", "tool_name": "Bash"},
    "codex": {"session_id": "s-1", "tool_name": "Bash"},
    "gemini": {"session_id": "s-1", "tool_name": "run_shell_command"},
    "opencode": {
        "session_id": "s-1",
        "tool": "bash",
        "call_id": "c-1",
        "input": {"command": "ls"},
        "output": "a",
    },
    "copilot": {"sessionId": "s-1", "toolName": "bash"},
    "cursor": {
        "conversation_id": "s-1",
        "tool_name": "Shell",
        "tool_use_id": "c-1",
        "tool_input": {"command": "ls"},
        "tool_output": '{"exitCode":0,"stdout":"a"}',
    },
}


def command(moment: HookMoment) -> str:
    return f"/bin/eddy {MARK} it {moment}"


def is_json(program: HookProgram) -> bool:
    return program.place(PurePosixPath("/home"), False, {}).suffix == ".json"


@each_program
def test_its_file_is_below_the_home_or_the_project(program: HookProgram) -> None:
    for is_project in (False, True):
        assert program.place(PurePosixPath("/there"), is_project, {}).is_relative_to("/there")


@each_program
def test_what_is_installed_can_be_removed_and_leaves_nothing(program: HookProgram) -> None:
    text = program.installed(None, command)
    assert all(command(moment) in text for moment in HookMoment)
    assert program.removed(text) is None


@each_program
def test_to_install_it_twice_changes_nothing(program: HookProgram) -> None:
    text = program.installed(None, command)
    assert program.installed(text, command) == text


@each_program
def test_a_new_command_takes_the_place_of_the_old_one(program: HookProgram) -> None:
    before = program.installed(None, lambda moment: f"/old {MARK} it {moment}")
    assert program.installed(before, command) == program.installed(None, command)


@each_program
def test_all_else_in_the_file_is_kept(program: HookProgram) -> None:
    if not is_json(program):
        with pytest.raises(ValueError, match="not Eddy's"):
            program.installed("export const Mine = 1", command)
        assert program.removed("export const Mine = 1") == "export const Mine = 1"
        return
    events = json.loads(program.installed(None, command))["hooks"]
    mine = {event: [{"command": "mine"}] for event in events}
    before = {"model": "größer", "hooks": {**mine, "Other": [{"command": "other"}]}}
    after = json.loads(program.installed(json.dumps(before), command))
    assert {**after, "hooks": before["hooks"]}.items() >= before.items()
    for event in events:
        assert after["hooks"][event][0] == {"command": "mine"}
    left = json.loads(program.removed(json.dumps(after)) or "")
    assert (left["model"], left["hooks"]) == (before["model"], before["hooks"])


def test_a_hook_of_somebody_in_one_group_with_eddys_is_kept() -> None:
    program = PROGRAMS["claude-code"]
    mine = {"type": "command", "command": "my-linter"}
    ours = {"type": "command", "command": command(HookMoment.BEFORE)}
    text = json.dumps({"hooks": {"PreToolUse": [{"matcher": "Bash", "hooks": [mine, ours]}]}})
    left = json.loads(program.removed(text) or "")
    assert left == {"hooks": {"PreToolUse": [{"matcher": "Bash", "hooks": [mine]}]}}
    again = json.loads(program.installed(text, command))["hooks"]["PreToolUse"]
    assert again[0] == {"matcher": "Bash", "hooks": [mine]}
    assert len(again) == 2


@each_program
@pytest.mark.parametrize("text", ["{", "[]", '{"hooks": []}', '{"hooks": {"X": {}}}', "// so\n{}"])
def test_a_file_that_cannot_be_kept_is_refused(program: HookProgram, text: str) -> None:
    with pytest.raises(ValueError, match=r"."):
        program.installed(text, command)


@each_program
def test_a_hook_names_its_session(program: HookProgram) -> None:
    event = program.event(GIVEN[program.name])
    assert event is not None
    assert (event.session_id, event.tool is None) == ("s-1", False)
    if not program.has_log:
        assert (event.call_id, event.output) == ("c-1", GIVEN[program.name].get("tool_output", "a"))


@each_program
@pytest.mark.parametrize("fields", [{}, {"session_id": 7, "sessionId": None, "conversation_id": ""}])
def test_a_hook_without_a_session_is_none(program: HookProgram, fields: dict[str, Any]) -> None:
    assert program.event(fields) is None


@each_program
def test_each_answer_is_json_and_says_its_words_where_the_program_reads_them(program: HookProgram) -> None:
    for moment in HookMoment:
        for decision in HookDecision:
            text = json.dumps(program.answered(moment, HookAnswer(decision, "these words")))
            if decision is HookDecision.NOTE and moment not in program.notes:
                continue
            if decision is HookDecision.NOTE or moment is HookMoment.BEFORE:
                assert "these words" in text


@each_program
def test_its_page_names_it_and_where_its_hooks_are_documented(program: HookProgram) -> None:
    page = (ROOT / "docs" / "watch.md").read_text()
    assert f"| {program.title} | `{program.name}` |" in page
    assert program.source.startswith("https://")

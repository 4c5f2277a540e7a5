"""Trajectories of SWE-agent: command lines without ids, times or flags."""

from typing import Any

import orjson

from streams.core.domain.validation import problems
from streams.formats.adapters.conversation import EPOCH_MS
from streams.formats.adapters.swe_agent import FORMAT
from tests.unit.formats.adapters.reading import event_ids, logs, reasons


def step(action: str, thought: str = "", observation: str = "ok") -> dict[str, Any]:
    state = {"open_file": "n/a", "working_dir": "/repo"}
    return {
        "action": action,
        "observation": observation,
        "thought": thought,
        "state": state,
        "execution_time": 0.2,
    }


def trajectory(*steps: Any) -> dict[str, Any]:
    return {
        "environment": "main",
        "trajectory": list(steps),
        "history": [],
        "info": {"exit_status": "submitted"},
    }


def test_each_command_line_is_a_record_of_the_program_that_it_calls() -> None:
    given = trajectory(step("open a.py 10\n", "I open it."), step("edit 1:1\nx = 1\nend_of_edit"))
    first, second = logs(FORMAT, given, name="runs/repo-1.traj")
    assert event_ids([first, second]) == ["repo-1/0", "repo-1/1"]
    assert second["meta"]["timestamp"] == EPOCH_MS + 1000
    assert first["cognition"]["intent"] == "I open it."
    assert (first["action"]["tool_call"], first["action"]["tool_input"]) == ("open", "open a.py 10")
    assert not problems(first)


def test_a_command_that_opens_a_file_is_about_it() -> None:
    given = trajectory(
        step('open "src/a.py" 10'), step("cat b.py | head"), step("edit 1:1"), step("cat -n c")
    )
    found = logs(FORMAT, given)
    assert [each["action"].get("target") for each in found] == ["src/a.py", "b.py", None, None]
    assert found[0]["cognition"]["intent"] == "open src/a.py #05395072"


def test_a_step_without_a_command_is_a_record_of_its_words() -> None:
    found = logs(FORMAT, trajectory(step("", "I give up."), step("")))
    assert [(each["action"]["kind"], each["cognition"]["intent"]) for each in found] == [
        ("llm", "I give up.")
    ]


def test_a_step_without_an_action_is_reported() -> None:
    assert reasons(FORMAT, trajectory({"observation": "x"})) == ["unknown_shape"]


def test_a_trajectory_is_recognised_by_its_steps_before_its_info() -> None:
    head = orjson.dumps(trajectory(*[step("ls", observation="x" * 3000)] * 40))[:65536]
    assert FORMAT.sniff(head, "f.traj") == 100
    assert FORMAT.sniff(head, "f.json") == 100
    assert FORMAT.sniff(b'{"trajectory": [], "info": {}, "trajectory_format": "mini-swe-agent-1"}', "f") == 0

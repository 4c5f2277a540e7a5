"""What people did to a session, among its steps."""

from collections.abc import Mapping
from typing import Any

from streams.console.step_diff.step_list import lens, with_controls
from tests.unit.console.step_diff.recorded import recorded

STEPS = recorded("same_call")


def at(number: int) -> int:
    time: int = STEPS[number - 1].record["meta"]["timestamp"]
    return time


def command(action: str, when: int, **stages: int) -> Mapping[str, Any]:
    told = [{"stage": name.replace("_", " "), "at": each} for name, each in {"asked": when, **stages}.items()]
    return {
        "command_id": f"c-{action}",
        "action": action,
        "issued_at": when,
        "reason": "it loops",
        "message": "try the index" if action == "inject_message" else None,
        "issuer": {"name": "ana"},
        "stages": told,
    }


def shown(
    *commands: Mapping[str, Any], folded: bool = False, newest: bool = True, first: int = 1
) -> list[str]:
    steps = STEPS[first - 1 :]
    entries = lens(steps, folded=folded).steps
    found = with_controls(entries, steps, commands, newest=newest)
    return [
        each["control"]["what"]
        if "control" in each
        else f"{each['fold']['from']}-{each['fold']['to']}"
        if "fold" in each
        else str(each["n"])
        for each in found
    ]


def test_a_command_stands_before_the_first_step_after_it_took_effect() -> None:
    pause = command("pause", at(2), in_effect=at(2) + 1, released=at(2) + 177_001)
    resume = command("resume", at(3), in_effect=at(3) + 1)
    assert shown(pause, resume)[1:6] == [
        "2",
        "paused for 2 min 57 s by ana: it loops",
        "3",
        "resumed by ana: it loops",
        "4",
    ]


def test_what_did_not_take_effect_says_so() -> None:
    found = shown(command("abort", at(2) + 1), command("inject_message", at(2) + 2))
    assert found[2:4] == [
        "asked to end by ana: it loops",
        "message that was not handed over by ana: “try the index”",
    ]


def test_a_command_within_folded_rounds_stands_before_them_and_one_after_the_newest_step_at_the_end() -> None:
    pause = command("pause", at(8), in_effect=at(8) + 1)
    note = command("inject_message", at(18) + 5, in_effect=at(18) + 9)
    found = shown(pause, note, folded=True)
    fold = found.index("6-12")
    assert found[fold - 1] == "pause in force by ana: it loops"
    assert found[-2:] == ["18", "message by ana: “try the index”"]
    assert found[-1] not in shown(note, newest=False)


def test_commands_before_the_first_step_that_is_shown_are_left_out() -> None:
    assert shown(command("resume", at(2), in_effect=at(2) + 1), first=5)[0] == "5"

"""Witnesses of A3: going in circles over files and commands (specification 5.3)."""

from __future__ import annotations

from streams.detectors.settings import DetectionSettings
from streams.domain.tool_class import ToolClass
from streams.policy.witness.record import record
from streams.policy.witness.scores import NOTHING_SCORED, scored_status
from streams.policy.witness.tool_name import tool_name
from streams.policy.witness.witness import DecisionLog, Obstacle, Witness

_TARGET = "src/app.py"
# A write back to the first of two contents takes a record for each of them before it.
_REVERT = 3


def read_loop(records: int, settings: DetectionSettings) -> Witness | Obstacle:
    """Read one file again and again."""
    status = scored_status(settings)
    if status is None:
        return NOTHING_SCORED
    tool = tool_name(settings, {ToolClass.read})
    if tool is None:
        return _unnamed(ToolClass.read)

    def make(number: int) -> DecisionLog:
        return record(number, settings, {"status": status, "tool_call": tool, "target": _TARGET})

    return Witness(records, make)


def edit_revert(records: int, settings: DetectionSettings) -> Witness | Obstacle:
    """Write two contents to one file in turns."""
    if "success" not in settings.score_statuses:
        return Obstacle("score_statuses lacks success: no write counts")
    tool = tool_name(settings, {ToolClass.write})
    if tool is None:
        return _unnamed(ToolClass.write)

    def make(number: int) -> DecisionLog:
        content = "b" if number % 2 == 0 else "a"
        action = {"status": "success", "tool_call": tool, "target": _TARGET, "content_hash": content}
        return record(number, settings, action)

    return Witness(records, make)


def fail_loop(records: int, settings: DetectionSettings) -> Witness | Obstacle:
    """Run one command that fails in one way."""
    if "failure" not in settings.score_statuses:
        return Obstacle("score_statuses lacks failure: no failed command is scored")
    tool = tool_name(settings, {ToolClass.command})
    if tool is None:
        return _unnamed(ToolClass.command)

    action = {
        "status": "failure",
        "tool_call": tool,
        "tool_input": '{"command":"pytest"}',
        "error": "test_login failed",
    }
    return Witness(records, lambda number: record(number, settings, action))


def escalation(matching: int, settings: DetectionSettings) -> Witness | Obstacle:
    """Complete a pattern so many times in a row; the pattern that starts soonest is taken."""
    theta = settings.pattern_theta
    found = []
    if theta <= settings.pattern_window:
        found += [maker(theta - 1 + matching, settings) for maker in (read_loop, fail_loop)]
    found.append(edit_revert(_REVERT - 1 + matching, settings))
    witnesses = [each for each in found if isinstance(each, Witness)]
    if not witnesses:
        return Obstacle("none of the patterns can be completed")
    return min(witnesses, key=lambda witness: witness.records)


def _unnamed(wanted: ToolClass) -> Obstacle:
    return Obstacle(_UNNAMED[wanted])


# Names are compared in lower case, and the lists are asked in the order write, read, command.
_UNNAMED = {
    ToolClass.write: "no lower-case tool name was found that fits write_tools",
    ToolClass.read: "no lower-case tool name was found that fits read_tools, and not write_tools",
    ToolClass.command: (
        "no lower-case tool name was found that fits command_tools, and neither write_tools nor read_tools"
    ),
}

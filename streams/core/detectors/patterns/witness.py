"""Witnesses of A3: going in circles over files and commands (specification 5.3)."""

from __future__ import annotations

from streams.core.detectors.patterns.settings import PatternsSettings
from streams.core.domain.tool_class import ToolClass
from streams.core.domain.witness import (
    NOTHING_SCORED,
    DecisionLog,
    Obstacle,
    RecordMaker,
    Witness,
    scored_status,
)

_TARGET = "src/app.py"
# A write back to the first of two contents takes a record for each of them before it.
_REVERT = 3


def witness(rule: str, records: int, settings: PatternsSettings, maker: RecordMaker) -> Witness | Obstacle:
    """Return the shortest sequence that completes a pattern, or that escalates one (``A3:escalation``).

    An escalation counts matching records, and a pattern takes a few before the first one matches.
    """
    match rule:
        case "A3:read_loop":
            return _read_loop(records, settings, maker)
        case "A3:edit_revert":
            return _edit_revert(records, settings, maker)
        case "A3:test_fail_loop":
            return _fail_loop(records, settings, maker)
        case _:
            return _escalation(records, settings, maker)


def _read_loop(records: int, settings: PatternsSettings, maker: RecordMaker) -> Witness | Obstacle:
    """Read one file again and again."""
    status = scored_status(settings)
    if status is None:
        return NOTHING_SCORED
    tool = maker.tool_name({ToolClass.read})
    if tool is None:
        return _unnamed(ToolClass.read)

    def make(number: int) -> DecisionLog:
        return maker.record(number, {"status": status, "tool_call": tool, "target": _TARGET})

    return Witness(records, make)


def _edit_revert(records: int, settings: PatternsSettings, maker: RecordMaker) -> Witness | Obstacle:
    """Write two contents to one file in turns."""
    if "success" not in settings.score_statuses:
        return Obstacle("score_statuses lacks success: no write counts")
    tool = maker.tool_name({ToolClass.write})
    if tool is None:
        return _unnamed(ToolClass.write)

    def make(number: int) -> DecisionLog:
        content = "b" if number % 2 == 0 else "a"
        action = {"status": "success", "tool_call": tool, "target": _TARGET, "content_hash": content}
        return maker.record(number, action)

    return Witness(records, make)


def _fail_loop(records: int, settings: PatternsSettings, maker: RecordMaker) -> Witness | Obstacle:
    """Run one command that fails in one way."""
    if "failure" not in settings.score_statuses:
        return Obstacle("score_statuses lacks failure: no failed command is scored")
    tool = maker.tool_name({ToolClass.command})
    if tool is None:
        return _unnamed(ToolClass.command)

    action = {
        "status": "failure",
        "tool_call": tool,
        "tool_input": '{"command":"pytest"}',
        "error": "test_login failed",
    }
    return Witness(records, lambda number: maker.record(number, action))


def _escalation(matching: int, settings: PatternsSettings, maker: RecordMaker) -> Witness | Obstacle:
    """Complete a pattern so many times in a row; the pattern that starts soonest is taken."""
    theta = settings.pattern_theta
    found = []
    if theta <= settings.pattern_window:
        found += [make(theta - 1 + matching, settings, maker) for make in (_read_loop, _fail_loop)]
    found.append(_edit_revert(_REVERT - 1 + matching, settings, maker))
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

"""Claude Code: hooks in ``settings.json``, `PreToolUse`, `PostToolUse` and `PostToolUseFailure`. Pure."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import PurePath
from typing import Any, Final

from streams.formats.agent_hooks.json_file import with_entries, without_entries
from streams.formats.agent_hooks.program import (
    AFTER_SECONDS,
    BEFORE_SECONDS,
    HookAnswer,
    HookDecision,
    HookEvent,
    HookMoment,
    HookProgram,
    named,
)

EVENTS: Final = {
    "PreToolUse": (HookMoment.BEFORE, BEFORE_SECONDS),
    "PostToolUse": (HookMoment.AFTER, AFTER_SECONDS),
}


def entries(command: Callable[[HookMoment], str]) -> dict[str, Any]:
    """Return the entry of each event: a group of one command, for all tools."""
    return {
        event: {"hooks": [{"type": "command", "command": command(moment), "timeout": seconds}]}
        for event, (moment, seconds) in EVENTS.items()
    }


def answered(moment: HookMoment, answer: HookAnswer) -> dict[str, Any]:
    """Return the answer; one that ends the turn refuses the call too, since the tool would run before."""
    is_before = moment is HookMoment.BEFORE
    event = "PreToolUse" if is_before else "PostToolUse"
    refusal = {"permissionDecision": "deny", "permissionDecisionReason": answer.words}
    match answer.decision:
        case HookDecision.NOTE:
            return {"hookSpecificOutput": {"hookEventName": event, "additionalContext": answer.words}}
        case HookDecision.REFUSE:
            return {"hookSpecificOutput": {"hookEventName": event, **refusal}} if is_before else {}
        case HookDecision.END:
            ended: dict[str, Any] = {"continue": False, "stopReason": answer.words}
            refused = {"hookSpecificOutput": {"hookEventName": event, **refusal}} if is_before else {}
            return {**ended, **refused}


def _place(home: PurePath, is_project: bool, environment: Mapping[str, str]) -> PurePath:
    moved = environment.get("CLAUDE_CONFIG_DIR")
    folder = PurePath(moved) if moved and not is_project else home / ".claude"
    return folder / ("settings.local.json" if is_project else "settings.json")


def _event(fields: Mapping[str, Any]) -> HookEvent | None:
    session_id, agent = named(fields, "session_id"), named(fields, "agent_id")
    if session_id is None:
        return None
    # A sub-agent is a session of its own.
    name = session_id if agent is None else f"{session_id}/{agent}"
    return HookEvent(name, named(fields, "tool_name"))


PROGRAM: Final = HookProgram(
    name="claude-code",
    title="Claude Code",
    place=_place,
    installed=lambda text, command: with_entries(text, entries(command)),
    removed=without_entries,
    event=_event,
    answered=answered,
    notes=frozenset(HookMoment),
    has_log=True,
    then="",
    source="https://code.claude.com/docs/en/hooks",
)

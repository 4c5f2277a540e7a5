"""Copilot CLI: a file of its own for Eddy's hooks, `preToolUse` and `postToolUse`. Pure."""

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

_VERSION: Final = {"version": 1}
_EVENTS: Final = {
    "preToolUse": (HookMoment.BEFORE, BEFORE_SECONDS),
    "postToolUse": (HookMoment.AFTER, AFTER_SECONDS),
}


def _entries(command: Callable[[HookMoment], str]) -> dict[str, Any]:
    return {
        event: {"type": "command", "bash": command(moment), "timeoutSec": seconds}
        for event, (moment, seconds) in _EVENTS.items()
    }


def _place(home: PurePath, is_project: bool, environment: Mapping[str, str]) -> PurePath:
    if is_project:
        return home / ".github" / "hooks" / "eddy.json"
    moved = environment.get("COPILOT_HOME")
    return (PurePath(moved) if moved else home / ".copilot") / "hooks" / "eddy.json"


def _event(fields: Mapping[str, Any]) -> HookEvent | None:
    session_id = named(fields, "sessionId", "session_id")
    return None if session_id is None else HookEvent(session_id, named(fields, "toolName", "tool_name"))


def _answered(moment: HookMoment, answer: HookAnswer) -> dict[str, Any]:
    if answer.decision is HookDecision.NOTE:
        return {"additionalContext": answer.words}
    if moment is HookMoment.AFTER:
        return {}
    return {"permissionDecision": "deny", "permissionDecisionReason": answer.words}


PROGRAM: Final = HookProgram(
    name="copilot",
    title="Copilot CLI",
    place=_place,
    installed=lambda text, command: with_entries(text, _entries(command), _VERSION),
    removed=lambda text: without_entries(text, _VERSION),
    event=_event,
    answered=_answered,
    notes=frozenset({HookMoment.AFTER}),
    has_log=True,
    then="",
    source="https://docs.github.com/en/copilot/reference/copilot-cli-reference/cli-hooks-reference",
)

"""Cursor: hooks in ``hooks.json``, `preToolUse`, `postToolUse` and `postToolUseFailure`. Pure.

Eddy follows no log of it: calls are judged by what its hooks are given.
"""

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
    "postToolUseFailure": (HookMoment.AFTER, AFTER_SECONDS),
}


def _entries(command: Callable[[HookMoment], str]) -> dict[str, Any]:
    return {
        event: {"command": command(moment), "timeout": seconds}
        for event, (moment, seconds) in _EVENTS.items()
    }


def _place(home: PurePath, _is_project: bool, _environment: Mapping[str, str]) -> PurePath:
    return home / ".cursor" / "hooks.json"


def _event(fields: Mapping[str, Any]) -> HookEvent | None:
    session_id = named(fields, "conversation_id")
    if session_id is None:
        return None
    failed = fields.get("hook_event_name") == "postToolUseFailure"
    status = "success"
    if failed:
        status = "skipped" if fields.get("failure_type") == "permission_denied" else "failure"
    return HookEvent(
        session_id,
        named(fields, "tool_name"),
        named(fields, "tool_use_id"),
        fields.get("tool_input"),
        named(fields, "error_message" if failed else "tool_output"),
        status,
    )


def _answered(moment: HookMoment, answer: HookAnswer) -> dict[str, Any]:
    if answer.decision is HookDecision.NOTE:
        return {"additional_context": answer.words}
    if moment is HookMoment.AFTER:
        return {}
    return {"permission": "deny", "user_message": answer.words, "agent_message": answer.words}


PROGRAM: Final = HookProgram(
    name="cursor",
    title="Cursor",
    place=_place,
    installed=lambda text, command: with_entries(text, _entries(command), _VERSION),
    removed=lambda text: without_entries(text, _VERSION),
    event=_event,
    answered=_answered,
    notes=frozenset({HookMoment.AFTER}),
    has_log=False,
    then="",
    source="https://cursor.com/docs/hooks.md",
)

"""Gemini CLI: hooks in ``settings.json``, `BeforeTool` and `AfterTool`. Pure.

The model reads the words of a hook after a call, not before.
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
    HookMoment,
    HookProgram,
    event_of,
)

_EVENTS: Final = {
    "BeforeTool": (HookMoment.BEFORE, BEFORE_SECONDS),
    "AfterTool": (HookMoment.AFTER, AFTER_SECONDS),
}


def _entries(command: Callable[[HookMoment], str]) -> dict[str, Any]:
    return {
        event: {
            "hooks": [
                {"name": "eddy", "type": "command", "command": command(moment), "timeout": seconds * 1000}
            ]
        }
        for event, (moment, seconds) in _EVENTS.items()
    }


def _place(home: PurePath, _is_project: bool, _environment: Mapping[str, str]) -> PurePath:
    return home / ".gemini" / "settings.json"


def _answered(moment: HookMoment, answer: HookAnswer) -> dict[str, Any]:
    match answer.decision:
        case HookDecision.NOTE:
            return {"hookSpecificOutput": {"hookEventName": "AfterTool", "additionalContext": answer.words}}
        case HookDecision.REFUSE:
            return {"decision": "deny", "reason": answer.words} if moment is HookMoment.BEFORE else {}
        case HookDecision.END:
            return {"continue": False, "stopReason": answer.words, "reason": answer.words}


PROGRAM: Final = HookProgram(
    name="gemini",
    title="Gemini CLI",
    place=_place,
    installed=lambda text, command: with_entries(text, _entries(command)),
    removed=without_entries,
    event=event_of,
    answered=_answered,
    notes=frozenset({HookMoment.AFTER}),
    has_log=True,
    then="",
    source="https://geminicli.com/docs/hooks/reference",
)

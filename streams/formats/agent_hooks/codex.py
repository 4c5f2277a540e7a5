"""Codex: hooks in ``hooks.json``, in the shape of Claude Code's. No hook of a tool can end the turn. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import PurePath
from typing import Any, Final

from streams.formats.agent_hooks.claude_code import answered, entries
from streams.formats.agent_hooks.json_file import with_entries, without_entries
from streams.formats.agent_hooks.program import (
    HookAnswer,
    HookDecision,
    HookMoment,
    HookProgram,
    event_of,
)


def _place(home: PurePath, is_project: bool, environment: Mapping[str, str]) -> PurePath:
    moved = environment.get("CODEX_HOME")
    folder = PurePath(moved) if moved and not is_project else home / ".codex"
    return folder / "hooks.json"


def _answered(moment: HookMoment, answer: HookAnswer) -> dict[str, Any]:
    if answer.decision is HookDecision.END and moment is HookMoment.BEFORE:
        return answered(moment, answer._replace(decision=HookDecision.REFUSE))
    return answered(moment, answer)


PROGRAM: Final = HookProgram(
    name="codex",
    title="Codex",
    place=_place,
    installed=lambda text, command: with_entries(text, entries(command)),
    removed=without_entries,
    event=event_of,
    answered=_answered,
    notes=frozenset(HookMoment),
    has_log=True,
    then="Codex runs a new hook only once you trust it: start it, and say so in `/hooks`.",
    source="https://developers.openai.com/codex/hooks",
)

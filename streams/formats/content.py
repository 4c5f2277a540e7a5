"""How much of what an agent wrote leaves the machine: everything, hashes that still compare, or nothing.

Only fields that Eddy knows are kept below full content, so that no text slips through in another one.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from enum import StrEnum
from hashlib import sha256
from typing import Any, Final

from streams.core.domain.text.canonical import canonical
from streams.core.domain.text.result_text import normalise_result

_DIGITS: Final = 16
_RESULTS: Final = ("error", "tool_output_summary")
_NO_TEXT: Final = re.compile(r"[\w:.-]{1,64}", re.ASCII)
_ACTION: Final = ("status", "kind", "tool_call", "duration_ms")
_OTHERS: Final = {
    "meta": (
        "trace_id",
        "timestamp",
        "parent_step_id",
        "round_id",
        "parent_session_id",
        "user_turn",
        "context_change",
    ),
    "identity": ("agent_id", "agent_type", "capability_version"),
    "state_delta": ("tokens_consumed", "tokens_cached", "cumulative_session_cost"),
}


class Content(StrEnum):
    """Which texts of a record are kept."""

    FULL = "full"
    HASH = "hash"
    NONE = "none"


def hashed(normalised: str) -> str:
    """Return what stands for a text: decimal digits, which the normalisation of results leaves alone.

    >>> hashed("1 failed"), len(hashed(""))
    ('h:9537817867178411', 18)
    """
    number = int(sha256(normalised.encode("utf-8", "replace")).hexdigest(), 16)
    return f"h:{number % 10**_DIGITS:0{_DIGITS}d}"


def reduced(record: Mapping[str, Any], content: Content) -> Mapping[str, Any]:
    """Return a record without the texts that `content` keeps back; the same one for full content.

    A hash stands for the canonical arguments and the normalised result, so equal ones stay equal. Without
    any content, arguments are marked as not captured: the call then equals no other one. The goal is
    left out: its words are compared, and hashes have none.
    """
    if content is Content.FULL:
        return record
    kept: dict[str, Any] = {
        "session_id": record.get("session_id"),
        "event_id": record.get("event_id"),
    }
    for group, names in _OTHERS.items():
        given = record.get(group)
        if isinstance(given, Mapping):
            kept[group] = {name: given[name] for name in names if name in given}
    if "cognition" in record:
        kept["cognition"] = _cognition(record, content)
    if isinstance(action := record.get("action"), Mapping):
        kept["action"] = _action(action, str(record.get("event_id")), content)
    if isinstance(control := record.get("control"), Mapping):
        kept["control"] = _control(control)
    return kept


def _cognition(record: Mapping[str, Any], content: Content) -> dict[str, Any] | None:
    given, action = record.get("cognition"), record.get("action")
    if not isinstance(given, Mapping):
        return None
    intent = given.get("intent")
    if content is Content.HASH and isinstance(intent, str) and intent:
        return {"intent": hashed(normalise_result(intent) or "")}
    tool = action.get("tool_call") if isinstance(action, Mapping) else None
    return {"intent": tool if isinstance(tool, str) else ""}


def _action(action: Mapping[str, Any], event_id: str, content: Content) -> dict[str, Any]:
    kept = {name: action[name] for name in _ACTION if name in action}
    arguments = action.get("tool_input")
    if isinstance(arguments, str):
        if content is Content.HASH and not arguments.startswith('{"not_captured":'):
            kept["tool_input"] = hashed(canonical(arguments))
        else:
            kept["tool_input"] = f'{{"not_captured":"{hashed(event_id)}"}}'
    if content is Content.HASH:
        if isinstance(target := action.get("target"), str):
            kept["target"] = hashed(target)
        for name in _RESULTS:
            if isinstance(text := action.get(name), str):
                kept[name] = hashed(normalise_result(text) or "")
    return kept


def _control(control: Mapping[str, Any]) -> dict[str, Any]:
    kept: dict[str, Any] = {"is_terminal": True} if control.get("is_terminal") is True else {}
    signal = control.get("interrupt_signal")
    if isinstance(signal, str) and _NO_TEXT.fullmatch(signal):
        kept["interrupt_signal"] = signal
    return kept

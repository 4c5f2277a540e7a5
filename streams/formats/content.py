"""How much of what an agent wrote leaves the machine: everything, hashes that still compare, or nothing.

Only fields that Eddy knows are kept below full content, so that no text slips through in another one.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from enum import StrEnum
from hashlib import sha256
from typing import Any, Final, TypeAlias

from streams.core.domain.event_kind import EventKind
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

#: The groups of a record with texts of agents, and fields in which a text may be short.
_WITH_TEXTS: Final = ("cognition", "action", "state_delta", "control")
_HASHED: Final = frozenset({"content_hash", "interrupt_signal"})

_TEXTS: Final[Mapping[str, frozenset[str]]] = {
    "cognition": frozenset({"intent", "goal", "reasoning_chain", "strategy_used"}),
    "action": frozenset({"tool_input", "target", *_RESULTS}),
    "state_delta": frozenset({"added_to_memory"}),
    "control": frozenset({"interrupt_signal"}),
}

_ESCAPE: Final = re.compile(
    r"(?P<pair>\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2})|\\u(?P<single>[0-9a-fA-F]{4})"
)
_SURROGATE: Final = re.compile("[\ud800-\udfff]")

Redact: TypeAlias = Callable[[str], str]
"""Returns a text without what nobody shall store. Equal texts have to become equal ones, at any time."""


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


def reduced_output(enriched: Mapping[str, Any], content: Content) -> Mapping[str, Any]:
    """Return an enriched record without the texts that `content` keeps back; the same one for full content.

    It was judged with its texts, so what Eddy says of it is the same. Numbers, names and ids stay.

    >>> record = {"session_id": "s", "cognition": {"intent": "ask Kim", "confidence_score": 0.5}}
    >>> reduced_output({**record, "eddy": {"events": []}}, Content.NONE)["cognition"]
    {'intent': '', 'confidence_score': 0.5}
    """
    if content is Content.FULL:
        return enriched
    kept = reduced(enriched, content)
    whole: dict[str, Any] = dict(enriched)
    for group in _WITH_TEXTS:
        given, left = enriched.get(group), kept.get(group) or {}
        if isinstance(given, Mapping):
            whole[group] = {name: _left(name, value, left, content) for name, value in given.items()}
    eddy = dict(enriched["eddy"])
    if isinstance(uniqueness := eddy.get("uniqueness"), Mapping):
        eddy["uniqueness"] = _without_pattern(uniqueness, content)
    eddy["events"] = [reduced_event(fields, content) for fields in eddy["events"]]
    return {**whole, "eddy": eddy}


def reduced_event(fields: Mapping[str, Any], content: Content) -> Mapping[str, Any]:
    """Return the fields of an event without the texts that `content` keeps back.

    >>> reduced_event({"event_type": "drift_pattern", "target": "kim.txt"}, Content.NONE)
    {'event_type': 'drift_pattern', 'target': None}
    """
    if content is Content.FULL:
        return fields
    # That of a hand-over is the name of an agent.
    if fields["event_type"] == EventKind.DRIFT_PATTERN and isinstance(target := fields["target"], str):
        return {**fields, "target": hashed(target) if content is Content.HASH else None}
    return _without_pattern(fields, content)


def redacted(record: Mapping[str, Any], redact: Redact) -> Mapping[str, Any]:
    """Return a record in which a function has gone over each text of an agent; wrong types stay as they are.

    Of arguments it gets each text and each name within the JSON, so that they stay JSON. What it does not
    change stays as it came, to the byte. Numbers are not shown to it.

    Raises:
        Exception: whatever the function raises, and a TypeError where it returns no text.

    >>> record = {"action": {"tool_input": '{"to":"kim@x.org"}', "status": "success"}}
    >>> redacted(record, lambda text: text.replace("kim@x.org", "<EMAIL>"))["action"]["tool_input"]
    '{"to": "<EMAIL>"}'
    """
    return _with_texts(record, lambda name, value: _redacted(value, redact, is_json=name == "tool_input"))


def withheld(record: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return a record without the texts of its agent; what it wanted and called equals no other step."""
    own = hashed(str(record.get("event_id")))

    def left(name: str, value: Any) -> Any:
        match name, value:
            case "tool_input", str():
                return _not_captured(own)
            case "intent", str():
                return own
            case _, str():
                return None
            case _, list():
                return []
        return value

    return _with_texts(record, left)


def _with_texts(record: Mapping[str, Any], change: Callable[[str, Any], Any]) -> Mapping[str, Any]:
    """Return a record with each field that holds texts of its agent changed."""
    after = dict(record)
    for group, names in _TEXTS.items():
        given = record.get(group)
        if isinstance(given, Mapping):
            after[group] = {
                name: change(name, value) if name in names else value for name, value in given.items()
            }
    return after


def _redacted(value: Any, redact: Redact, *, is_json: bool = False) -> Any:
    match value:
        case str():
            parsed = _parsed(value) if is_json else None
            if parsed is None:
                return _redacted_text(value, redact)
            left = _redacted(parsed, redact)
            return value if left == parsed else json.dumps(left)
        case list():
            return [_redacted(each, redact) for each in value]
        case dict():
            members: dict[str, Any] = {}
            for name, each in value.items():
                left = _redacted_text(name, redact)
                # What was two members stays two.
                named = left if left not in members else f"{left} {len(members)}"
                members[named] = _redacted(each, redact)
            return members
        case _:
            return value


def _redacted_text(text: str, redact: Redact) -> str:
    """Return what a function leaves of a text, also of one in which escapes of JSON hide characters."""
    # A function need not know half of a surrogate pair.
    plain = _SURROGATE.sub("\ufffd", _ESCAPE.sub(_unescaped, text))
    left = redact(plain)
    if not isinstance(left, str):
        raise TypeError("the redactor returned no text")
    return text if left == plain else left


def _unescaped(found: re.Match[str]) -> str:
    pair, single = found["pair"], found["single"]
    if pair is not None:
        return (bytes.fromhex(pair[2:6]) + bytes.fromhex(pair[8:12])).decode("utf-16-be")
    character = chr(int(single, 16))
    return found[0] if _SURROGATE.match(character) else character


def _parsed(text: str) -> Any:
    """Return JSON as values, None for what is none, or names a value twice: the first would be lost."""
    try:
        return json.loads(text, object_pairs_hook=_unique)
    except (ValueError, RecursionError):
        return None


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        raise ValueError("a name comes twice")
    return found


def _without_pattern(fields: Mapping[str, Any], content: Content) -> Mapping[str, Any]:
    """Return a block or an event without what the agent wanted each time."""
    pattern = fields.get("repeated_pattern")
    if not isinstance(pattern, Mapping) or not isinstance(intent := pattern["intent"], str):
        return fields
    hidden = hashed(normalise_result(intent) or "") if content is Content.HASH and intent else ""
    return {**fields, "repeated_pattern": {**pattern, "intent": hidden}}


def _left(name: str, value: object, left: Mapping[str, Any], content: Content) -> object:
    """Return what is left of a field: what `reduced` keeps, and whatever is no text."""
    if content is Content.HASH and isinstance(value, str) and name in _HASHED:
        return hashed(value)
    if name in left and name not in _HASHED:
        return left[name]
    return [] if isinstance(value, list) else None if isinstance(value, str) else value


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
            kept["tool_input"] = _not_captured(hashed(event_id))
    if content is Content.HASH:
        if isinstance(target := action.get("target"), str):
            kept["target"] = hashed(target)
        for name in _RESULTS:
            if isinstance(text := action.get(name), str):
                kept[name] = hashed(normalise_result(text) or "")
    return kept


def _not_captured(mark: str) -> str:
    """Return what stands for arguments that nobody knows: it equals no others."""
    return f'{{"not_captured":"{mark}"}}'


def _control(control: Mapping[str, Any]) -> dict[str, Any]:
    kept: dict[str, Any] = {"is_terminal": True} if control.get("is_terminal") is True else {}
    signal = control.get("interrupt_signal")
    if isinstance(signal, str) and _NO_TEXT.fullmatch(signal):
        kept["interrupt_signal"] = signal
    return kept

"""Recorded agent trajectories: one event per JSON line, mapped to DecisionLogs.

An event has `session_id`, `agent_id`, `seq`, `intent`, `tool_call`, `arguments`, `action_status`, `result`,
`result_md5` and, where the source knows them, `tokens` and `timestamp`. The mapping:

| DecisionLog | from |
|---|---|
| session_id, meta.trace_id | `session_id` |
| event_id | `session_id/seq` |
| meta.timestamp | `timestamp` (ISO 8601 or ms), else none: 10 s per `seq`, counted from 1970 |
| identity.agent_id | `agent_id` |
| identity.agent_type | the data set, the part of `session_id` before `::`; without one the `agent_id` |
| cognition.intent | `intent`, null read as "" |
| action.status | `action_status`: the four words and their usual synonyms, `pending` for anything else |
| action.tool_call | `tool_call`, "" read as null |
| action.tool_input | `arguments`: text as it is, an object or a list as JSON text |
| action.target | the file the call is about, see `_target` |
| action.content_hash | `result_md5` of a successful read of a file: what was read identifies the version |
| action.error | `result` of a failure |
| action.tool_output_summary | `result` otherwise |
| state_delta.tokens_consumed | `tokens` |

Nothing says which event ends a session, so no record is terminal. Without times, gaps between records
mean nothing.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from typing import Any, Final

import orjson

from streams.core.detectors.settings import DEFAULTS
from streams.core.domain.text.figures import UNTIMED
from streams.core.domain.tool_class import ToolClass, tool_class
from streams.core.entry import Entry, decode_object, session_key, undecodable
from streams.formats.adapters.adapter import CERTAIN, NO, UnitKind, own_format
from streams.formats.adapters.heads import head_objects

_STATUSES: Final = {
    word: status
    for status, words in {
        "success": ("success", "succeeded", "successful", "ok", "done", "completed", "passed"),
        "failure": ("failure", "failed", "fail", "error", "errored", "timeout", "timed_out"),
        "pending": ("pending", "running", "in_progress", "started"),
        "skipped": ("skipped", "skip", "cancelled", "canceled"),
    }.items()
    for word in words
}
_PATH_KEYS: Final = (
    "file_path",
    "path",
    "filepath",
    "filename",
    "file_name",
    "test_file_path",
    "notebook_path",
)
# A command line of a file tool, as SWE-agent writes them: `open "src/a.py" 10`.
_PATH_IN_TEXT: Final = re.compile(r"""\s*(?:open|cat|create|view)\s+(["']?)([^\s"'|;&<>-][^\s"'|;&<>]*)\1""")


def read(line: bytes, _number: int = 1) -> Iterator[Entry]:
    """Yield the entry of an event: one without a value if the line is not a JSON object."""
    text = line.strip()
    event = decode_object(text)
    if event is None:
        yield undecodable(text)
    else:
        value = decision_log(event)
        yield Entry(key=session_key(value), timestamp=None, value=value, raw=None)


def sniff(head: bytes, _name: str) -> int:
    """Recognise events by the fields that all of them have."""
    fields = {"tool_call", "seq", "action_status"}
    return CERTAIN if any(fields <= each.keys() for each in head_objects(head)) else NO


def decision_log(event: Mapping[str, Any]) -> dict[str, Any]:
    """The DecisionLog of one event. What the mapping has no rule for stays as it is, for the check to refuse.

    >>> log = decision_log(
    ...     {
    ...         "session_id": "set::7",
    ...         "agent_id": "a",
    ...         "seq": 2,
    ...         "tool_call": "Read",
    ...         "arguments": {"file_path": "a.py"},
    ...         "action_status": "error",
    ...         "result": "no such file",
    ...     }
    ... )
    >>> log["event_id"], log["identity"]["agent_type"], log["meta"]["timestamp"]
    ('set::7/2', 'set', 20000)
    >>> log["action"]["target"], log["action"]["status"], log["action"]["error"]
    ('a.py', 'failure', 'no such file')
    """
    session_id, sequence = event.get("session_id"), event.get("seq", 0)
    agent_id, tool = event.get("agent_id"), event.get("tool_call") or None
    word = event.get("action_status")
    status = _STATUSES.get(word.lower(), "pending") if isinstance(word, str) else "pending"
    failed = status == "failure"
    result = event.get("result") or None
    target = _target(tool, event.get("arguments"))
    return {
        "session_id": session_id,
        "event_id": _event_id(session_id, sequence),
        "meta": {"trace_id": session_id, "timestamp": _timestamp(event.get("timestamp"), sequence)},
        "identity": {"agent_id": agent_id, "agent_type": _agent_type(session_id, agent_id)},
        "cognition": {"intent": event.get("intent") or ""},
        "action": {
            "status": status,
            "tool_call": tool,
            "tool_input": _text(event.get("arguments")),
            "target": target,
            "content_hash": event.get("result_md5") if _is_read(tool, target, status) else None,
            "error": result if failed else None,
            "tool_output_summary": None if failed else result,
        },
        "state_delta": {"tokens_consumed": event.get("tokens")},
    }


def is_timed(event: Mapping[str, Any]) -> bool:
    """Tell whether an event has a time of its own, so that its record has more than a place in an order."""
    return event.get("timestamp") not in (None, "")


def _timestamp(given: Any, sequence: Any) -> Any:
    match given:
        case None | "":
            return UNTIMED.start + 10_000 * sequence if isinstance(sequence, int) else UNTIMED.start
        case str():
            try:
                moment = datetime.fromisoformat(given)
            except ValueError:
                return given
            if moment.tzinfo is None:
                moment = moment.replace(tzinfo=UTC)
            return round(moment.timestamp() * 1000)
        case _:
            return given


def _agent_type(session_id: Any, agent_id: Any) -> Any:
    if isinstance(session_id, str) and "::" in session_id:
        return session_id.partition("::")[0]
    return agent_id


def _event_id(session_id: Any, sequence: Any) -> str | None:
    if isinstance(session_id, list | dict) or isinstance(sequence, list | dict):
        return None
    return f"{session_id}/{sequence}"


def _text(arguments: Any) -> Any:
    if arguments is None or isinstance(arguments, str):
        return arguments
    try:
        return orjson.dumps(arguments).decode()
    except orjson.JSONEncodeError:
        return arguments  # nested deeper than it writes, though not than it reads


def _target(tool: Any, arguments: Any) -> str | None:
    """The path among named arguments, or the first word after open, cat, create or view; None elsewhere."""
    match arguments:
        case dict():
            paths = (arguments.get(key) for key in _PATH_KEYS)
            return next((path for path in paths if isinstance(path, str) and path), None)
        case str() if tool is not None:
            found = _PATH_IN_TEXT.match(arguments)
            return found[2] if found else None
        case _:
            return None


def _is_read(tool: Any, target: str | None, status: str) -> bool:
    return (
        isinstance(tool, str)
        and target is not None
        and status == "success"
        and tool_class(tool, DEFAULTS) is ToolClass.read
    )


FORMAT: Final = own_format("trajectory", UnitKind.LINES, sniff, read)

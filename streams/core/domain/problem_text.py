"""What is wrong with a rejected record, and what is allowed: sentences for people.

They name types and lengths, never a value: what an agent writes may be secret, and dead letters travel.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import isfinite
from typing import Any, Final

from streams.core.domain.record import Record
from streams.core.domain.settings.general import GeneralSettings
from streams.core.domain.text.counting import count
from streams.core.domain.validation import allowed

KEY_PROBLEM: Final = "key"
FUTURE_PROBLEM: Final = "meta.timestamp:future"

_MOST: Final = 5
"""Problems that get a sentence; a header has to stay small."""


def explained(problems: Sequence[str], record: Record, settings: GeneralSettings) -> str:
    """Return what is wrong with a record that was rejected for these problems (specification 2.2).

    >>> record = Record(0, 0, "s-1", None, {"session_id": "s-1", "action": {"status": "done"}})
    >>> explained(["action.status"], record, GeneralSettings())
    'action.status: text of 4 characters is not one of failure, pending, skipped, success'
    """
    told = "; ".join(_sentence(path, record, settings) for path in problems[:_MOST])
    more = len(problems) - _MOST
    return told if more <= 0 else f"{told}; and {more} more {'field' if more == 1 else 'fields'}"


def _sentence(path: str, record: Record, settings: GeneralSettings) -> str:
    if path == FUTURE_PROBLEM:
        ahead = f"more than {settings.max_future_ms:,} ms (max_future_ms) ahead"
        return f"meta.timestamp: {ahead} of the timestamp of the Kafka record"
    if path == KEY_PROBLEM:
        value, must = record.key, "the session_id of the record"
    else:
        value, must = _at(path, record.value), allowed(path)
    wrong = "missing, must be" if value is None else f"{_found(value)} is not"
    return f"{path}: {wrong} {must}"


def _at(path: str, value: Any) -> Any:
    for name in path.split("."):
        value = value.get(name) if isinstance(value, dict) else None
    return value


def _found(value: object) -> str:
    """Return the type of a value, and its size."""
    match value:
        case bool():
            return "a boolean"
        case int():
            size = "" if -(2**63) <= value < 2**63 else " beyond 64 bits"
            return f"a negative whole number{size}" if value < 0 else f"a whole number{size}"
        case float():
            return "a number with a fraction or an exponent" if isfinite(value) else "a number without an end"
        case "":
            return "empty text"
        case str():
            try:
                value.encode()
            except UnicodeEncodeError:
                return "text that is no Unicode"
            return f"text of {count(len(value), 'character')}"
        case bytes():
            return count(len(value), "byte")
        case list():
            return f"a list of {count(len(value), 'value')}"
        case dict():
            return f"an object of {count(len(value), 'field')}"
        case _:
            return "a value of another type"

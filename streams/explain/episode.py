"""An episode in words: what repeats, since when, what it has cost, and whether it is over."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from itertools import groupby
from typing import Any, Final

from streams.domain.text.printable import printable
from streams.explain.clock import clock

_RULES: Final = {
    "R1": "{tools}: the same call with the same result, {count} times in a row",
    "R2": "{tools}: the same {period} steps with the same results, {count} times round",
    "R3": "{tools}: the same error {count} times, whatever the arguments",
    "R4": "{tools}: the same result {count} times in a row, whatever the arguments",
    "R5": "{tools}: {count} calls in a row in nearly the same words, with nearly the same results",
    "R6": "{tools}: {count} calls in a row that were all made before, with the same results",
}

_ENDS: Final = {
    "quiet": "out of the loop",
    "terminal": "the session ended in the loop",
    "expired": "the session fell silent in the loop",
}


def episode_sentence(fields: Mapping[str, Any]) -> str:
    """What an event of an episode says, in one line safe to print.

    >>> what = {"rule": "R3", "period": None, "count": 6, "tools": ["edit"]}
    >>> since = {"first_offset": 7, "first_timestamp": 1_700_000_000_000, "tokens_since_onset": 3000}
    >>> episode_sentence({"phase": "escalated", "level": "LOOP", **what, **since})
    'edit: the same error 6 times, whatever the arguments (R3); since 22:13:20, offset 7: 3,000 tokens'
    """
    rule = fields["rule"]
    tools = _tools(fields["tools"])
    words = _RULES[rule].format(tools=tools, count=fields["count"], period=fields["period"])
    since = f"since {clock(fields['first_timestamp'])}, offset {fields['first_offset']}"
    spent = _spent(fields)
    text = f"{_phase(fields)}{words} ({rule}); {since}"
    return f"{text}: {spent}" if spent else text


def _phase(fields: Mapping[str, Any]) -> str:
    match fields["phase"]:
        case "recovered":
            return f"{_ENDS[fields['reason']]}, noticed {_records(fields['records'])} before: "
        case "still_open":
            return "goes on: "
        case "opened" if fields["level"] != "LOOP":
            return "may become a loop again: " if fields.get("reopened") else "may become a loop: "
        case "opened" if fields.get("reopened"):
            return "again: "
        case _:
            return ""


def _records(count: int) -> str:
    return "1 record" if count == 1 else f"{count:,} records"


def _tools(tools: Iterable[str]) -> str:
    """The tools in their order, a run of one tool once."""
    names = [printable(tool or "no tool", 40) for tool, _ in groupby(tools)]
    return " → ".join(names)


def _spent(fields: Mapping[str, Any]) -> str:
    """Tokens and cost since the first record of the pattern, as far as they were reported."""
    tokens, cost = fields.get("tokens_since_onset"), fields.get("cost_since_onset")
    parts = [f"{tokens:,.0f} tokens"] if tokens else []
    if cost:
        parts.append(f"cost {cost:.4g}")
    return ", ".join(parts)

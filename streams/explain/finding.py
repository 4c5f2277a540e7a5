"""Findings in words: what a person needs to understand why a session is reported."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from streams.domain.event import EventKind
from streams.domain.text.printable import printable
from streams.explain.episode import episode_sentence

_PATTERNS = {
    "read_loop": "read {target} once more, though nothing has changed it since",
    "edit_revert": "{target} is back at content it had before: an edit was undone",
    "test_fail_loop": "the same command failed again, with the same error",
}


def rule(fields: Mapping[str, Any]) -> str | None:
    """The name of the rule an alert comes from; None for an event that is no alert.

    >>> rule({"event_type": "drift_pattern", "pattern": "read_loop"}), rule({"event_type": "node_state"})
    ('read_loop', None)
    """
    match fields["event_type"]:
        case EventKind.DRIFT_PATTERN:
            return str(fields["pattern"])
        case EventKind.ENTROPY_ALERT | EventKind.DIVERGENCE_SUSPECTED | EventKind.LOOP_EPISODE as kind:
            return str(kind)
        case _:
            return None


def is_news(fields: Mapping[str, Any]) -> bool:
    """Whether this alert says more than that what was told before goes on."""
    return fields.get("reason") != "every_record" and fields.get("phase") != "still_open"


def is_loop(fields: Mapping[str, Any]) -> bool:
    """Whether this alert says that the session is in a loop: an episode at LOOP does, scores do not."""
    return rule(fields) == EventKind.LOOP_EPISODE and bool(fields["level"] == "LOOP")


def mark(fields: Mapping[str, Any]) -> str:
    """The sign before an alert: up when something is wrong, down when it is over."""
    return "▼" if fields.get("phase") == "recovered" else "▲"


def style(fields: Mapping[str, Any]) -> str:
    """How a terminal shows an alert."""
    if fields.get("phase") == "recovered":
        return "green"
    return "bold red" if is_loop(fields) else "yellow"


def sentence(fields: Mapping[str, Any]) -> str:
    """What happened, in one line safe to print.

    >>> sentence({"event_type": "divergence_suspected", "signature": ["tool", "Read"], "repeat_count": 3})
    'Read was called 3 times in a row'
    """
    match fields:
        case {"event_type": EventKind.ENTROPY_ALERT, "repeated_pattern": pattern}:
            intent = printable(pattern["intent"], 60) or "no intent"
            tool = printable(pattern["tool_call"], 40) or "no tool"
            return (
                f"{fields['occurrence_count']} of the last {fields['window_size']} steps are the same: "
                f"“{intent}”, {tool}, {pattern['action_status']}"
            )
        case {"event_type": EventKind.DIVERGENCE_SUSPECTED, "signature": [kind, name]}:
            return f"{printable(name or kind, 40)} was called {fields['repeat_count']} times in a row"
        case {"event_type": EventKind.DRIFT_PATTERN, "phase": "escalation"}:
            return f"this keeps coming back (moving average {fields['ema']:.2f})"
        case {"event_type": EventKind.DRIFT_PATTERN, "pattern": pattern} if pattern in _PATTERNS:
            target = printable(fields["target"] or "the file", 60)
            return _PATTERNS[pattern].format(target=target)
        case {"event_type": EventKind.LOOP_EPISODE}:
            return episode_sentence(fields)
        case _:
            return str(fields["event_type"])

"""In one sentence: why a session is, or is not, considered looping."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final

from streams.core.detectors.detector import rule_name
from streams.core.domain.text.figures import clock, count, has_time
from streams.core.domain.text.printable import printable
from streams.operate.explain.explanation import Explanation, objections, sentence

Fields = Mapping[str, Any]

_ENDS: Final = {"quiet": "came out of it", "terminal": "ended in it", "expired": "fell silent in it"}


def verdict_sentence(explanation: Explanation, standing: Fields | None) -> str:
    """Return the sentence.

    Args:
        explanation: the records of the session, as far as there are any.
        standing: where it stands (`streams.core.policy.standing`), None when that is not known.
    """
    if explanation.newest is None:
        if standing is not None:
            return _from_standing(standing)
        return (
            f"Nothing is known of the session: none of its {count(explanation.records, 'record')} was scored."
        )
    last = explanation.newest.enriched["eddy"].get("verdict")
    episode = explanation.course[-1] if explanation.course else None
    if last is None or last["why"] == "disabled":
        return "The session is not considered looping: the verdict is switched off (verdict_enabled)."
    ended = explanation.newest.decision.is_terminal
    now = {**(explanation.latest or {}), **(explanation.open or {})} or None
    if last["level"] == "LOOP" and now is not None:
        was = "was considered looping when it ended" if ended else "is considered looping"
        return f"The session {was}: {_pattern(now)}."
    if last["level"] == "WARNING" and now is not None:
        why = _pattern(now)
        return f"The session is not considered looping, but it may become a loop: {why}."
    calm = (
        "The session was not considered looping when it ended"
        if ended
        else "The session is not considered looping"
    )
    if explanation.loops and episode is not None:
        times = "once" if explanation.loops == 1 else f"{explanation.loops:,} times"
        how = _ENDS.get(episode["reason"], "left it")
        return f"{calm}: it was, {times}, and {how}{_at(' at', episode['timestamp'])}."
    yet = f"{_nearest(standing)}{_objections(explanation.newest.enriched['eddy'])}"
    return f"{calm}: no rule of the verdict reached LOOP{yet}."


def near_misses(rules: Iterable[Fields]) -> list[str]:
    """Return what counts something without having fired, nearest to its limit first.

    >>> rule = {"rule": "R1", "count": 2, "warn": 3, "loop": 4, "tool": "Read", "period": 1}
    >>> near_misses([rule, {**rule, "rule": "R4", "count": 0}])
    ['R1 2 of 3 (Read)']
    """
    near = [rule for rule in rules if 1 < rule["count"] < rule["warn"]]
    near.sort(key=lambda rule: rule["count"] / rule["warn"], reverse=True)
    return [_miss(rule) for rule in near]


def fired_now(rules: Iterable[Fields]) -> list[str]:
    """Return what stands at or above a limit."""
    return [
        f"{_named(rule)} {rule['count']:g}, {rule['level']} from "
        f"{rule['loop'] if rule['level'] == 'LOOP' else rule['warn']:g}"
        for rule in rules
        if rule["level"] != "NORMAL"
    ]


def _miss(rule: Fields) -> str:
    tool = f" ({printable(rule['tool'], 40)})" if rule["tool"] else ""
    return f"{_named(rule)} {rule['count']:g} of {rule['warn']:g}{tool}"


def _named(rule: Fields) -> str:
    return rule_name(printable(rule["rule"], 60), rule["period"])


def _at(preposition: str, timestamp: int) -> str:
    return f"{preposition} {clock(timestamp)} UTC" if has_time(timestamp) else ""


def _pattern(episode: Fields) -> str:
    return sentence({**episode, "phase": "escalated"})


def _nearest(standing: Fields | None) -> str:
    rules = [rule for rule in (standing or {}).get("rules", ()) if rule["loop"] is not None]
    near = near_misses(rules)
    return f"; the nearest is {near[0]}" if near else ""


def _objections(eddy: Fields) -> str:
    return "".join(f"; yet {text}" for text in objections(eddy))


def _from_standing(standing: Fields) -> str:
    if standing["ended"]:
        return "The session has ended, and nothing of it is kept."
    episode = standing["episode"]
    if episode is None:
        return f"The session is not considered looping: no episode is open{_nearest(standing)}."
    tools = ", ".join(printable(tool or "no tool", 40) for tool in dict.fromkeys(episode["tools"]))
    since = _at(", since", episode["first_timestamp"])
    what = f"{episode['rule']} counts {episode['count']} ({tools}){since}"
    if standing["level"] == "LOOP":
        return f"The session is considered looping: {what}."
    return f"The session is not considered looping, but it may become a loop: {what}."

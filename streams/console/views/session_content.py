"""What the page of a session adds to values for people: tones, sentences, buttons."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from streams.console.session_facts import LoopCourse
from streams.console.whatif import counterfactual
from streams.console.wording import duration, money, number
from streams.core.detectors.verdict.episode import Phase
from streams.core.domain.level import Level
from streams.core.domain.topic import Topic

_HUES: Final = 6


def shown_step(step: Mapping[str, Any], *, linked: bool) -> dict[str, Any]:
    """Return a step with the hue of its letter and the tones of its events.

    Args:
        step: Step that is to be shown.
        linked: Whether its record has a page of its own.
    """
    letter = step["letter"]
    return {
        **step,
        "topic": str(Topic.DECISION_LOGS),
        "linked": linked,
        "hue": sum(map(ord, letter)) % _HUES if letter else None,
        "events": [{**event, "tone": tone(event)} for event in step["events"]],
    }


def shown_fold(entry: Mapping[str, Any]) -> dict[str, Any]:
    """Return folded rounds with the tones of what was told in them."""
    fold = entry["fold"]
    return {"fold": {**fold, "events": [{**event, "tone": tone(event)} for event in fold["events"]]}}


def toned(found: Mapping[str, Any]) -> dict[str, Any]:
    """Return the evidence with the tones of the course of the episodes."""
    course = [{**each, "tone": tone({**each, "serious": False})} for each in found["course"]]
    return {**found, "course": course}


def tone(event: Mapping[str, Any]) -> str:
    """Return how grave an event is: the name of a colour and of a symbol."""
    if event["over"]:
        return "good"
    match event["level"]:
        case "LOOP":
            return "critical"
        case "WARNING":
            return "medium"
    return "high" if event["serious"] else "low"


def saved(course: LoopCourse, currency: str) -> str | None:
    """Return what a pause would have saved in the loop that a session is in; None if it is in none."""
    first, latest = course.first, course.latest
    if first is None or latest is None or latest["level"] != Level.LOOP or latest["phase"] == Phase.RECOVERED:
        return None
    less = counterfactual((first, latest))
    if less.tokens <= 0:
        return None
    cost = f" and {money(less.cost, currency)}" if less.cost else ""
    spared = f"{number(less.tokens)} tokens{cost}"
    return f"Paused when it was first reported, the session would have used {spared} less."


def control_bar(known: Mapping[str, Any] | None, csrf: str) -> dict[str, Any]:
    """Return how far commands have come, and what can be done next."""
    state: Mapping[str, Any] = (known or {}).get("control") or {"state": "none", "label": "no guard"}
    name = state["state"]
    tones = {"paused": "paused", "running": "good", "aborted": "high", "disobeyed": "critical"}
    session_id = (known or {}).get("session_id", "")
    actions = []
    if name in ("paused", "asked", "received", "disobeyed"):
        actions.append(
            {"action": "resume", "title": "Resume", "icon": "play", "reason": "Resumed from the console."}
        )
    dialogs = [("note", "Message…"), ("budget", "Budget…")] if state.get("guards") else []
    if name == "paused":
        dialogs = [("pause", "Extend…"), *dialogs, ("abort", "Abort…")]
    return {
        "label": state["label"],
        "detail": state.get("detail") or "",
        "tone": "critical" if state.get("after_pause") else tones.get(name, ""),
        "icon": "pause" if name in ("paused", "asked", "received") else "play",
        "actions": [{**each, "csrf": csrf, "session_id": session_id} for each in actions],
        "dialogs": dialogs,
        "session_id": session_id,
    }


def described(diff: Mapping[str, Any]) -> dict[str, Any]:
    """Return a comparison of two steps with the sentence on top."""
    gap = diff.get("gap_ms")
    after = f", {duration(gap)} later" if gap is not None else ""
    if all(part["equal"] for part in diff["parts"]):
        why = f"The detector takes them for the same{after}: the call and the result are equal."
    else:
        names = " and ".join(part["title"].lower() for part in diff["parts"] if not part["equal"])
        why = f"Not everything is equal{after}: the {names} differs."
    return {**diff, "why": why}

"""What people did to a session, as lines among its steps: paused, told something, resumed, ended."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from streams.console.step import RecordStep
from streams.console.wording import duration

#: How a command that takes effect, and one that has not, is said; and its symbol.
_WORDS: Final = {
    "pause": ("paused", "asked to pause", "pause"),
    "resume": ("resumed", "asked to resume", "play"),
    "abort": ("ended", "asked to end", "stop"),
    "inject_message": ("message", "message that was not handed over", "note"),
    "raise_budget": ("new limits", "new limits that are not in force", "settings"),
}
_OVER: Final = frozenset({"released", "superseded", "expired"})


def with_controls(
    entries: Sequence[Mapping[str, Any]],
    steps: Sequence[RecordStep],
    commands: Sequence[Mapping[str, Any]],
    *,
    newest: bool,
) -> Iterator[Mapping[str, Any]]:
    """Yield steps and folds as the lens has them, and an entry ``control`` for each command between them.

    A command stands before the first step that came after it took effect. Those before the first step that
    is shown are left out.

    Args:
        entries: What the lens shows.
        steps: The steps that it was made of.
        commands: Commands to the session, each with its ``stages``.
        newest: whether the last step is the newest of the session, so that commands after it belong here.
    """
    times = {step.number: (step.record.get("meta") or {}).get("timestamp") or 0 for step in steps}
    waiting = sorted(map(_control, commands), key=lambda each: (each["at"], each["id"]))
    if steps and steps[0].number > 1:
        waiting = [each for each in waiting if each["at"] >= times[steps[0].number]]
    for entry in entries:
        at = times[entry["fold"]["to"] if "fold" in entry else entry["n"]]
        while waiting and waiting[0]["at"] <= at:
            yield {"control": waiting.pop(0)}
        yield entry
    if newest:
        yield from ({"control": each} for each in waiting)


def _control(command: Mapping[str, Any]) -> dict[str, Any]:
    """Return a command as a line: what was done, for how long, by whom and why.

    >>> command = {
    ...     "command_id": "c",
    ...     "action": "pause",
    ...     "issued_at": 5,
    ...     "reason": "it loops",
    ...     "message": None,
    ... }
    >>> asked = [{"stage": "asked", "at": 5}]
    >>> over = [{"stage": "in effect", "at": 1_000}, {"stage": "released", "at": 178_000}]
    >>> _control({**command, "issuer": {"name": "ana"}, "stages": asked + over})["what"]
    'paused for 2 min 57 s by ana: it loops'
    >>> _control({**command, "issuer": {"name": "ana"}, "stages": asked})["what"]
    'asked to pause by ana: it loops'
    """
    action = command["action"]
    done, asked, symbol = _WORDS.get(action, (action, f"asked to {action}", "note"))
    at = {each["stage"]: each["at"] for each in command["stages"]}
    effect = at.get("in effect")
    what = asked if effect is None else done
    if effect is not None and action == "pause":
        end = min((when for stage, when in at.items() if stage in _OVER), default=None)
        what = "pause in force" if end is None else f"{done} for {duration(end - effect)}"
    message = f": “{command['message']}”" if command.get("message") else ""
    by = (command.get("issuer") or {}).get("name") or "somebody"
    return {
        "id": command["command_id"],
        "at": command["issued_at"] if effect is None else effect,
        "icon": symbol,
        "what": f"{what} by {by}{message or ': ' + command['reason']}",
    }

"""The steps of a session with letters, rounds, folds and scores, and what people did among them."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from streams.console.step_diff.rounds import Letter, ShownEpisode, episodes, letters
from streams.console.view import RecordStep
from streams.console.wording import duration
from streams.core.detectors.drift.signals import SIGNALS, THRESHOLDS, contributions
from streams.core.detectors.settings import DetectionSettings
from streams.core.detectors.verdict.stuck_words import MEANINGS
from streams.core.domain.text.canonical import canonical
from streams.core.domain.text.figures import has_time
from streams.operate.explain.explanation import meaning, sentence

_MEANINGS: Mapping[str, str] = {kind.value: means for kind, means in MEANINGS.items()}


def stuck_step(step: RecordStep, numbers: Mapping[tuple[int, int], int]) -> dict[str, Any] | None:
    """Return the kind of a step; None for one that was not judged, or by a version without the score.

    Keys: ``kind``; ``means``, in words; ``points``; ``sign`` of them, ``plus``, ``minus`` or ``none``;
    ``score`` after the step; ``offset`` and ``number`` of the earlier step, each None if it is not known.

    Args:
        step: Step that is to be shown.
        numbers: Number of each step at hand, by partition and offset.
    """
    stuck = (step.record["eddy"].get("verdict") or {}).get("stuck")
    if stuck is None:
        return None
    points, offset = stuck["points"], stuck["refers_to"]
    return {
        "kind": stuck["kind"],
        "means": _MEANINGS.get(stuck["kind"], stuck["kind"]),
        "points": f"{points:+g}" if points else "0",
        "sign": "plus" if points > 0 else "minus" if points < 0 else "none",
        "score": stuck["score"],
        "offset": offset,
        "number": None if offset is None else numbers.get((step.partition, offset)),
    }


LONGEST: Final = 8_000
"""Characters of a text of an agent that are shown."""

_SHOWN_ROUNDS: Final = 2
"""Rounds of an episode that stay when it is folded: the first and the newest."""


@dataclass(frozen=True, slots=True)
class FoldedRounds:
    """Rounds of an episode between its first and its newest one.

    Attributes:
        first, last: numbers of the first and the last step that are not shown.
        episode: Episode that they are rounds of.
        others: how many of these steps belong to no round of it.
    """

    first: int
    last: int
    episode: ShownEpisode
    others: int


@dataclass(frozen=True, slots=True)
class StepDiff:
    """What the page of a session shows of its steps.

    Attributes:
        steps: each step as `content` has it; where rounds are folded, one entry `fold` for them.
        rounds: each episode: its rule, its period, its first and last step, what stays and what varies.
    """

    steps: tuple[Mapping[str, Any], ...]
    rounds: tuple[Mapping[str, Any], ...]

    def content(self) -> dict[str, Any]:
        """Return it as JSON has it."""
        return {"steps": list(self.steps), "rounds": list(self.rounds)}


def lens(steps: Sequence[RecordStep], *, folded: bool) -> StepDiff:
    """Return steps as a person compares them.

    Args:
        steps: Those of one session, oldest first.
        folded: Whether rounds between the first and the newest of an episode become one entry.
    """
    named, shown = letters(steps), episodes(steps)
    place = {
        number: (each, index) for each in shown for index, turn in enumerate(each.rounds) for number in turn
    }
    hidden = _hidden(shown) if folded else {}
    return StepDiff(
        tuple(_entries(steps, named, place, hidden)),
        tuple(_round(each) for each in shown),
    )


def _hidden(shown: Sequence[ShownEpisode]) -> dict[int, FoldedRounds]:
    """Return of each step that is not shown the fold that it is in."""
    found: dict[int, FoldedRounds] = {}
    for each in shown:
        if len(each.rounds) <= _SHOWN_ROUNDS:
            continue
        first, last = each.rounds[1][0], each.rounds[-2][-1]
        if any(number in found for number in range(first, last + 1)):
            continue  # episodes overlap: one fold is enough
        members = sum(len(turn) for turn in each.rounds[1:-1])
        fold = FoldedRounds(first, last, each, last + 1 - first - members)
        found |= dict.fromkeys(range(first, last + 1), fold)
    return found


def _entries(
    steps: Sequence[RecordStep],
    named: Mapping[int, Letter],
    place: Mapping[int, tuple[ShownEpisode, int]],
    hidden: Mapping[int, FoldedRounds],
) -> Iterator[Mapping[str, Any]]:
    before: RecordStep | None = None
    fold: dict[str, Any] | None = None
    numbers = {(step.partition, step.offset): step.number for step in steps}
    for step in steps:
        number = step.number
        if number in hidden:
            away = hidden[number]
            if fold is None or fold["from"] != away.first:
                fold = {
                    "from": away.first,
                    "to": away.last,
                    "rounds": len(away.episode.rounds) - _SHOWN_ROUNDS,
                    "others": away.others,
                    "constant": list(away.episode.constant),
                    "varies": list(away.episode.varies),
                    "tokens": None,
                    "events": [],
                }
                yield {"fold": fold}
            if (tokens := _tokens(step)) is not None:
                fold["tokens"] = (fold["tokens"] or 0) + tokens
            fold["events"] += [{"n": number, **event} for event in _news(step) if event["level"] is not None]
        else:
            stuck = stuck_step(step, numbers)
            yield {**_step(step, before, named.get(number), place.get(number)), "stuck": stuck}
        before = step


def _step(
    step: RecordStep, before: RecordStep | None, letter: Letter | None, place: tuple[ShownEpisode, int] | None
) -> dict[str, Any]:
    record = step.record
    eddy, action = record["eddy"], record.get("action") or {}
    verdict = eddy.get("verdict") or {}
    at = _at(step)
    arguments = action.get("tool_input")
    return {
        "n": step.number,
        "place": {
            "partition": step.partition,
            "offset": step.offset,
            "enriched_offset": step.enriched_offset,
        },
        "at": at,
        "gap_ms": None
        if before is None or at is None or not has_time(at)
        else max(0, at - (_at(before) or at)),
        "kind": action.get("kind"),
        "tool": action.get("tool_call"),
        "intent": (record.get("cognition") or {}).get("intent"),
        "line": _line(action),
        "arguments": None if arguments is None else str(arguments)[:LONGEST],
        "result": str(action.get("error") or action.get("tool_output_summary") or "")[:LONGEST] or None,
        "status": action.get("status"),
        "tokens": _tokens(step),
        "letter": letter.letter if letter else None,
        "twin": letter.twin if letter else None,
        "round": place[1] + 1 if place else None,
        "opens": bool(place and place[0].rounds[0][0] == step.number),
        "closes": bool(place and place[0].rounds[-1][-1] == step.number),
        "episode_id": place[0].newest["episode_id"] if place else None,
        "visible": bool(verdict.get("visible", True)),
        "why": verdict.get("why"),
        "signature": verdict.get("signature"),
        "uniqueness": (eddy.get("uniqueness") or {}).get("score"),
        "run_length": (eddy.get("repeat") or {}).get("run_length"),
        "drift": (eddy.get("drift") or {}).get("overall"),
        "level": verdict.get("level"),
        "events": list(_news(step)),
    }


def _news(step: RecordStep) -> Iterator[dict[str, Any]]:
    for fields in step.record["eddy"]["events"]:
        found = meaning(fields)
        if found.news:
            yield {
                "event_type": fields["event_type"],
                "level": found.level.value if found.level is not None else None,
                "over": found.over,
                "serious": found.serious,
                "what": sentence(fields),
            }


def _round(each: ShownEpisode) -> dict[str, Any]:
    return {
        "episode_id": each.newest["episode_id"],
        "rule": each.newest["rule"],
        "period": each.newest["period"],
        "level": each.newest["level"],
        "from": each.rounds[0][0],
        "to": each.rounds[-1][-1],
        "count": len(each.rounds),
        "constant": list(each.constant),
        "varies": list(each.varies),
    }


def _line(action: Mapping[str, Any]) -> str:
    """Return what a call was about, in one line."""
    if target := action.get("target"):
        return str(target)[:400]
    arguments = action.get("tool_input")
    if arguments is None:
        return ""
    text = canonical(str(arguments))
    try:
        value = json.loads(text)
    except ValueError:
        return text[:400]
    if not isinstance(value, dict):
        return text[:400]
    if len(value) == 1:
        return str(next(iter(value.values())))[:400]
    return ", ".join(f"{name}: {each}" for name, each in value.items())[:400]


def _at(step: RecordStep) -> int | None:
    return (step.record.get("meta") or {}).get("timestamp")


def _tokens(step: RecordStep) -> int | None:
    return (step.record.get("state_delta") or {}).get("tokens_consumed")


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


_LEVELS: Final = {"NORMAL": 0, "WARNING": 1, "LOOP": 2}


def scores(steps: Sequence[RecordStep], settings: DetectionSettings) -> dict[str, Any]:
    """Return the columns, each as long as there are steps; None where a step has no such score.

    Args:
        steps: Those at hand, oldest first.
        settings: Those in force, for the lines of the thresholds and for what each signal adds to the drift.
    """

    def column(block: str, name: str) -> list[Any]:
        return [(step.record["eddy"].get(block) or {}).get(name) for step in steps]

    stuck: list[Mapping[str, Any] | None] = column("verdict", "stuck")
    drift: list[Mapping[str, Any]] = [step.record["eddy"].get("drift") or {} for step in steps]
    added = [_added(block, settings.signal_weights) for block in drift]
    return {
        "n": [step.number for step in steps],
        "at": [(step.record.get("meta") or {}).get("timestamp") for step in steps],
        "stuck": [(each or {}).get("score") for each in stuck],
        "uniqueness": column("uniqueness", "score"),
        "run_length": column("repeat", "run_length"),
        "run_threshold": column("repeat", "threshold"),
        "drift": [block.get("overall") for block in drift],
        "advice": [block.get("level") for block in drift],
        "contributions": {name: [each.get(name) for each in added] for name in SIGNALS},
        "steps_remaining": column("budget", "steps_remaining"),
        "tokens_remaining": column("budget", "tokens_remaining"),
        "cost": [(step.record.get("state_delta") or {}).get("cumulative_session_cost") for step in steps],
        "level": [
            _LEVELS.get((step.record["eddy"].get("verdict") or {}).get("level") or "") for step in steps
        ],
        "thresholds": {
            "stuck": [settings.stuck_warn, settings.stuck_loop],
            "uniqueness": [settings.entropy_warning_threshold, settings.entropy_loop_threshold],
            "drift": {level: getattr(settings, name) for level, name in THRESHOLDS.items()},
        },
        "settings_versions": sorted({step.record["eddy"]["settings_version"] for step in steps}),
    }


def _added(block: Mapping[str, Any], weights: Mapping[str, float]) -> Mapping[str, float]:
    """Return what each signal adds to the drift of a step; empty if the step has no drift."""
    signals = block.get("signals")
    return contributions({name: signals.get(name) for name in SIGNALS}, weights) if signals else {}

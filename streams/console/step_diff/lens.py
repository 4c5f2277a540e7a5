"""The steps of a session with letters, rounds and folds."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from streams.console.step import RecordStep
from streams.console.step_diff.letters import Letter, letters
from streams.console.step_diff.rounds import ShownEpisode, episodes
from streams.core.detectors.verdict.stuck_words import MEANINGS
from streams.core.domain.text.canonical import canonical
from streams.core.domain.text.clock import has_time
from streams.operate.explain.presentation import meaning, sentence

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
    named, told = letters(steps), episodes(steps)
    place = {
        number: (each, index) for each in told for index, turn in enumerate(each.rounds) for number in turn
    }
    hidden = _hidden(told) if folded else {}
    return StepDiff(
        tuple(_entries(steps, named, place, hidden)),
        tuple(_round(each) for each in told),
    )


def _hidden(told: Sequence[ShownEpisode]) -> dict[int, FoldedRounds]:
    """Return of each step that is not shown the fold that it is in."""
    found: dict[int, FoldedRounds] = {}
    for each in told:
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

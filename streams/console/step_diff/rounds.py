"""The rounds of an episode: which steps belong to it, cut where its pattern begins again, with letters."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from string import ascii_uppercase
from typing import Any, Final, NamedTuple

from streams.console.view import RecordStep
from streams.core.domain.event_kind import EventKind
from streams.core.domain.text.canonical import canonical
from streams.core.domain.text.result_text import normalise_result


class Letter(NamedTuple):
    """What a step shares with others.

    Attributes:
        letter: the same for steps that are equal.
        twin: number of the step before this one with the same letter; None for the first.
    """

    letter: str
    twin: int | None


def letters(steps: Sequence[RecordStep]) -> dict[int, Letter]:
    """Return the letter of each step whose signature occurs at least twice, by the number of the step."""
    counts = Counter(signature for step in steps if (signature := signature_of(step)) is not None)
    known: dict[str, str] = {}
    newest: dict[str, int] = {}
    found: dict[int, Letter] = {}
    for step in steps:
        signature = signature_of(step)
        if signature is None or counts[signature] < 2:
            continue
        letter = known.setdefault(signature, _name(len(known)))
        found[step.number] = Letter(letter, newest.get(signature))
        newest[signature] = step.number
    return found


def signature_of(step: RecordStep) -> str | None:
    """Return the signature that the verdict compares, None for a step that it leaves out."""
    verdict = step.record["eddy"].get("verdict")
    if not verdict or not verdict["visible"]:
        return None
    signature: str | None = verdict["signature"]
    return signature


def _name(index: int) -> str:
    """Return A, B, ... Z, AA, AB, ...

    >>> [_name(index) for index in (0, 25, 26, 27)]
    ['A', 'Z', 'AA', 'AB']
    """
    name = ""
    index += 1
    while index:
        index, digit = divmod(index - 1, len(ascii_uppercase))
        name = ascii_uppercase[digit] + name
    return name


Fields = Mapping[str, Any]

_BY_SIGNATURE: Final = frozenset({"R1", "R2"})
"""Rules whose rounds consist of equal steps; the others compare only the tool's results, errors or words,
and R7 counts the steps that raised its score, whatever their tools."""

_COMPARED: Final = ("tool", "arguments", "target", "status", "result", "error")


class ShownEpisode(NamedTuple):
    """An episode as far as its events tell it.

    Attributes:
        newest: fields of its newest event; what its newest step says of it goes before.
        rounds: numbers of the steps of each round, oldest first. Of R2 a round has as many steps as the
            period, of the other rules one.
        constant, varies: what stays the same in all steps at the same place of a round, and what does not; as
            the detector compares it, which leaves out times, ids and the like.
    """

    newest: Fields
    rounds: tuple[tuple[int, ...], ...]
    constant: tuple[str, ...]
    varies: tuple[str, ...]


def episodes(steps: Sequence[RecordStep]) -> list[ShownEpisode]:
    """Return the episodes that the steps tell of, in the order in which they began."""
    newest: dict[str, Fields] = {}
    for step in steps:
        for fields in step.record["eddy"]["events"]:
            if fields["event_type"] == EventKind.LOOP_EPISODE:
                newest[fields["episode_id"]] = fields
        verdict = step.record["eddy"].get("verdict") or {}
        if (episode := verdict.get("episode")) is not None and verdict["episode_id"] in newest:
            newest[verdict["episode_id"]] = {**newest[verdict["episode_id"]], **episode}
    found = [_episode(fields, steps) for fields in newest.values()]
    return sorted((each for each in found if each.rounds), key=lambda each: each.rounds[0])


def _episode(fields: Fields, steps: Sequence[RecordStep]) -> ShownEpisode:
    members = [step for step in steps if _belongs(step, fields)]
    period = fields["period"] if fields["rule"] == "R2" and fields["period"] else 1
    # Cut from the end: a window that slides forgets the first steps, never the last.
    spare = len(members) % period
    cut = [members[index : index + period] for index in range(spare, len(members), period)]
    constant, varies = _compared(cut)
    rounds = tuple(tuple(step.number for step in each) for each in cut)
    return ShownEpisode(fields, rounds, constant, varies)


def _belongs(step: RecordStep, fields: Fields) -> bool:
    if step.partition != fields["partition"]:
        return False
    # The newest event may be some records old; those after it say themselves whose they are.
    verdict = step.record["eddy"].get("verdict") or {}
    is_in_events = fields["first_offset"] <= step.offset <= fields["last_offset"]
    if not is_in_events and verdict.get("episode_id") != fields["episode_id"]:
        return False
    if fields["rule"] in _BY_SIGNATURE:
        return signature_of(step) in fields["signatures"]
    if fields["rule"] == "R7":
        return raised_score(step)
    return signature_of(step) is not None and _said(step)["tool"] in fields["tools"]


def raised_score(step: RecordStep) -> bool:
    """Tell whether a step raised the stuck score."""
    stuck = (step.record["eddy"].get("verdict") or {}).get("stuck")
    return stuck is not None and stuck["points"] > 0


def _compared(rounds: Sequence[Sequence[RecordStep]]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    if len(rounds) < 2:
        return (), ()
    constant: list[str] = []
    varies: list[str] = []
    columns = [[_said(step) for step in column] for column in zip(*rounds, strict=True)]
    for name in _COMPARED:
        places = [[said[name] for said in column] for column in columns]
        if any(value is not None for values in places for value in values):
            (constant if all(_is_one(name, values) for values in places) else varies).append(name)
    return tuple(constant), tuple(varies)


def _is_one(name: str, values: Sequence[Any]) -> bool:
    """Tell whether the detector takes values for the same; most are the same as they came, or soon differ."""
    first = values[0]
    as_compared = _AS_COMPARED.get(name)
    return all(
        value == first
        or (
            as_compared is not None
            and value is not None
            and first is not None
            and as_compared(str(value)) == as_compared(str(first))
        )
        for value in values
    )


@lru_cache(maxsize=1_024)
def _normalised(text: str) -> str | None:
    """Return a result as it is compared: a page is made again with each record, mostly of the same ones."""
    return normalise_result(text)


_AS_COMPARED: Final[Mapping[str, Callable[[str], str | None]]] = {
    "arguments": canonical,
    "result": _normalised,
    "error": _normalised,
}


def _said(step: RecordStep) -> dict[str, Any]:
    action = step.record.get("action") or {}
    return {
        "tool": action.get("tool_call"),
        "arguments": action.get("tool_input"),
        "target": action.get("target"),
        "status": action.get("status"),
        "result": action.get("tool_output_summary"),
        "error": action.get("error"),
    }

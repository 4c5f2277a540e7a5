"""A letter for steps that the verdict takes for the same."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from string import ascii_uppercase
from typing import NamedTuple

from streams.console.step import RecordStep


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

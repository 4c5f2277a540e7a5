"""A sequence of decision records in words: one line for each, equal ones together."""

from __future__ import annotations

import json
from collections.abc import Iterator
from itertools import groupby
from typing import Any

from streams.core.domain.text.printable import printable
from streams.core.domain.witness import DecisionLog, Witness

#: Sequences are told whole up to here; of longer ones the beginning and the last record.
TOLD_WHOLE = 10_000
_BEGINNING = 6
_LINES = 12


def act(value: DecisionLog) -> str:
    """What a record did, as far as it says so.

    >>> action = {"status": "failure", "tool_call": "bash", "tool_input": '{"command":"pytest"}'}
    >>> act({"action": {**action, "error": "1 failed"}, "cognition": {"intent": "run the tests"}})
    'bash {"command":"pytest"} failure: 1 failed, intent “run the tests”'
    >>> act({"action": {"status": "success", "kind": "llm"}, "state_delta": {"progress_delta": 0.0}})
    'llm success, progress_delta 0.0'
    """
    action: dict[str, Any] = value["action"]
    result = action.get("error") or action.get("tool_output_summary")
    about = (
        action.get("tool_call") or action.get("kind") or "llm",
        action.get("target"),
        action.get("tool_input"),
    )
    words = " ".join([printable(text, 60) for text in about if text])
    told = [f"{words} {action['status']}" + (f": {printable(result, 60)}" if result else "")]
    if action.get("kind") and action.get("tool_call"):
        told.append(f"kind {printable(action['kind'], 40)}")
    if action.get("content_hash"):
        told.append(f"content {printable(action['content_hash'], 20)}")
    told += [f"{name} “{printable(text, 60)}”" for name, text in value.get("cognition", {}).items() if text]
    told += [f"{name} {json.dumps(number)}" for name, number in value.get("state_delta", {}).items()]
    return ", ".join(told)


def lines(witness: Witness) -> Iterator[str]:
    """Yield the lines of a sequence, numbered; a long one is cut in the middle."""
    if witness.records > TOLD_WHOLE:
        yield from _numbered(witness, range(1, _BEGINNING + 1))
        yield "…"
        yield from _numbered(witness, range(witness.records, witness.records + 1))
        return
    told = list(_numbered(witness, range(1, witness.records + 1)))
    if len(told) > _LINES:
        told[_BEGINNING:-1] = ["…"]
    yield from told


def _numbered(witness: Witness, numbers: range) -> Iterator[str]:
    acts = ((number, act(witness.make(number))) for number in numbers)
    for text, group in groupby(acts, key=lambda numbered: numbered[1]):
        [first, *more] = [number for number, _ in group]
        yield f"{first} to {more[-1]}. {text}" if more else f"{first}. {text}"

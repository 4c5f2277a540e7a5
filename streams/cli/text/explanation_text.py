"""The explanation of a session for people, and a sequence of decision records in words."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from itertools import groupby
from typing import Any

from streams.cli.text.line import Line, TextSpan
from streams.core.domain.text.figures import clock, day, has_time
from streams.core.domain.text.printable import printable
from streams.core.domain.witness import DecisionLog, Witness
from streams.operate.explain.explanation import Explanation, sentence, summaries
from streams.operate.explain.verdict import fired_now, near_misses, verdict_sentence

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
    parts = [f"{words} {action['status']}" + (f": {printable(result, 60)}" if result else "")]
    if action.get("kind") and action.get("tool_call"):
        parts.append(f"kind {printable(action['kind'], 40)}")
    if action.get("content_hash"):
        parts.append(f"content {printable(action['content_hash'], 20)}")
    parts += [f"{name} “{printable(text, 60)}”" for name, text in value.get("cognition", {}).items() if text]
    parts += [f"{name} {json.dumps(number)}" for name, number in value.get("state_delta", {}).items()]
    return ", ".join(parts)


def lines(witness: Witness) -> Iterator[str]:
    """Yield the lines of a sequence, numbered; a long one is cut in the middle."""
    if witness.records > TOLD_WHOLE:
        yield from _numbered(witness, range(1, _BEGINNING + 1))
        yield "…"
        yield from _numbered(witness, range(witness.records, witness.records + 1))
        return
    parts = list(_numbered(witness, range(1, witness.records + 1)))
    if len(parts) > _LINES:
        parts[_BEGINNING:-1] = ["…"]
    yield from parts


def _numbered(witness: Witness, numbers: range) -> Iterator[str]:
    acts = ((number, act(witness.make(number))) for number in numbers)
    for text, group in groupby(acts, key=lambda numbered: numbered[1]):
        [first, *more] = [number for number, _ in group]
        yield f"{first} to {more[-1]}. {text}" if more else f"{first}. {text}"


Fields = Mapping[str, Any]

_HANG = 4
_COLUMN = 13
_STYLES = {"LOOP": "bold red", "WARNING": "yellow"}


def explanation_lines(explanation: Explanation, standing: Fields | None) -> Iterator[Line]:
    """Yield the lines below the timeline; the last one is the sentence that sums it up."""
    yield from _refused(explanation)
    if explanation.firings:
        yield from _heading("What fired")
        for firing in sorted(explanation.firings.values(), key=lambda firing: firing.first):
            at = f"offset {firing.first}" if firing.times == 1 else f"offsets {firing.first} to {firing.last}"
            times = "" if firing.times == 1 else f", {firing.times:,} times"
            name = f"  {printable(firing.rule, 60)} {firing.level}"
            yield Line.of(
                TextSpan(name, _STYLES.get(firing.level, "")),
                TextSpan(f"  {at}{times}: {firing.evidence}"),
                hang=_HANG,
            )
    if explanation.course:
        yield from _heading("Episodes")
        for event in explanation.course:
            at = (
                f"  {day(event['timestamp'])} {clock(event['timestamp'])}"
                if has_time(event["timestamp"])
                else ""
            )
            about = f"{at}  offset {event['offset']}  {event['phase']}"
            yield Line.of(
                TextSpan(f"{about}, {event['level']}", _STYLES.get(event["level"], "")),
                TextSpan(f": {sentence(event)}"),
                hang=_HANG,
            )
    where = [*_scores(explanation), *_standing(standing)]
    if where:
        yield from _heading("Where it stands")
        yield from (Line.of(TextSpan(f"  {text}"), hang=_COLUMN) for text in where)
    yield Line()
    yield Line.of(TextSpan(verdict_sentence(explanation, standing), "bold"))


def _heading(text: str) -> Iterator[Line]:
    yield Line()
    yield Line.of(TextSpan(text, "bold"))


def _refused(explanation: Explanation) -> Iterator[Line]:
    if explanation.duplicates:
        yield Line.of(TextSpan(f"{explanation.duplicates:,} duplicate records changed nothing", "dim"))
    if not explanation.rejected:
        return
    yield Line.of(TextSpan(f"{explanation.rejected:,} rejected, no part of what follows", "yellow"))
    if explanation.rejected > len(explanation.refusals):
        yield Line.of(TextSpan(f"  … the last {len(explanation.refusals)}:"))
    for offset, problems in explanation.refusals:
        yield Line.of(TextSpan(f"  offset {offset}: {', '.join(problems)}"))


def _scores(explanation: Explanation) -> Iterator[str]:
    """Yield the scores of the newest record, one detector a line."""
    if explanation.newest is None:
        return
    for name, text in summaries(explanation.newest.enriched["eddy"]):
        yield f"{name:<10} {text}"


def _standing(standing: Fields | None) -> Iterator[str]:
    if standing is None or standing["ended"]:
        return
    place = f"offset {standing['offset']} of partition {standing['partition']}"
    yield f"node       {standing['node']}, after {place}, settings version {standing['settings_version']}"
    if reached := fired_now(standing["rules"]):
        yield f"at a limit {'; '.join(reached)}"
    if near := near_misses(standing["rules"]):
        yield f"near       {'; '.join(near)}"

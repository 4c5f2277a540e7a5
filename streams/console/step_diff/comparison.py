"""Two steps side by side, as they came and as the detector compared them; the evidence of a verdict."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from difflib import SequenceMatcher
from itertools import pairwise
from typing import Any, Final, NamedTuple

from streams.console.step_diff.rounds import letters
from streams.console.view import RecordStep
from streams.core.domain.decision import Decision
from streams.core.domain.text.canonical import canonical
from streams.core.domain.text.figures import has_time
from streams.core.domain.text.marks import jaccard, tokens
from streams.core.domain.text.result_text import normalise_result, replaced_spans
from streams.operate.explain.explanation import Explanation, meaning, sentence, summaries
from streams.operate.explain.verdict import fired_now, near_misses

USED: Final = 4_000
"""Characters of a text that are compared, as by the detector."""

_WORD: Final = re.compile(r"\s+|\w+|[^\w\s]")

_KINDS: Final = {
    "<uuid>": "an id",
    "<time>": "a time",
    "<tmp>": "a temporary path",
    "<hex>": "an address or a hash",
    "line <n>": "a line number",
    "In[<n>]": "a cell number",
    ":<n>": "a line number",
    "<dur>": "a duration",
    "": "a colour",
}


class Segment(NamedTuple):
    """A piece of a text.

    Attributes:
        text: Text of this one piece.
        mark: what it is, if the detector does not compare it.
        change: `insert` or `delete` if the other text lacks it.
    """

    text: str
    mark: str | None = None
    change: str | None = None


def twin(steps: Sequence[RecordStep], number: int) -> dict[str, Any] | None:
    """Return a step beside its earlier twin, or beside the step before it if it has none.

    Args:
        steps: Steps of the session that are at hand.
        number: Number of the step to compare.

    Returns:
        `n` and `twin`, the numbers of the steps; `gap_ms`; `parts`, each with both texts as they came and as
        they were compared, in segments; `similarity`. None if there is no such pair.
    """
    by_number = {step.number: step for step in steps}
    step = by_number.get(number)
    letter = letters(steps).get(number)
    earlier = by_number.get(letter.twin if letter and letter.twin is not None else number - 1)
    if step is None or earlier is None:
        return None
    now, then = Decision.of(step.partition, step.offset, _known(step)), Decision.of(0, 0, _known(earlier))
    call, called = _call(step), _call(earlier)
    result, former = now.result_text, then.result_text
    return {
        "n": step.number,
        "twin": earlier.number,
        "gap_ms": now.timestamp - then.timestamp if has_time(now.timestamp) else None,
        "same_letter": bool(letter and letter.twin is not None),
        "parts": [
            {
                **_part("Call", called, call, canonical(called), canonical(call), marked=False),
                "equal": (then.tool_call, canonical(called)) == (now.tool_call, canonical(call)),
                "tools": [then.tool_call, now.tool_call],
            },
            _part("Result", former, result, normalise_result(former), normalise_result(result), marked=True),
        ],
        "similarity": {
            "call": round(jaccard(tokens(canonical(called)), tokens(canonical(call))), 4),
            "result": round(jaccard(tokens(normalise_result(former)), tokens(normalise_result(result))), 4),
        },
    }


def _part(
    title: str,
    earlier: str | None,
    later: str | None,
    compared_earlier: str | None,
    compared_later: str | None,
    *,
    marked: bool,
) -> dict[str, Any]:
    before, after = (earlier or "")[:USED], (later or "")[:USED]
    left, right = _differences(before, after)
    found = _differences((compared_earlier or "")[:USED], (compared_later or "")[:USED])
    return {
        "title": title,
        "equal": compared_earlier == compared_later,
        "equal_as_came": earlier == later,
        "earlier": _segments(before, left, marked=marked),
        "later": _segments(after, right, marked=marked),
        "compared_earlier": _segments((compared_earlier or "")[:USED], found[0], marked=False),
        "compared_later": _segments((compared_later or "")[:USED], found[1], marked=False),
        "cut": max(len(earlier or ""), len(later or "")) > USED,
    }


Spans = list[tuple[int, int, str]]


def _differences(before: str, after: str) -> tuple[Spans, Spans]:
    """Return what of each text the other lacks, by words."""
    if before == after:
        return [], []
    old, new = (
        [found.span() for found in _WORD.finditer(before)],
        [found.span() for found in _WORD.finditer(after)],
    )
    matcher = SequenceMatcher(
        None, [before[slice(*span)] for span in old], [after[slice(*span)] for span in new], autojunk=False
    )
    left, right = Spans(), Spans()
    for tag, i1, i2, j1, j2 in matcher.get_opcodes():
        if tag in ("delete", "replace"):
            left.append((old[i1][0], old[i2 - 1][1], "delete"))
        if tag in ("insert", "replace"):
            right.append((new[j1][0], new[j2 - 1][1], "insert"))
    return left, right


def _segments(text: str, changes: Spans, *, marked: bool) -> list[dict[str, Any]]:
    marks = [(begin, end, _KINDS[kind]) for begin, end, kind in replaced_spans(text)] if marked else []
    return [each._asdict() for each in _cut(text, changes, marks)]


def _cut(text: str, changes: Spans, marks: Spans) -> Iterator[Segment]:
    edges = sorted({0, len(text), *(edge for begin, end, _ in (*changes, *marks) for edge in (begin, end))})
    for begin, end in pairwise(edges):
        yield Segment(text[begin:end], _at(begin, marks), _at(begin, changes))


def _at(place: int, spans: Spans) -> str | None:
    return next((what for begin, end, what in spans if begin <= place < end), None)


def _call(step: RecordStep) -> str:
    return str((step.record.get("action") or {}).get("tool_input") or "")


def _known(step: RecordStep) -> dict[str, Any]:
    return {name: value for name, value in step.record.items() if name != "eddy"}


def evidence(explained: Explanation, standing: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """Return the rules that fired with their evidence, the course of the episodes, and the newest scores.

    Args:
        explained: What `eddy explain` gathers of the session.
        standing: Where the session stands, None if that is not known.
    """
    newest = explained.newest.enriched["eddy"] if explained.newest is not None else {}
    return {
        "firings": [
            {
                "rule": each.rule,
                "level": each.level,
                "evidence": each.evidence,
                "first": each.first,
                "last": each.last,
                "times": each.times,
            }
            for each in explained.firings.values()
        ],
        "course": [_turn(fields) for fields in explained.course],
        "reached": fired_now(standing["rules"]) if standing and not standing["ended"] else [],
        "near": near_misses(standing["rules"]) if standing and not standing["ended"] else [],
        "summaries": [{"name": name, "text": text} for name, text in summaries(newest)] if newest else [],
    }


def _turn(fields: Mapping[str, Any]) -> dict[str, Any]:
    found = meaning(fields)
    return {
        "offset": fields["offset"],
        "partition": fields["partition"],
        "at": fields["timestamp"],
        "phase": fields.get("phase"),
        "level": found.level.value if found.level is not None else None,
        "over": found.over,
        "what": sentence(fields),
    }

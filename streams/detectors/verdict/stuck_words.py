"""The stuck score in words: what kinds of steps raised it (specification 6.5b)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from streams.detectors.verdict.step import StepKind
from streams.domain.text.printable import printable

Fields = Mapping[str, Any]

#: What each kind of step is, in words.
MEANINGS: Final[Mapping[StepKind, str]] = {
    StepKind.FIRST: "the first step",
    StepKind.APART: "a step after a pause, or one of a tool that polls",
    StepKind.AGAIN: "the previous call again with the same result",
    StepKind.AGAIN_OTHER: "the previous call again with another result",
    StepKind.RETRY: "a call of two or three steps before with the same result",
    StepKind.BACK_TRIVIAL: "an earlier call with the same result, which says little",
    StepKind.BACK_CHANGED: "an earlier call with the same result, though something was written in between",
    StepKind.BACK: "an earlier call with the same result",
    StepKind.RERUN: "an earlier call with another result",
    StepKind.OLD_ERROR: "a new call with an error it had seen",
    StepKind.ECHO: "a new call with an answer that says little",
    StepKind.OLD_RESULT: "a new call with a result it had seen",
    StepKind.SILENT: "a new call without a result",
    StepKind.NEW_ERROR: "a new error",
    StepKind.NEW: "a new result",
}

_KNOWN: Final = frozenset(kind.value for kind in MEANINGS)
_RETURNS = (StepKind.RETRY, StepKind.BACK_TRIVIAL, StepKind.BACK_CHANGED, StepKind.BACK)
# What raises the score, as it is counted for people; the most frequent comes first.
_RAISING: Final = (
    ("the same call again", (StepKind.AGAIN,)),
    ("back to an earlier call", _RETURNS),
    ("an error it had seen", (StepKind.OLD_ERROR,)),
    ("a result it had seen", (StepKind.OLD_RESULT,)),
)


def because(stuck: Fields | None) -> str:
    """Return why a session is stuck, from the evidence of an episode; it follows what is said to be stuck.

    >>> kinds = {"back": 2, "retry": 1, "old_error": 4, "new": 2, "echo": 5}
    >>> because({"score": 6.0, "kinds": kinds})
    ': 4 times an error it had seen, 3 times back to an earlier call, 2 new results in 14 steps'
    """
    kinds = (stuck or {}).get("kinds")
    if not kinds:
        return ""
    counted = [(sum(kinds.get(kind, 0) for kind in group), words) for words, group in _RAISING]
    counted.sort(key=lambda each: -each[0])
    said = [f"{times(count)} {words}" for count, words in counted if count]
    new = [_several(kinds.get(StepKind.NEW, 0), "new result")]
    new += [_several(kinds[kind], word) for kind, word in _ALSO if kinds.get(kind)]
    return f": {', '.join([*said, *new])} in {_several(sum(kinds.values()), 'step')}"


_ALSO: Final = ((StepKind.NEW_ERROR, "new error"), (StepKind.RERUN, "changed result"))


def summary(stuck: Fields | None) -> str:
    """Return the score after a record, and what the record added to it; empty for one that is not judged."""
    if stuck is None:
        return ""
    kind = stuck["kind"]
    # A newer worker may know more kinds.
    meaning = MEANINGS[StepKind(kind)] if kind in _KNOWN else printable(kind, 60)
    place = "" if stuck["refers_to"] is None else f", offset {stuck['refers_to']}"
    return f"stuck score {stuck['score']:g}; last step {stuck['points']:+g}: {meaning}{place}"


def times(count: int) -> str:
    """Return how often something happened, in words."""
    return "once" if count == 1 else f"{count:,} times"


def _several(count: int, word: str) -> str:
    if not count:
        return f"no {word}"
    return f"1 {word}" if count == 1 else f"{count:,} {word}s"

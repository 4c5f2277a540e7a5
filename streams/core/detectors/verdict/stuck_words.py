"""The stuck score in words: what kinds of steps raised it (specification 6.5b)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from streams.core.detectors.verdict.step import StepKind
from streams.core.domain.text.figures import count
from streams.core.domain.text.printable import printable

Fields = Mapping[str, Any]

#: What each kind of step is, in words.
MEANINGS: Final[Mapping[StepKind, str]] = {
    StepKind.WAITING: "a step that waits, or of a tool that polls",
    StepKind.FIRST: "the first step, or the first since a person spoke",
    StepKind.CANCELLED: "a call that was called off because of another one",
    StepKind.APART: "an earlier step again, after a pause or while waiting",
    StepKind.MOVED: "an earlier step again, with progress",
    StepKind.AGAIN: "the previous step again with the same result",
    StepKind.ACKNOWLEDGED_AGAIN: "the previous action again, which was acknowledged",
    StepKind.ACKNOWLEDGED_BACK: "an earlier action again, which was acknowledged",
    StepKind.BACK_CHANGED: "an earlier step with the same result, though the agent acted in between",
    StepKind.RETRY: "a call of two or three steps before with the same result",
    StepKind.BACK_TRIVIAL: "an earlier step with the same result, which says little",
    StepKind.BACK: "an earlier step with the same result",
    StepKind.COUNTED: "an earlier call whose result hardly differs",
    StepKind.AGAIN_OTHER: "the previous call again with another result",
    StepKind.RERUN: "an earlier call with another result",
    StepKind.SAID: "a text after a text, without a new word",
    StepKind.OLD_ERROR: "a new call with an error it had seen",
    StepKind.ABSENT_AGAIN: "another question to a person who is not there",
    StepKind.REFUSED_AGAIN: "a new call that was refused like one before",
    StepKind.NEW_ERROR_ACTING: "an action with a new error",
    StepKind.NEW_ERROR: "a new error",
    StepKind.IDLE: "another command that does nothing",
    StepKind.NOTHING_FOUND: "another question without an answer",
    StepKind.SILENT: "a step that tells nothing",
    StepKind.ECHO: "a new call with an answer that says little",
    StepKind.ACTED: "a new action, which was acknowledged",
    StepKind.OLD_RESULT: "a new call with a result it had seen",
    StepKind.OLD_WORDS: "a new call with a result of words it had seen",
    StepKind.LIKE: "a new call with a result nearly all of whose words it had seen",
    StepKind.FEW: "a result with a few new words",
    StepKind.NEW: "a new result",
}

_KNOWN: Final = frozenset(kind.value for kind in MEANINGS)
_RETURNS = (StepKind.RETRY, StepKind.BACK_TRIVIAL, StepKind.BACK_CHANGED, StepKind.BACK, StepKind.COUNTED)
# What raises the score, as it is counted for people; the most frequent comes first.
_RAISING: Final = (
    ("the same step again", (StepKind.AGAIN,)),
    ("back to an earlier step", _RETURNS),
    ("an action again that was acknowledged", (StepKind.ACKNOWLEDGED_AGAIN, StepKind.ACKNOWLEDGED_BACK)),
    ("an error it had seen", (StepKind.OLD_ERROR,)),
    ("refused as before", (StepKind.REFUSED_AGAIN,)),
    ("a question to nobody", (StepKind.ABSENT_AGAIN,)),
    ("an action with a new error", (StepKind.NEW_ERROR_ACTING,)),
    ("a result it had seen", (StepKind.OLD_RESULT, StepKind.OLD_WORDS)),
    ("the same in other words", (StepKind.SAID,)),
    ("a command that does nothing", (StepKind.IDLE,)),
    ("a question without an answer", (StepKind.NOTHING_FOUND,)),
)
_LEFT_OUT: Final = (
    ("steps of waiting", (StepKind.WAITING, StepKind.APART)),
    ("actions that were acknowledged", (StepKind.ACTED,)),
    ("calls called off", (StepKind.CANCELLED,)),
)


def because(stuck: Fields | None) -> str:
    """Return why a session is stuck, from the evidence of an episode; it follows what is said to be stuck.

    >>> kinds = {"back": 2, "retry": 1, "old_error": 4, "new": 2, "echo": 5}
    >>> because({"score": 6.0, "kinds": kinds})
    ': 4 times an error it had seen, 3 times back to an earlier step, 2 new results in 14 steps'
    """
    kinds = (stuck or {}).get("kinds")
    if not kinds:
        return ""
    counted = [(sum(kinds.get(kind, 0) for kind in group), words) for words, group in _RAISING]
    counted.sort(key=lambda each: -each[0])
    said = [f"{times(count)} {words}" for count, words in counted if count]
    new = [_several(kinds.get(StepKind.NEW, 0) + kinds.get(StepKind.FEW, 0), "new result")]
    new += [_several(kinds[kind], word) for kind, word in _ALSO if kinds.get(kind)]
    out = [(sum(kinds.get(kind, 0) for kind in group), words) for words, group in _LEFT_OUT]
    left = ", ".join(f"{count:,} {words}" for count, words in out if count)
    rest = f"; not counted: {left}" if left else ""
    return f": {', '.join([*said, *new])} in {_several(sum(kinds.values()), 'step')}{rest}"


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


def times(number: int) -> str:
    """Return how often something happened, in words."""
    return "once" if number == 1 else f"{number:,} times"


def _several(number: int, word: str) -> str:
    return count(number, word) if number else f"no {word}"

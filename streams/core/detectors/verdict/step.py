"""What a step of an agent is beside the steps before it, and what that adds to the stuck score."""

from __future__ import annotations

from enum import StrEnum
from types import MappingProxyType
from typing import Final, NamedTuple


class StepKind(StrEnum):
    """The kinds of specification 6.5b. Every judged record has one.

    Attributes:
        WAITING: the agent waits, or its tool polls.
        FIRST: no record was judged since the session or a person's turn began.
        CANCELLED: the call was called off because of another one.
        APART: a pause, or waiting, lies between it and the step that it repeats.
        MOVED: it repeats a step, and the producer says that it made progress.
        AGAIN: the previous step again, with the same result.
        ACKNOWLEDGED_AGAIN: an action again that was only acknowledged.
        ACKNOWLEDGED_BACK: an earlier action again that was only acknowledged.
        BACK_CHANGED: an earlier step with the same result, though the agent acted in between.
        RETRY: a call of two or three steps before, of the same tool as the step in between, same result.
        BACK_TRIVIAL: an earlier step with the same result, which says nothing.
        BACK: an earlier step with the same result.
        COUNTED: an earlier call whose result differs in numbers or a few words alone.
        AGAIN_OTHER: the previous call again, with another result.
        RERUN: an earlier call with another result.
        SAID: a text after a text, without a word that is new.
        OLD_ERROR: another call that failed as one before did.
        ABSENT_AGAIN: another question to a person who was not there before.
        REFUSED_AGAIN: another call that was refused, with other words.
        NEW_ERROR_ACTING: an action that failed in a new way.
        NEW_ERROR: a new call with a new error.
        IDLE: a command that does nothing, after some like it.
        NOTHING_FOUND: another question without an answer, after many.
        SILENT: a step that tells nothing.
        ECHO: an answer that says little.
        ACTED: a new action that was acknowledged.
        OLD_RESULT: another call with a result that its tool gave before.
        OLD_WORDS: another call with a result all of whose words were told before.
        LIKE: another call with a result nearly all of whose words were told before.
        FEW: a result with a few new words.
        NEW: a result with enough new words, or that its producer calls progress.
    """

    WAITING = "waiting"
    FIRST = "first"
    CANCELLED = "cancelled"
    APART = "apart"
    MOVED = "moved"
    AGAIN = "again"
    ACKNOWLEDGED_AGAIN = "acknowledged_again"
    ACKNOWLEDGED_BACK = "acknowledged_back"
    BACK_CHANGED = "back_changed"
    RETRY = "retry"
    BACK_TRIVIAL = "back_trivial"
    BACK = "back"
    COUNTED = "counted"
    AGAIN_OTHER = "again_other"
    RERUN = "rerun"
    SAID = "said"
    OLD_ERROR = "old_error"
    ABSENT_AGAIN = "absent_again"
    REFUSED_AGAIN = "refused_again"
    NEW_ERROR_ACTING = "new_error_acting"
    NEW_ERROR = "new_error"
    IDLE = "idle"
    NOTHING_FOUND = "nothing_found"
    SILENT = "silent"
    ECHO = "echo"
    ACTED = "acted"
    OLD_RESULT = "old_result"
    OLD_WORDS = "old_words"
    LIKE = "like"
    FEW = "few"
    NEW = "new"


#: What a step of each kind adds to the score. Each is a multiple of a quarter, so that scores are exact. They
#: follow the logarithm of how much more often a kind stands in stuck stretches than in healthy work, two to a
#: point (docs/quality.md).
POINTS: Final = MappingProxyType(
    {
        StepKind.WAITING: 0.0,
        StepKind.FIRST: 0.0,
        StepKind.CANCELLED: 0.0,
        StepKind.APART: 0.0,
        StepKind.MOVED: 0.0,
        StepKind.AGAIN: 2.0,
        StepKind.ACKNOWLEDGED_AGAIN: 0.5,
        StepKind.ACKNOWLEDGED_BACK: 0.25,
        StepKind.BACK_CHANGED: 0.5,
        StepKind.RETRY: 2.0,
        StepKind.BACK_TRIVIAL: 0.5,
        StepKind.BACK: 1.5,
        StepKind.COUNTED: 1.0,
        StepKind.AGAIN_OTHER: 0.0,
        StepKind.RERUN: -0.5,
        StepKind.SAID: 1.0,
        StepKind.OLD_ERROR: 1.25,
        StepKind.ABSENT_AGAIN: 0.5,
        StepKind.REFUSED_AGAIN: 1.0,
        StepKind.NEW_ERROR_ACTING: 0.5,
        StepKind.NEW_ERROR: 0.0,
        StepKind.IDLE: 1.0,
        StepKind.NOTHING_FOUND: 0.5,
        StepKind.SILENT: 0.0,
        StepKind.ECHO: 0.0,
        StepKind.ACTED: -0.25,
        StepKind.OLD_RESULT: 0.5,
        StepKind.OLD_WORDS: 0.5,
        StepKind.LIKE: 0.0,
        StepKind.FEW: -0.5,
        StepKind.NEW: -1.0,
    }
)


class VerdictStep(NamedTuple):
    """The kind of a step.

    Attributes:
        kind: name of the `StepKind`.
        points: what it adds to the stuck score.
        refers_to: offset of the earlier record that it was compared with, None without one.
    """

    kind: str
    points: float
    refers_to: int | None

"""What a step of an agent is beside the steps before it, and what that adds to the stuck score."""

from __future__ import annotations

from enum import StrEnum
from types import MappingProxyType
from typing import Final, NamedTuple


class StepKind(StrEnum):
    """The kinds of specification 6.5b, in the order in which they are asked for. Every judged record has one.

    Attributes:
        FIRST: no record was judged before it.
        APART: the agent waited before it, or its tool polls.
        AGAIN: the previous call again, with the same result.
        AGAIN_OTHER: the previous call again, with another result.
        RETRY: a call of two or three steps before, of the same tool as the step in between, same result.
        BACK_TRIVIAL: an earlier call with the same result, which says nothing.
        BACK_CHANGED: an earlier call with the same result, though something was written in between.
        BACK: an earlier call with the same result.
        RERUN: an earlier call with a result that it did not have.
        OLD_ERROR: another call that failed with an error which the tool gave before.
        ECHO: another call of the tool with an answer that says nothing.
        OLD_RESULT: another call with a result that the tool gave before.
        SILENT: a new call without a result.
        NEW_ERROR: a new call with a new error.
        NEW: a new call with a new result.
    """

    FIRST = "first"
    APART = "apart"
    AGAIN = "again"
    AGAIN_OTHER = "again_other"
    RETRY = "retry"
    BACK_TRIVIAL = "back_trivial"
    BACK_CHANGED = "back_changed"
    BACK = "back"
    RERUN = "rerun"
    OLD_ERROR = "old_error"
    ECHO = "echo"
    OLD_RESULT = "old_result"
    SILENT = "silent"
    NEW_ERROR = "new_error"
    NEW = "new"


#: What a step of each kind adds to the score. Each is a multiple of a half, so that scores are exact.
POINTS: Final = MappingProxyType(
    {
        StepKind.FIRST: 0.0,
        StepKind.APART: 0.0,
        StepKind.AGAIN: 2.0,
        StepKind.AGAIN_OTHER: 0.0,
        StepKind.RETRY: 2.0,
        StepKind.BACK_TRIVIAL: 0.5,
        StepKind.BACK_CHANGED: 0.5,
        StepKind.BACK: 1.0,
        StepKind.RERUN: -0.5,
        StepKind.OLD_ERROR: 1.0,
        StepKind.ECHO: 0.0,
        StepKind.OLD_RESULT: 0.5,
        StepKind.SILENT: 0.0,
        StepKind.NEW_ERROR: -0.5,
        StepKind.NEW: -1.0,
    }
)


class Step(NamedTuple):
    """The kind of a step.

    Attributes:
        kind: name of the `StepKind`.
        points: what it adds to the stuck score.
        refers_to: offset of the earlier record that it was compared with, None without one.
    """

    kind: str
    points: float
    refers_to: int | None

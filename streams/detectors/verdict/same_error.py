"""R3: one tool failing with the same error, whatever it is called with (specification 6.5)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from streams.detectors.verdict.settings import VerdictSettings
from streams.detectors.verdict.state import VerdictState
from streams.detectors.verdict.streak import Moment
from streams.domain.decision import Decision
from streams.domain.text.marks import Marks

SENTENCE = "{tools}: the same error {count} times, whatever the arguments"


class Failure(NamedTuple):
    """The last call of a tool, which failed.

    Attributes:
        number: of the record among the judged ones.
        signature, result: of the record; ``result`` is a digest.
        times: calls of the tool in a row that failed with this result.
        onset: the first of them.
        varied: whether not all of these calls are equal.
        words: marks of the arguments, empty while `same_error_similarity` asks for none.
    """

    number: int
    signature: str
    result: str
    times: int
    onset: Moment
    varied: bool
    words: str = ""


Errors = Mapping[str, Sequence[Any]]


def errors_of(
    state: VerdictState,
    decision: Decision,
    tool: str | None,
    moment: Moment,
    settings: VerdictSettings,
) -> Errors:
    """Return the last failures of the tools after a record. Other tools in between do not matter.

    Args:
        state: before the record.
        decision: the record.
        tool: its tool, bounded.
        moment: where it stands.
        settings: the settings in force; a failure that left `verdict_window` is forgotten.
    """
    errors, window = state.errors, settings.verdict_window
    number = state.judged + 1
    if errors and next(iter(errors.values()))[0] <= number - window:
        errors = {name: last for name, last in errors.items() if last[0] > number - window}
    fails = decision.status == "failure" and bool(decision.result)
    if tool is None or (not fails and tool not in errors):
        return errors
    others = {name: last for name, last in errors.items() if name != tool}
    if fails:
        last = _next(errors.get(tool), decision, number, moment, settings.same_error_similarity)
        # Without words, as by default, they take no room.
        others[tool] = [*last] if last.words else [*last[:-1]]
    return others


def _next(
    stored: Sequence[Any] | None, decision: Decision, number: int, moment: Moment, least: float
) -> Failure:
    signature, result = decision.signature, decision.result_digest or ""
    words = decision.argument_marks if least else Marks()
    if stored is not None:
        last = Failure(*stored)
        # Status and result being equal, the signatures differ exactly when the calls do.
        varies = last.signature != signature
        unlike = varies and least > 0 and words.similarity(Marks(last.words), least) is None
        if last.result == result and not unlike:
            times, varied = last.times + 1, last.varied or varies
            return Failure(number, signature, result, times, last.onset, varied, words)
    return Failure(number, signature, result, 1, moment, False, words)


def failure_of(state: VerdictState, tool: str | None) -> Failure | None:
    """Return the last call of a tool if it failed and is remembered."""
    stored = None if tool is None else state.errors.get(tool)
    return None if stored is None else Failure(*stored)

"""R4: one tool giving the same result, whatever it is called with (specification 6.5)."""

from __future__ import annotations

from streams.detectors.verdict.spacing import is_spaced
from streams.detectors.verdict.state import VerdictState
from streams.detectors.verdict.streak import NO_STREAK, Streak, longer
from streams.detectors.verdict.trivial import is_trivial
from streams.domain.decision import Decision
from streams.domain.tool_class import ToolClass

SENTENCE = "{tools}: the same result {count} times in a row, whatever the arguments"
_EXCLUDED = (ToolClass.write, ToolClass.command)


def may_count(decision: Decision, class_: ToolClass, *, polling: bool) -> bool:
    """Tell whether a record may stand in a row of R4, as far as the result does not decide it."""
    if decision.status == "failure" or polling or not decision.tool_call or not decision.result:
        return False
    return class_ not in _EXCLUDED


def row_of(state: VerdictState, decision: Decision, tool: str | None, poll_gap_ms: int) -> Streak:
    """Return the row of equal results that the record ends.

    Args:
        state: before the record.
        decision: the record, which `may_count`.
        tool: its tool, bounded.
        poll_gap_ms: the setting.
    """
    if not state.call or state.result != decision.result_digest or state.tools[-1] != tool:
        return NO_STREAK
    previous = state.newest
    if is_spaced(decision.timestamp, previous[1], poll_gap_ms, failing=False):
        return NO_STREAK
    # A row that there is already has this result, so it is none that says nothing.
    if not state.same_results and is_trivial(decision.result_marks):
        return NO_STREAK
    return longer(state.same_results, previous, varies=state.call != decision.call_digest)

"""R6: call after call that was made before, with the same result (specification 6.5); off by default.

It sees what no run and no cycle shows: a circle of more than five steps, or one that is not always walked in
the same order. One new call, or one new result, ends it: an edit, the next page, the next file of a batch.
"""

from __future__ import annotations

from streams.detectors.verdict.spacing import is_spaced
from streams.detectors.verdict.state import VerdictState
from streams.detectors.verdict.streak import NO_STREAK, Moment, Streak
from streams.domain.decision import Decision

SENTENCE = "{tools}: {count} calls in a row that were all made before, with the same results"


def row_of(
    state: VerdictState,
    decision: Decision,
    moment: Moment,
    repeat_distance: int | None,
    poll_gap_ms: int,
    *,
    polling: bool,
) -> Streak:
    """Return the records in a row, the newest included, whose signature stood in the window before.

    From one on, unlike other rows: the first record of the row is a repetition already.

    Args:
        state: before the record.
        decision: the record.
        moment: where it stands.
        repeat_distance: judged records since its signature was last seen, None when it is not in the window.
        poll_gap_ms: the setting; a record that was waited for ends the row.
        polling: whether its tool polls, which is no repetition.
    """
    if repeat_distance is None or polling:
        return NO_STREAK
    failing = decision.status == "failure"
    if is_spaced(decision.timestamp, state.moments[1], poll_gap_ms, failing=failing):
        return NO_STREAK
    if not state.nothing_new:
        return (1, moment, False)
    count, onset, varies = state.nothing_new
    return (count + 1, onset, varies)

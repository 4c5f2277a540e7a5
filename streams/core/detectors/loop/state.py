"""What A4 keeps of a session."""

from __future__ import annotations

from typing import NamedTuple

from streams.core.domain.decision import Decision
from streams.core.domain.text.digest import COMPARED


class LoopState(NamedTuple):
    """The tail of a session: how far back from the newest step each kind of sameness goes.

    The window (specification 5.4) is not stored. Each detector asks for a run that ends at the newest step,
    and what such a run has in the window is the shorter of the run and the window.

    Attributes:
        size: how many of the newest steps are in the window.
        signature: `Decision.signature` of the newest step. Of this and the other digests, `COMPARED` digits
            are kept.
        equal: length of the run of steps with that signature.
        action, action_before: `Decision.call_digest` of the newest step and of the one before it.
        alternating: length of the run in which these two actions take turns.
        marks: `Decision.step_marks` of the newest step.
        result: `Decision.result_digest` of the newest step.
        stuck: length of the run of steps without progress, 0 when the newest made some.
    """

    size: int = 0
    signature: str = ""
    equal: int = 0
    action: str = ""
    action_before: str = ""
    alternating: int = 0
    marks: str = ""
    result: str | None = None
    stuck: int = 0


def advance(state: LoopState, decision: Decision, window: int) -> LoopState:
    """Return the state with one more step.

    Args:
        state: the state until now.
        decision: the newest step.
        window: setting `loop_window_size`.
    """
    size, signature, equal, action, action_before, alternating, _, result, stuck = state
    newest, signed = decision.call_digest[:COMPARED], decision.signature[:COMPARED]
    told = decision.result_digest
    if newest == action or size == 0:
        alternating = 1
    elif newest == action_before:
        alternating += 1
    else:
        alternating = 2
    return LoopState(
        size + 1 if size < window else window,
        signed,
        equal + 1 if signed == signature else 1,
        newest,
        action,
        alternating,
        str(decision.step_marks),
        None if told is None else told[:COMPARED],
        stuck + 1 if decision.is_without_progress(result) else 0,
    )


def shortened(state: LoopState) -> LoopState:
    """Return the state of an earlier version, which kept all digits of its digests."""
    kept = {name: getattr(state, name)[:COMPARED] for name in ("signature", "action", "action_before")}
    return state._replace(**kept)

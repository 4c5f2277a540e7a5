"""One more judged record: every counter of the verdict goes on."""

from __future__ import annotations

from streams.detectors.verdict import cycle, identical, near_duplicate, nothing_new, same_error, same_result
from streams.detectors.verdict.moments import with_one_more
from streams.detectors.verdict.past import Past
from streams.detectors.verdict.rearm import within
from streams.detectors.verdict.settings import VerdictSettings
from streams.detectors.verdict.stalled import stalled_after
from streams.detectors.verdict.state import RECENT, SIGNATURE, VerdictState, outcome_of
from streams.detectors.verdict.step import Step
from streams.detectors.verdict.streak import NO_STREAK
from streams.detectors.verdict.stuck import stuck_after
from streams.domain.decision import Decision
from streams.domain.text.bounded import bounded, bounded_hash
from streams.domain.tool_class import ToolClass, tool_class
from streams.domain.tool_policy import PolicyMode, ToolPolicy

_POLLING = PolicyMode.polling
_WRITE, _OTHER = ToolClass.write, ToolClass.other
_SIGNATURES = SIGNATURE * RECENT


def advanced(
    state: VerdictState,
    decision: Decision,
    tokens: float,
    policy: ToolPolicy | None,
    past: Past,
    step: Step,
    repeat_distance: int | None,
    settings: VerdictSettings,
) -> VerdictState:
    """Return the state with a judged record counted in, the episode as it was.

    Rules that are switched off are counted too, so that switching one on takes effect at once; only R6 and
    R8, which are off by default, take neither time nor room until then.

    Args:
        state: before the record.
        decision: the record.
        tokens: of the session so far, the record included.
        policy: what the operator says about its tool.
        past: the records it was compared with.
        step: what it is beside them.
        repeat_distance: judged records since its signature was last seen, None when it is not in the window.
        settings: the settings in force.
    """
    polling = policy is not None and policy.mode is _POLLING
    status, signature = decision.status, decision.signature
    outcome = outcome_of(status, polling=polling)
    tool = bounded(decision.tool_call) if decision.tool_call else None
    content_hash = decision.content_hash
    moment = (decision.offset, decision.timestamp, tokens, decision.cumulative_cost)
    gap, window = settings.poll_gap_ms, settings.verdict_window
    number = state.judged + 1

    tools = [*state.tools, tool]
    if len(tools) > RECENT:
        del tools[0]

    # Most records do and tell what none of the newest did, and are asked no more.
    is_known, failing = signature in state.signatures, status == "failure"
    class_ = _OTHER
    if tool is not None and decision.kind == "tool":
        class_ = tool_class(decision.tool_call or "", settings)
    repeats = same_result.may_count(decision, class_, polling=polling)
    resembles = near_duplicate.may_count(decision, polling=polling)
    argument_marks, result_marks = near_duplicate.marks_of(state, decision) if resembles else ("", "")
    return VerdictState(
        number,
        tokens,
        0,
        (state.signatures + signature)[-_SIGNATURES:],
        tools,
        (state.outcomes + outcome)[-RECENT:],
        with_one_more(state.moments, moment, RECENT),
        past.with_the_record(decision, state.moments),
        identical.run_of(state, decision, gap) if is_known else NO_STREAK,
        cycle.cycles_of(state, decision, outcome, gap) if is_known else (),
        same_error.errors_of(state, decision, tool, moment, settings) if state.errors or failing else {},
        same_result.row_of(state, decision, tool, gap) if repeats else NO_STREAK,
        near_duplicate.row_of(state, decision, tool, outcome, settings) if resembles else NO_STREAK,
        decision.call_digest if repeats else "",
        decision.result_digest,
        None if content_hash is None else bounded_hash(content_hash),
        argument_marks,
        result_marks,
        within(state.keys, number, window) if state.keys else state.keys,
        state.episode,
        nothing_new.row_of(state, decision, moment, repeat_distance, gap, polling=polling)
        if "R6" in settings.verdict_rules
        else NO_STREAK,
        decision.loose_input == decision.canonical_input,
        number if class_ is _WRITE and status == "success" else state.last_write,
        stuck_after(state.stuck, step, moment) if state.stuck or step.points > 0.0 else (),
        stalled_after(state.stalled, step, decision, moment, policy, settings)
        if "R8" in settings.verdict_rules
        else NO_STREAK,
        decision.round_digest,
    )

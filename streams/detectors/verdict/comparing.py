"""What one step is beside the judged records before it (specification 6.5b)."""

from __future__ import annotations

from streams.detectors.verdict.past import Past
from streams.detectors.verdict.settings import VerdictSettings
from streams.detectors.verdict.spacing import is_spaced
from streams.detectors.verdict.state import VerdictState
from streams.detectors.verdict.step import POINTS, Step, StepKind
from streams.detectors.verdict.trivial import is_trivial
from streams.domain.decision import Decision
from streams.domain.text.bounded import bounded
from streams.domain.tool_class import ToolClass, tool_class
from streams.domain.tool_policy import PolicyMode, ToolPolicy

# Values of an enumeration cost a lookup each time.
_POINTS = {kind.value: points for kind, points in POINTS.items()}
_FIRST, _APART, _AGAIN, _AGAIN_OTHER, _RETRY = [kind.value for kind in StepKind][:5]
_BACK_TRIVIAL, _BACK_CHANGED, _BACK, _RERUN = [kind.value for kind in StepKind][5:9]
_OLD_ERROR, _ECHO, _OLD_RESULT, _SILENT, _NEW_ERROR, _NEW = [kind.value for kind in StepKind][9:]
# Those that most steps are.
_IS_APART, _IS_SILENT = Step(_APART, 0.0, None), Step(_SILENT, 0.0, None)
_IS_NEW, _IS_NEW_ERROR = Step(_NEW, _POINTS[_NEW], None), Step(_NEW_ERROR, _POINTS[_NEW_ERROR], None)
_LIMITS, _POLLING = PolicyMode.limits, PolicyMode.polling
# Tools that answer many different calls alike.
_ANSWER_ALIKE = (ToolClass.write, ToolClass.command)
_RETRIED_WITHIN = 3


def step_of(
    state: VerdictState,
    decision: Decision,
    past: Past,
    policy: ToolPolicy | None,
    settings: VerdictSettings,
) -> Step:
    """Return what a record is beside those before it; the first row of specification 6.5b that applies.

    Args:
        state: before the record.
        decision: the record.
        past: the records before it.
        policy: what the operator says about its tool.
        settings: the settings in force.
    """
    if not past.text:
        return Step(_FIRST, 0.0, None)
    moments, gap = state.moments, settings.poll_gap_ms
    now, failing = decision.timestamp, decision.status == "failure"
    polling = policy is not None and policy.mode is _POLLING
    if polling or is_spaced(now, moments[1], gap, failing=failing):
        return _IS_APART
    if past.called_at < 0:
        return _new_call(state, decision, past, settings, failing=failing)
    at = past.repeated_at
    if at == 0:
        allowed = policy is not None and policy.mode is _LIMITS
        return Step(_AGAIN, 0.0 if allowed else _POINTS[_AGAIN], moments[0])
    if past.called_at == 0:
        return Step(_AGAIN_OTHER, 0.0, moments[0])
    if at > 0:
        offset, timestamp = past.place_of(at, moments)
        if is_spaced(now, timestamp, gap, failing=failing):
            return Step(_APART, 0.0, offset)
        kind = _return(state, decision, past.number_back(at), failing=failing)
        return Step(kind, _POINTS[kind], offset)
    return Step(_RERUN, _POINTS[_RERUN], past.place_of(past.called_at, moments)[0])


def _return(state: VerdictState, decision: Decision, back: int, *, failing: bool) -> str:
    """Return the kind of a step with call and result of the record so many back, at least 2."""
    if back <= _RETRIED_WITHIN and decision.tool and state.tools[-1] == bounded(decision.tool):
        return _RETRY
    if not failing and (decision.result is None or is_trivial(decision.result_marks)):
        return _BACK_TRIVIAL
    return _BACK_CHANGED if state.last_write > state.judged + 1 - back else _BACK


def _new_call(
    state: VerdictState, decision: Decision, past: Past, settings: VerdictSettings, *, failing: bool
) -> Step:
    """Return what a call is that none of the records made, by what came of it."""
    if not decision.result:
        return _IS_SILENT
    at = past.told_at() if decision.tool else -1
    if at >= 0:
        kind = _OLD_ERROR if failing else _known_result(decision, settings)
        return Step(kind, _POINTS[kind], past.place_of(at, state.moments)[0])
    return _IS_NEW_ERROR if failing else _IS_NEW


def _known_result(decision: Decision, settings: VerdictSettings) -> str:
    """Return the kind of a new call that did not fail, with a result that its tool gave before."""
    tool = decision.tool or ""
    if decision.kind == "tool" and tool_class(tool, settings) in _ANSWER_ALIKE:
        return _ECHO
    return _ECHO if is_trivial(decision.result_marks) else _OLD_RESULT

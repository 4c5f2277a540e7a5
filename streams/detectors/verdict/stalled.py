"""R8: for many steps nothing came that tells the agent more (specification 6.5c); off by default.

R7 looks at what one step is beside an earlier one, and each new error or answer takes some of its score back.
R8 sees what that misses: an agent that fails in ever new ways, or whose commands do nothing. It counts such
steps, whatever they are like, and takes some back only for a result that says something new.
"""

from __future__ import annotations

from typing import Final

from streams.detectors.verdict.settings import VerdictSettings
from streams.detectors.verdict.step import Step, StepKind
from streams.detectors.verdict.streak import NO_STREAK, Moment, Streak
from streams.detectors.verdict.trivial import is_trivial
from streams.domain.decision import Decision
from streams.domain.tool_class import ToolClass, tool_class
from streams.domain.tool_policy import PolicyMode, ToolPolicy

SENTENCE = "{count} steps that told the agent nothing new, the newest of {tools}"

#: Steps that one new result makes up for.
TAKEN_BACK: Final = 3

_NO_STEP: Final = frozenset({StepKind.FIRST.value, StepKind.APART.value, StepKind.SILENT.value})
_CHANGED: Final = frozenset({StepKind.NEW.value, StepKind.RERUN.value, StepKind.AGAIN_OTHER.value})
_ECHO: Final = StepKind.ECHO.value


def stalled_after(
    stalled: Streak,
    step: Step,
    decision: Decision,
    moment: Moment,
    policy: ToolPolicy | None,
    settings: VerdictSettings,
) -> Streak:
    """Return the count after one more judged record: ``(count, onset, whether this record counts)``.

    Args:
        stalled: before the record; empty at 0.
        step: what the record is beside those before it.
        decision: the record.
        moment: where it stands.
        policy: what the operator says about its tool.
        settings: the settings in force.
    """
    points = _points(step.kind, decision, policy, settings)
    count, onset = (stalled[0], stalled[1]) if stalled else (0, moment)
    count += points
    return (count, onset, points > 0) if count > 0 else NO_STREAK


def _points(kind: str, decision: Decision, policy: ToolPolicy | None, settings: VerdictSettings) -> int:
    if kind in _NO_STEP or (policy is not None and policy.mode is PolicyMode.limits):
        return 0
    class_ = tool_class(decision.tool, settings) if decision.tool and decision.kind == "tool" else None
    if class_ is ToolClass.write:
        # What an agent writes, it knows.
        return 0
    if decision.status == "failure":
        return 1
    if kind in _CHANGED:
        tells = bool(decision.result) and not is_trivial(decision.result_marks)
        return -TAKEN_BACK if tells else 0
    # Tools that act answer a list of different calls alike; commands do, if they do nothing.
    return 0 if kind == _ECHO and class_ is not ToolClass.command else 1

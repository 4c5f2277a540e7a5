"""What a completed task took (specification 5.6, task profile)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from streams.core.detectors.budget.detector import BudgetState
from streams.core.detectors.settings import DetectionSettings
from streams.core.domain.decision import Decision
from streams.core.domain.number import r4


def completion_of(
    decision: Decision, states: Mapping[str, Sequence[Any]], settings: DetectionSettings
) -> dict[str, Any] | None:
    """Return `eddy.completion` of a scored record, None when it completes no task.

    A terminal success of a known task_type does ("" is none), unless `enable_historical_profiling` is off.

    Args:
        decision: the record that may complete a task.
        states: the states of the detectors after the record; that of A6 knows what the session used.
        settings: the settings in force for the record.

    >>> from streams.core.detectors.settings import DEFAULTS
    >>> known = {
    ...     "session_id": "s",
    ...     "event_id": "e",
    ...     "task_type": "api",
    ...     "meta": {"trace_id": "t", "timestamp": 0},
    ...     "identity": {"agent_id": "a", "agent_type": "coder"},
    ...     "action": {"status": "success"},
    ...     "control": {"is_terminal": True},
    ... }
    >>> used = BudgetState(steps_used=15, tokens_used=25000, total=1.0)
    >>> completion_of(Decision.of(0, 14, known), {"budget": used}, DEFAULTS)
    {'task_type': 'api', 'steps_used': 15, 'tokens_used': 25000, 'total_progress': 1.0}
    """
    if not (decision.is_terminal and decision.status == "success" and decision.task_type):
        return None
    if not settings.enable_historical_profiling:
        return None
    budget = states["budget"]
    assert isinstance(budget, BudgetState)
    tokens = budget.tokens_used
    return {
        "task_type": decision.task_type,
        "steps_used": budget.steps_used,
        "tokens_used": r4(tokens) if type(tokens) is float else tokens,
        "total_progress": r4(budget.total),
    }

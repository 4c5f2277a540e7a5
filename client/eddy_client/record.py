"""A record as Eddy reads it, see docs/specification.md part 2."""

from __future__ import annotations

from typing import Any, NamedTuple


class Agent(NamedTuple):
    """Who acts."""

    agent_id: str
    agent_type: str
    version: str | None = None


class Act(NamedTuple):
    """What was done. Texts are bounded already.

    Attributes:
        kind: `tool`, `llm`, or `system` for the end of a session.
        status: `success`, `failure` or `skipped`.
        cost: of the session so far.
        gap: how many records of the session were dropped before this one.
        round_id: equal for the calls of a session that were decided together.
        parent_session_id: the session that started this one.
        user_turn: how a person spoke since the step before.
        context_change: `compacted` or `resumed` if that was done to the context since the step before.
        cached: tokens that were read from a cache; `tokens` leaves them out.
    """

    event_id: str
    at_ms: int
    kind: str
    status: str
    intent: str | None = None
    goal: str | None = None
    tool: str | None = None
    arguments: str | None = None
    target: str | None = None
    output: str | None = None
    tokens: int | None = None
    cost: float | None = None
    terminal: bool = False
    gap: int = 0
    round_id: str | None = None
    parent_session_id: str | None = None
    user_turn: str | None = None
    context_change: str | None = None
    cached: int | None = None


def decision_log(session_id: str, agent: Agent, act: Act, task_type: str | None = None) -> dict[str, Any]:
    """Return the record of an act.

    >>> act = Act("e-1", 7, "tool", "failure", intent="shell", tool="shell", output="no such file")
    >>> decision_log("s", Agent("a", "coder"), act)["action"]
    {'kind': 'tool', 'status': 'failure', 'tool_call': 'shell', 'error': 'no such file'}
    """
    failed = act.status == "failure"
    record: dict[str, Any] = {
        "session_id": session_id,
        "event_id": act.event_id,
        "task_type": task_type,
        "meta": _given(
            trace_id=session_id,
            timestamp=act.at_ms,
            round_id=act.round_id,
            parent_session_id=act.parent_session_id,
            user_turn=act.user_turn,
            context_change=act.context_change,
        ),
        "identity": _given(
            agent_id=agent.agent_id, agent_type=agent.agent_type, capability_version=agent.version
        ),
        "cognition": None if act.intent is None else _given(intent=act.intent, goal=act.goal),
        "action": _given(
            kind=act.kind,
            status=act.status,
            tool_call=act.tool,
            tool_input=act.arguments,
            target=act.target,
            error=act.output if failed else None,
            tool_output_summary=None if failed else act.output,
        ),
        "state_delta": _given(
            tokens_consumed=act.tokens, cumulative_session_cost=act.cost, tokens_cached=act.cached
        )
        or None,
        "control": _given(
            is_terminal=act.terminal or None, interrupt_signal=f"gap:{act.gap}" if act.gap else None
        )
        or None,
    }
    return _given(**record)


def _given(**fields: Any) -> dict[str, Any]:
    return {name: value for name, value in fields.items() if value is not None}

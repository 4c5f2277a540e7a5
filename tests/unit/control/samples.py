"""Commands and acks of each kind, for tests."""

from __future__ import annotations

from eddy_client.protocol import MINUTE_MS, Action, OnTimeout, Scope, Status
from hypothesis import strategies as st

from streams.control.audit import AuditKind, AuditRecord, Result
from streams.control.command import Cause, Command, Issuer, IssuerKind, PolicyRule
from streams.control.outcome import Ack, GuardFacts

NOW = 1_760_000_000_000


def pause(**changes: object) -> Command:
    """Return a pause of the session s-17, valid for 15 minutes."""
    fields: dict[str, object] = {
        "command_id": "0199c82c-c000-7000-8000-000000000000",
        "scope": Scope.SESSION,
        "session_id": "s-17",
        "action": Action.PAUSE,
        "issued_at": NOW,
        "expires_at": NOW + 15 * MINUTE_MS,
        "on_timeout": OnTimeout.RESUME,
        "reason": "the same search five times",
        "issuer": Issuer(kind=IssuerKind.CLI, name="ana", via="host-1"),
    }
    return Command(**(fields | changes))  # type: ignore[arg-type]


def note(message: str = "Stop searching.", **changes: object) -> Command:
    """Return a note to the session s-17."""
    return pause(action=Action.INJECT_MESSAGE, on_timeout=None, message=message, **changes)


_TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=30)
_LONG = st.integers(-(2**63), 2**63 - 1)
_INT = st.integers(-(2**31), 2**31 - 1)


def _maybe(values: st.SearchStrategy) -> st.SearchStrategy:  # type: ignore[type-arg]
    return st.none() | values


COMMANDS = st.builds(
    Command,
    command_id=_TEXT,
    scope=st.sampled_from(Scope) | _TEXT,
    action=st.sampled_from(Action) | _TEXT,
    issued_at=_LONG,
    expires_at=_LONG,
    reason=_TEXT,
    issuer=st.builds(Issuer, kind=_TEXT, name=_TEXT, role=_maybe(_TEXT), via=_maybe(_TEXT)),
    session_id=_maybe(_TEXT),
    agent_id=_maybe(_TEXT),
    on_timeout=_maybe(_TEXT),
    message=_maybe(_TEXT),
    steps_budget=_maybe(_LONG),
    tokens_budget=_maybe(_LONG),
    cause=_maybe(
        st.builds(
            Cause,
            event_type=_maybe(_TEXT),
            event_id=_maybe(_TEXT),
            episode_id=_maybe(_TEXT),
            partition=_maybe(_INT),
            offset=_maybe(_LONG),
            settings_version=_maybe(_LONG),
        )
    ),
    policy=_maybe(st.builds(PolicyRule, name=_TEXT, version=_LONG)),
)

ACKS = st.builds(
    Ack,
    id=_TEXT,
    session_id=_TEXT,
    status=st.sampled_from(Status) | _TEXT,
    at=_LONG,
    guard_id=_TEXT,
    command_id=_maybe(_TEXT),
    agent_id=_maybe(_TEXT),
    effective_at=_maybe(_LONG),
    guard=_maybe(
        st.builds(
            GuardFacts,
            version=_maybe(_TEXT),
            integration=_maybe(_TEXT),
            host=_maybe(_TEXT),
            pid=_maybe(_LONG),
        )
    ),
    command_partition=_maybe(_INT),
    command_offset=_maybe(_LONG),
    last_event_id=_maybe(_TEXT),
    checkpoint=_maybe(_TEXT),
    detail=_maybe(_TEXT),
)

RECORDS = st.builds(
    AuditRecord,
    id=_TEXT,
    at=_LONG,
    who=_TEXT,
    kind=st.sampled_from(AuditKind) | _TEXT,
    role=_maybe(_TEXT),
    via=_maybe(_TEXT),
    target=_maybe(_TEXT),
    why=_maybe(_TEXT),
    request=_maybe(_TEXT),
    result=_maybe(st.sampled_from(Result)),
    result_place=_maybe(_TEXT),
)

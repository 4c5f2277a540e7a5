"""What policies decided, as the audit has it: every console reads the same. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import lru_cache
from typing import Any, Final, NamedTuple

import orjson

from streams.console.read_model.rows import ActionRow
from streams.console.read_model.source import Fields
from streams.control.audit import AuditKind, AuditRecord
from streams.core.domain.event_kind import EventKind
from streams.core.policy.intervention import Done, EpisodeEvent, InterventionAct, Policy, Withheld

#: How an audit record of a policy came about; that of an operator who publishes one has another.
AUTOMATIC: Final = "automatic"
DRY_RUN: Final = "dry_run"
WITHHELD: Final = "withheld"
_RESULTS: Final = (DRY_RUN, WITHHELD)


class Decided(NamedTuple):
    """A decision.

    Attributes:
        done: the rule, episode, session and time, and whether a limit held it back.
        version: Version of the policy.
        action: that was asked for.
        tokens, cost, records: of the episode, when it was decided.
        partition, offset: place on `decision-logs` of the record that the alert was about.
        why: Why it was decided, in words.
    """

    done: Done
    version: int
    action: str
    tokens: float
    cost: float | None
    records: int
    partition: int
    offset: int
    why: str


def event_of(fields: Fields, task_type: str | None, at: int) -> EpisodeEvent | None:
    """Return an alert as an event that a policy may be about; None if it is of another kind.

    Args:
        fields: The value of an alert.
        task_type: That of its session.
        at: When the broker got it, ms.
    """
    if fields["event_type"] != EventKind.LOOP_EPISODE:
        return None
    return EpisodeEvent(
        episode_id=fields["episode_id"],
        session_id=fields["session_id"],
        agent_id=fields["agent_id"],
        task_type=task_type,
        phase=fields["phase"],
        level=fields["level"],
        rule=fields["rule"],
        tokens=fields["tokens_since_onset"] or 0,
        cost=fields["cost_since_onset"],
        at=at,
    )


def audit_of(
    decision: InterventionAct | Withheld, event: EpisodeEvent, policy: Policy, fields: Fields, what: str
) -> AuditRecord:
    """Return the record of a decision. Consoles that decide the same write the same.

    Args:
        decision: Decision that the policy made.
        event: Event that the decision answers.
        policy: Policy that has decided.
        fields: The value of the alert.
        what: What the event says, in words.
    """
    rule = decision.rule
    withheld = isinstance(decision, Withheld)
    request = {
        "rule": rule.name,
        "policy_version": policy.version,
        "episode_id": event.episode_id,
        "action": rule.do.action,
        "tokens": event.tokens,
        "cost": event.cost,
        "records": fields["records"],
        "partition": fields["partition"],
        "offset": fields["offset"],
    }
    return AuditRecord(
        id=f"{policy.version}-{decision.command_id}{'-withheld' if withheld else ''}",
        at=event.at,
        who=f"policy {rule.name}",
        via=AUTOMATIC,
        kind=AuditKind.POLICY,
        target=event.session_id,
        why=decision.why if isinstance(decision, Withheld) else what,
        request=orjson.dumps(request).decode(),
        result=WITHHELD if withheld else DRY_RUN,
    )


def decided(actions: Iterable[ActionRow]) -> list[Decided]:
    """Return the decisions among audit records, oldest first; what cannot be read is left out."""
    ours = (row for row in actions if row.kind == AuditKind.POLICY and row.result in _RESULTS)
    found = [each for each in map(_decided, ours) if each is not None]
    return sorted(found, key=lambda each: (each.done.at, each.done.episode_id))


@lru_cache(maxsize=8_192)
def _decided(row: ActionRow) -> Decided | None:
    """Return the decision of a record; kept, since every alert and every look at the inbox reads all."""
    match _request(row.body):
        case {
            "rule": str(rule),
            "policy_version": int(version),
            "episode_id": str(episode_id),
            "action": str(action),
            "tokens": int() | float() as tokens,
            "cost": None | int() | float() as cost,
            "records": int(records),
            "partition": int(partition),
            "offset": int(offset),
        }:
            done = Done(rule, episode_id, row.target, row.at, row.result == WITHHELD)
            return Decided(done, version, action, tokens, cost, records, partition, offset, row.why)
    return None


def _request(body: str) -> Mapping[str, Any]:
    try:
        found = orjson.loads(orjson.loads(body)["request"])
    except (KeyError, TypeError, ValueError):
        return {}
    return found if isinstance(found, dict) else {}

"""What policies decided, under which version, and which console carries it out. Pure.

All decisions stand in one partition. Under a live policy a console claims each step before it takes it: the
claim names the newest decision that the console knew. It counts if nothing was decided in between. So of
consoles that decide at the same moment one goes on, all of them know which, and no limit is exceeded. A claim
that nothing came of may be claimed again by another console; the newest that counts has the step.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from enum import StrEnum, unique
from functools import lru_cache
from typing import Any, Final, NamedTuple

import orjson
from eddy_client.protocol import Action, Scope

from streams.console.read_model.place import Fields
from streams.console.read_model.rows import ActionRow
from streams.control.audit import AuditKind, AuditRecord, Result
from streams.control.command import Cause, Command, Issuer, IssuerKind, MalformedError, PolicyRule
from streams.core.domain.event_kind import EventKind
from streams.core.policy.intervention import (
    Breaker,
    Done,
    EpisodeEvent,
    InterventionAct,
    Mode,
    Policy,
    Withheld,
    command_id_of,
)
from streams.core.policy.note import note_of, reason_of
from streams.core.policy.spending import ExcessPhase

#: How an audit record of a policy came about; that of an operator who publishes one has another.
AUTOMATIC: Final = "automatic"
DRY_RUN: Final = "dry_run"
WITHHELD: Final = "withheld"
#: A claim that came too late, or that another console has taken over.
PASSED_ON: Final = "passed_on"

NOTHING_DONE: Final = frozenset({DRY_RUN, WITHHELD, PASSED_ON})
"""Results of decisions of which no agent was told."""

_MINUTE_MS: Final = 60_000


@unique
class Carried(StrEnum):
    """How far a decision was carried out."""

    NOT = "not"
    """It is none to carry out: of a dry run, or held back."""
    CLAIMED = "claimed"
    """A console has it, and has not said that the command is published."""
    ISSUED = "issued"
    FAILED = "failed"


_CARRIED: Final[Mapping[str, Carried]] = {
    "": Carried.CLAIMED,
    Result.ACCEPTED: Carried.ISSUED,
    Result.FAILED: Carried.FAILED,
}


class Decided(NamedTuple):
    """A decision.

    Attributes:
        id: of its audit record.
        done: the rule and its step, episode, session and time, and what a limit opened.
        action: that was asked for.
        command_id: of what is asked for: the same in every console.
        tokens, cost: of the episode, when it was decided.
        partition, offset: place on `decision-logs` of the record that the alert was about.
        why: Why it was decided, in words.
        place: offset of the decision among all decisions.
        carried: how far it was carried out.
        alert: what the alert says of the loop; None of a dry run, and of what an older console wrote.
    """

    id: str
    done: Done
    action: str
    command_id: str
    tokens: float
    cost: float | None
    partition: int
    offset: int
    why: str
    place: int
    carried: Carried = Carried.NOT
    alert: Fields | None = None


def event_of(fields: Fields, task_type: str | None, at: int) -> EpisodeEvent | None:
    """Return an alert as an event that a policy may be about; None if it is of another kind.

    Args:
        fields: The value of an alert.
        task_type: That of its session.
        at: When the broker got it, ms.
    """
    told = as_episode(fields)
    if told is None:
        return None
    return EpisodeEvent(
        episode_id=fields["episode_id"],
        session_id=fields["session_id"],
        agent_id=fields["agent_id"],
        task_type=task_type,
        phase=told["phase"],
        level=told["level"],
        rule=fields["rule"],
        tools=tuple(tool for tool in told["tools"] if tool),
        records=fields["records"],
        tokens=fields["tokens_since_onset"] or 0,
        cost=fields["cost_since_onset"],
        minutes=max(0, fields["last_timestamp"] - fields["first_timestamp"]) / _MINUTE_MS,
        at=at,
        spending=fields["event_type"] == EventKind.OVERSPENDING,
    )


EPISODES: Final = (EventKind.LOOP_EPISODE, EventKind.OVERSPENDING)
"""Kinds of alerts that a rule may be about."""

_PHASES: Final[Mapping[str, str]] = {
    ExcessPhase.OVER: "opened",
    ExcessPhase.STILL_OVER: "still_open",
    ExcessPhase.UNDER: "recovered",
    ExcessPhase.ENDED: "recovered",
}


def as_episode(fields: Fields) -> Fields | None:
    """Return an alert with the fields of an episode; None if no rule can be about its kind.

    >>> as_episode({"event_type": "overspending", "phase": "under"})["phase"]
    'recovered'
    """
    if fields["event_type"] not in EPISODES:
        return None
    if fields["event_type"] == EventKind.LOOP_EPISODE:
        return fields
    phase = _PHASES.get(fields["phase"], "")  # a later version may have more
    return {**fields, "phase": phase, "level": "", "tools": (), "reason": None}


def command_of(decision: InterventionAct, policy: Policy, fields: Fields, now: int) -> Command:
    """Return what a live policy asks an agent for. No word of it was written by an agent, unless it says so.

    Args:
        decision: Decision that the policy made.
        policy: Policy that has decided.
        fields: The value of the alert.
        now: When it is issued, ms.
    """
    do = decision.do
    why = reason_of(fields, quote_tools=do.quote_tools)
    message = do.message or note_of(fields, quote_tools=do.quote_tools)
    return Command(
        command_id=decision.command_id,
        scope=Scope.SESSION,
        action=do.action,
        issued_at=now,
        expires_at=now + do.ttl_ms,
        reason=f"A policy of this installation: {why}.",
        issuer=Issuer(kind=IssuerKind.POLICY, name=f"policy {decision.rule.name}", via=AUTOMATIC),
        session_id=fields["session_id"],
        on_timeout=do.on_timeout if do.action == Action.PAUSE else None,
        message=message if do.action == Action.INJECT_MESSAGE else None,
        cause=Cause(
            event_type=fields["event_type"],
            event_id=fields["event_id"],
            episode_id=fields["episode_id"],
            partition=fields["partition"],
            offset=fields["offset"],
        ),
        policy=PolicyRule(name=decision.rule.name, version=policy.version),
    )


def command_again(claimed: Decided, policy: Policy, now: int) -> Command | None:
    """Return what a claim asks for, by the policy in force; None if that does not ask for it (any more).

    It is made anew, and not taken from the audit: a console signs nothing that others may have written there.

    Args:
        claimed: The decision, whoever has claimed it.
        policy: Policy that is in force.
        now: When it is issued, ms.
    """
    done = claimed.done
    rule = next((each for each in policy.rules if each.name == done.rule), None)
    if policy.mode is not Mode.LIVE or rule is None or not 0 <= done.step < len(rule.do):
        return None
    command_id = command_id_of(rule, done.step, done.episode_id)
    if command_id != claimed.command_id or claimed.alert is None:
        return None
    about = {
        **claimed.alert,
        "session_id": done.session_id,
        "episode_id": done.episode_id,
        "partition": claimed.partition,
        "offset": claimed.offset,
    }
    return command_of(InterventionAct(rule, done.step, command_id), policy, about, now)


class Claim(NamedTuple):
    """Who carries a live decision out.

    Attributes:
        console: Name of the console, new with each start.
        after: place of the newest decision that it knew, -1 if it knew none.
    """

    console: str
    after: int

    @property
    def name(self) -> str:
        """What tells it from others about the same step: a console that lost may claim again."""
        return f"{self.after + 1}-{self.console}"


def audit_of(
    decision: InterventionAct | Withheld,
    event: EpisodeEvent,
    policy: Policy,
    fields: Fields,
    what: str,
    claim: Claim | None = None,
) -> AuditRecord:
    """Return the record of a decision. In a dry run, consoles that decide the same write the same.

    Args:
        decision: Decision that the policy made.
        event: Event that the decision answers.
        policy: Policy that has decided.
        fields: The value of the alert.
        what: What the event says, in words.
        claim: of a live policy, who carries it out.
    """
    rule = decision.rule
    withheld = isinstance(decision, Withheld)
    request = {
        "rule": rule.name,
        "step": decision.step,
        "policy_version": policy.version,
        "live": policy.mode is Mode.LIVE,
        "episode_id": event.episode_id,
        "agent_id": event.agent_id,
        "action": decision.do.action,
        "command_id": decision.command_id,
        "opened": str(decision.opened if isinstance(decision, Withheld) else Breaker.NONE),
        "tokens": event.tokens,
        "cost": event.cost,
        "records": fields["records"],
        "partition": fields["partition"],
        "offset": fields["offset"],
    }
    name = f"{policy.version}-{decision.command_id}{'-withheld' if withheld else ''}"
    result: str | None = WITHHELD if withheld else DRY_RUN
    if claim is not None:
        request["after"] = claim.after
        request["alert"] = {name: fields[name] for name in _OF_ALERT if name in fields}
        name = f"{name}-{claim.name}"
        result = WITHHELD if withheld else None
    return AuditRecord(
        id=name,
        at=event.at,
        who=f"policy {rule.name}",
        via=AUTOMATIC,
        kind=AuditKind.POLICY,
        target=event.session_id,
        why=decision.why if isinstance(decision, Withheld) else what,
        request=orjson.dumps(request).decode(),
        result=result,
    )


def taken_over(record: AuditRecord, claim: Claim) -> AuditRecord:
    """Return the record with which another console claims what nothing has come of."""
    asked = {**_request(record.request), "after": claim.after}
    asked.pop("claimed", None)
    name = f"{asked['policy_version']}-{asked['command_id']}-{claim.name}"
    return replace(record, id=name, request=orjson.dumps(asked).decode(), result=None, result_place=None)


def concluded(record: AuditRecord, result: str, claimed: int, place: str | None = None) -> AuditRecord:
    """Return the record that says how a claim ended; it stays where the claim was.

    Args:
        record: The claim, as it was written.
        result: How the claim has ended.
        claimed: Place of the claim among all decisions.
        place: Where the command stands, if it was published.
    """
    asked = {**_request(record.request), "claimed": claimed}
    return replace(record, request=orjson.dumps(asked).decode(), result=result, result_place=place)


def is_automatic(row: ActionRow) -> bool:
    """Tell whether a policy acted, and no person."""
    return row.kind == AuditKind.POLICY and _fields_of(row.body).get("via") == AUTOMATIC


def decided(actions: Iterable[ActionRow]) -> list[Decided]:
    """Return the decisions that count among audit records, oldest first; what cannot be read is left out."""
    read = (_decided(row) for row in actions if row.kind == AuditKind.POLICY)
    found = [each for each in read if each is not None]
    last = -1
    counting: dict[str, Decided] = {}
    for each, after in sorted(found, key=lambda pair: (pair[0].place, pair[0].id)):
        if after is None:
            counting[each.id] = each
        elif after >= last:
            last = each.place
            counting[each.id if each.done.withheld or each.done.failed else each.command_id] = each
    return list(counting.values())


#: What a claim keeps of its alert: enough to ask the agent for the same again.
_OF_ALERT: Final = ("event_type", "event_id", "rule", "count", "period", "tools", "spent", "limit")

_RESULTS: Final = frozenset({DRY_RUN, WITHHELD, *_CARRIED})


@lru_cache(maxsize=8_192)
def _decided(row: ActionRow) -> tuple[Decided, int | None] | None:
    """Return the decision of a record, and after which a claim of it was made.

    It is kept, since every alert and every look at the inbox reads all.
    """
    asked = _request(_fields_of(row.body).get("request"))
    match asked:
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
        } if row.result in _RESULTS:
            pass
        case _:
            return None
    after, claimed = asked.get("after"), asked.get("claimed")
    live = isinstance(after, int)
    if not live and row.result not in (DRY_RUN, WITHHELD):
        return None
    opened = asked.get("opened") if row.result == WITHHELD else None
    breaker = Breaker(opened) if opened in tuple(Breaker) else Breaker.RULE
    done = Done(
        rule=rule,
        version=version,
        live=live,
        episode_id=episode_id,
        session_id=row.target,
        agent_id=str(asked.get("agent_id") or ""),
        at=row.at,
        step=_whole(asked.get("step")),
        records=records,
        opened=breaker if row.result == WITHHELD else Breaker.NONE,
        failed=live and row.result == Result.FAILED,
    )
    carried = Carried.NOT
    if live and not done.withheld:
        carried = _CARRIED[row.result]
    found = Decided(
        id=row.id,
        done=done,
        action=action,
        command_id=str(asked.get("command_id") or ""),
        tokens=tokens,
        cost=cost,
        partition=partition,
        offset=offset,
        why=row.why,
        place=claimed if isinstance(claimed, int) else row.offset,
        carried=carried,
        alert=_alert(asked.get("alert")),
    )
    if carried is Carried.CLAIMED and not (found.command_id and found.alert is not None and _is_whole(row)):
        return None
    return found, after if live else None


def _whole(value: object) -> int:
    return value if isinstance(value, int) else 0


def _alert(said: Any) -> Fields | None:
    match said:
        case {
            "event_type": str(),
            "event_id": str(),
            "rule": str(),
            "count": int(),
            "period": None | int(),
            "tools": list(tools),
        } if all(tool is None or isinstance(tool, str) for tool in tools):
            return dict(said)
        case {
            "event_type": EventKind.OVERSPENDING,
            "event_id": str(),
            "rule": str(),
            "spent": int() | float(),
            "limit": int() | float(),
        }:
            return dict(said)
    return None


def _is_whole(row: ActionRow) -> bool:
    """Tell whether the record of a claim can be written again with its result."""
    try:
        AuditRecord.of(_fields_of(row.body))
    except MalformedError:
        return False
    return True


def _fields_of(body: str) -> Mapping[str, Any]:
    try:
        found = orjson.loads(body)
    except ValueError:
        return {}
    return found if isinstance(found, dict) else {}


def _request(text: object) -> Mapping[str, Any]:
    try:
        found = orjson.loads(text) if isinstance(text, str) else None
    except ValueError:
        return {}
    return found if isinstance(found, dict) else {}


def open_breakers(decisions: Iterable[Decided], version: int) -> dict[str, str]:
    """Return what stands still under a version, in words, with the limit that did it."""
    found: dict[str, str] = {}
    for each in decisions:
        if each.done.version != version:
            continue
        match each.done.opened:
            case Breaker.ALL:
                found.setdefault("the policy", each.why)
            case Breaker.AGENT:
                found.setdefault(f"agent {each.done.agent_id}", each.why)
            case Breaker.RULE:
                found.setdefault(each.done.rule, each.why)
    return found

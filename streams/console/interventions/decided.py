"""What policies decided, under which version, and what would have come of it in dry run. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from enum import StrEnum
from functools import lru_cache
from typing import Any, Final, NamedTuple

import orjson

from streams.console.read_model.place import Fields
from streams.console.read_model.rows import ActionRow, VersionRow
from streams.console.settings_versions import document_of
from streams.console.whatif import counterfactual
from streams.control.audit import AuditKind, AuditRecord
from streams.core.domain.event_kind import EventKind
from streams.core.domain.topic import Topic
from streams.core.policy.intervention import (
    Done,
    EpisodeEvent,
    InterventionAct,
    Policy,
    Withheld,
)
from streams.core.policy.intervention_document import read


class PolicyVersion(NamedTuple):
    """A document, the policy after it, and why it is ignored; empty if it is followed."""

    row: VersionRow
    after: Policy
    ignored: str


def policy_versions(rows: Iterable[VersionRow]) -> tuple[PolicyVersion, ...]:
    """Return every document on `intervention-policy`, oldest first. A wrong one changes nothing."""
    ours = (row for row in rows if row.topic == Topic.INTERVENTION_POLICY)
    return _followed(tuple(sorted(ours, key=lambda each: each.offset)))


@lru_cache(maxsize=8)
def _followed(rows: tuple[VersionRow, ...]) -> tuple[PolicyVersion, ...]:
    """Return what documents do one after another; kept, since every alert asks for it."""
    found: list[PolicyVersion] = []
    policy = Policy()
    for row in rows:
        parsed = document_of(row, policy.version)
        if isinstance(parsed, str):
            found.append(PolicyVersion(row, policy, parsed))
            continue
        version, document = parsed
        after, problems = read(document, version)
        policy = policy if problems else after
        found.append(PolicyVersion(row, policy, " ".join(problems)))
    return tuple(found)


def in_force(versions: tuple[PolicyVersion, ...]) -> Policy:
    """Return the policy in force, which is off if there is none."""
    return versions[-1].after if versions else Policy()


def next_document(
    before: Policy, given: Mapping[str, Any], version: int, changed: Mapping[str, Any]
) -> tuple[dict[str, Any], tuple[str, ...]]:
    """Return the next document, and what is wrong with it."""
    body = {name: value for name, value in given.items() if name not in ("version", "changed")}
    _, problems = read(body, version)
    return {"version": version, "changed": {**changed, "before": before.version}, **body}, problems


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


RECOVERS_WITHIN: Final = 10
"""Records after which a recovery is no longer one that a pause would only have disturbed."""


_RECOVERED: Final = "recovered"
#: Its session was silent until its state was removed: how it would have continued is not known.
_EXPIRED: Final = "expired"


class Fate(StrEnum):
    """What the session did after a pause that was not."""

    WENT_ON = "went_on"
    """It looped on."""
    RECOVERED = "recovered"
    """It found its way out by itself within a few records: the pause would have been in vain."""
    OPEN = "open"
    """It is too early to say."""
    UNKNOWN = "unknown"
    """The episode is not held any more."""


class PauseOutcome(NamedTuple):
    """A pause that was not, what the session did, and the records, tokens and cost that it took since."""

    decided: Decided
    fate: Fate
    records: int
    tokens: float
    cost: float | None


class Score(NamedTuple):
    """The outcomes of a rule under a version of the policy, together.

    Tokens and cost are those of the sessions that looped on: what a session spent that found its way out was
    no waste. The cost is None if none of them told one.
    """

    rule: str
    version: int
    paused: int
    went_on: int
    recovered: int
    open: int
    withheld: int
    tokens: float
    cost: float | None


def outcomes(decisions: Iterable[Decided], events: Mapping[str, Iterable[Fields]]) -> list[PauseOutcome]:
    """Return what became of each session that would have been paused, newest first.

    Args:
        decisions: Decisions of policies, oldest first.
        events: Those of each episode, in any order.
    """
    found = [
        _outcome(each, events.get(each.done.episode_id, ())) for each in decisions if not each.done.withheld
    ]
    return found[::-1]


def _outcome(decided: Decided, events: Iterable[Fields]) -> PauseOutcome:
    ordered = sorted(
        events, key=lambda each: (each["partition"], each["offset"], each["phase"] == _RECOVERED)
    )
    if not ordered:
        return PauseOutcome(decided, Fate.UNKNOWN, 0, 0, None)
    course: list[Fields] = []
    for event in ordered:
        if (event["partition"], event["offset"]) > (decided.partition, decided.offset):
            course.append(event)
            if event["phase"] == _RECOVERED:
                break  # an episode that is reopened counts its records and tokens from there
    courses = [{"tokens_since_onset": decided.tokens, "cost_since_onset": decided.cost}]
    courses += [{name: each[name] for name in ("tokens_since_onset", "cost_since_onset")} for each in course]
    less = counterfactual(
        [{**each, "tokens_since_onset": each["tokens_since_onset"] or 0} for each in courses]
    )
    records = max(0, course[-1]["records"] - decided.records) if course else 0
    return PauseOutcome(decided, _fate(course, records), records, max(0, less.tokens), less.cost)


def _fate(course: Sequence[Fields], records: int) -> Fate:
    if records > RECOVERS_WITHIN:
        return Fate.WENT_ON
    is_over = bool(course) and course[-1]["phase"] == _RECOVERED and course[-1]["reason"] != _EXPIRED
    return Fate.RECOVERED if is_over else Fate.OPEN


def scores(decisions: Iterable[Decided], found: Iterable[PauseOutcome]) -> list[Score]:
    """Return the score of each rule and version, the newest version first."""
    rows: dict[tuple[int, str], Score] = {}
    for each in decisions:
        key = each.version, each.done.rule
        row = rows.setdefault(key, Score(each.done.rule, each.version, 0, 0, 0, 0, 0, 0, None))
        rows[key] = row._replace(withheld=row.withheld + each.done.withheld)
    for outcome in found:
        key = outcome.decided.version, outcome.decided.done.rule
        row = rows[key]
        rows[key] = row._replace(
            paused=row.paused + 1,
            went_on=row.went_on + (outcome.fate is Fate.WENT_ON),
            recovered=row.recovered + (outcome.fate is Fate.RECOVERED),
            open=row.open + (outcome.fate in (Fate.OPEN, Fate.UNKNOWN)),
            tokens=row.tokens + (outcome.tokens if outcome.fate is Fate.WENT_ON else 0),
            cost=_plus(row.cost, outcome.cost if outcome.fate is Fate.WENT_ON else None),
        )
    return [rows[key] for key in sorted(rows, key=lambda each: (-each[0], each[1]))]


def _plus(cost: float | None, more: float | None) -> float | None:
    return cost if more is None else round((cost or 0.0) + more, 4)


def open_breakers(decisions: Iterable[Decided], version: int) -> dict[str, str]:
    """Return each rule of a version whose breaker is open, with the limit that opened it."""
    found: dict[str, str] = {}
    for each in decisions:
        if each.done.withheld and each.version == version:
            found.setdefault(each.done.rule, each.why)
    return found

"""Lets the policy decide on each alert as it comes, and writes what it decided to the audit."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Iterable, Mapping, Sequence
from enum import StrEnum
from functools import lru_cache
from typing import Any, Final, NamedTuple, Protocol

import orjson

from streams.console.read_model.model import ReadModel
from streams.console.read_model.place import Fields
from streams.console.read_model.rows import ActionRow, VersionRow
from streams.console.settings_versions import document_of
from streams.console.whatif import counterfactual
from streams.control.audit import AuditKind, AuditRecord
from streams.control.publisher import CommandPublisher
from streams.core.domain.event_kind import EventKind
from streams.core.domain.topic import Topic
from streams.core.errors import ConflictError, EddyError
from streams.core.policy.intervention import (
    Done,
    EpisodeEvent,
    InterventionAct,
    Mode,
    Policy,
    PolicyTally,
    Withheld,
    decide,
)
from streams.core.policy.intervention_document import read
from streams.core.settings_document import follows
from streams.kafka.client import Brokers, Stored
from streams.operate.explain.explanation import sentence
from streams.operate.explain.settings_topic import records, write


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


async def held(brokers: Brokers) -> Policy:
    """Return the policy in force by what the brokers hold now: the console's own fold may lag behind."""
    return _in_force(await records(brokers, Topic.INTERVENTION_POLICY))


async def publish(brokers: Brokers, document: Mapping[str, Any]) -> int:
    """Write the document, make sure that it is the one that counts, and return its offset.

    Raises:
        ConflictError: another document of the same version, or a later one, came first.
    """
    offset = await write(brokers, Topic.INTERVENTION_POLICY, document)
    stored = await records(brokers, Topic.INTERVENTION_POLICY)
    before = _in_force(each for each in stored if each.offset < offset).version
    if not follows(document["version"], before):
        raise ConflictError(
            f"Another user published version {before} at the same moment, so yours does not count. "
            "Load the page again, and publish it once more."
        )
    return offset


def _in_force(stored: Iterable[Stored]) -> Policy:
    return in_force(policy_versions(map(_row, stored)))


def _row(stored: Stored) -> VersionRow:
    body = None if stored.value is None else stored.value.decode("utf-8", "replace")
    topic = str(Topic.INTERVENTION_POLICY)
    return VersionRow(topic, stored.offset, stored.timestamp, 0, None, None, None, body)


log = logging.getLogger(__name__)

OLDEST_MS: Final = 60_000
"""An alert that is older by the broker's time is history: neither a replay nor a start ever acts on it."""

_MOST_WAITING: Final = 1_000
_PAUSE_SECONDS: Final = 2.0

#: What has to be known before the first decision: what rules did before, and which of them count.
_READ_FIRST: Final = (Topic.CONSOLE_ACTIONS, Topic.INTERVENTION_POLICY)

#: What an alert raises that is not what its topic promises: others than the job may write there.
_MISFITS: Final = (KeyError, TypeError, ValueError, AttributeError)


class DecisionFeed(Protocol):
    """The part of the feed that decisions wait for."""

    async def caught_up(self, topics: Iterable[Topic]) -> None:
        """Wait until all that stands on some topics by now is folded."""

    async def passed(self, topic: Topic, partition: int, offset: int) -> bool:
        """Return whether a record is folded, after a short wait."""


class Deciding:
    """The policy at work.

    Args:
        model: Read model of the console.
        publisher: Where the audit is written.
        reading: What reads the topics for the model.
        clock: Returns the time in milliseconds since 1970.
    """

    def __init__(
        self, model: ReadModel, publisher: CommandPublisher, reading: DecisionFeed, clock: Callable[[], int]
    ) -> None:
        self._model, self._publisher, self._reading, self._clock = model, publisher, reading, clock
        self._waiting: asyncio.Queue[tuple[Stored, Fields]] = asyncio.Queue(_MOST_WAITING)
        self._written: dict[str, None] = {}

    def on_alert(self, record: Stored, fields: Fields) -> None:
        """Take an alert that was folded, if it is young. One that comes when too many wait is left out."""
        if not self._is_young(record):
            return
        try:
            self._waiting.put_nowait((record, fields))
        except asyncio.QueueFull:
            log.warning("More than %s alerts wait for a policy: one is left out.", _MOST_WAITING)

    async def run(self) -> None:
        """Decide until cancelled. What was decided and published before is read first."""
        await self._know()
        while True:
            record, fields = await self._waiting.get()
            if not self._is_young(record):
                continue
            try:
                await self._decide(record, fields)
            except EddyError as error:
                log.warning("What a policy decided is not in the audit, and so was not done: %s", error)
            except _MISFITS:
                log.warning(
                    "No policy decides on the alert %d:%d: it is not what its topic promises.",
                    record.partition,
                    record.offset,
                )

    def _is_young(self, record: Stored) -> bool:
        # One of the future would stay young for ever, and be decided on each time it is read.
        return abs(self._clock() - record.timestamp) <= OLDEST_MS

    async def _know(self) -> None:
        while True:
            try:
                await self._reading.caught_up(_READ_FIRST)
            except EddyError as error:
                log.warning("%s No policy decides before that.", error)
                await asyncio.sleep(_PAUSE_SECONDS)
            else:
                return

    async def _decide(self, record: Stored, fields: Fields) -> None:
        policy = in_force(policy_versions(self._model.ledger.versions.values()))
        if policy.mode is Mode.OFF:
            return
        case = self._model.cases.get(fields["session_id"])
        event = event_of(fields, None if case is None else case.session.task_type, record.timestamp)
        if event is None:
            return
        before = [
            each.done
            for each in decided(self._model.ledger.actions.values())
            if each.version == policy.version
        ]
        decision = decide(policy, event, PolicyTally(before, self._model.live(self._clock())))
        if decision is None:
            return
        done = audit_of(decision, event, policy, fields, sentence(fields))
        if done.id in self._written:  # and not folded yet
            return
        partition, offset = await self._publisher.audit(done)
        self._written[done.id] = None
        # The next decision has to know of this one.
        await self._reading.passed(Topic.CONSOLE_ACTIONS, partition, offset)
        while len(self._written) > _MOST_WAITING:
            del self._written[next(iter(self._written))]

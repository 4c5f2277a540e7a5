"""Lets the policy decide on each alert, and carries out what a live one decides; publishes versions of it.

Every step is claimed in the audit first. Only the console whose claim counts publishes the command. If it
dies before that, another console claims the step after `LEASE_MS`; if the alert is too old by then, the claim
has failed, and the next alert of the loop leads to another.
"""

from __future__ import annotations

import asyncio
import logging
import secrets
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from typing import Any, Final, Protocol

import orjson

from streams.console.interventions.decided import (
    PASSED_ON,
    Carried,
    Claim,
    Decided,
    audit_of,
    command_again,
    concluded,
    decided,
    event_of,
    taken_over,
)
from streams.console.interventions.versions import in_force, policy_versions
from streams.console.read_model.model import ReadModel
from streams.console.read_model.place import Fields
from streams.console.read_model.rows import VersionRow
from streams.console.read_model.triage import NOT_A_LOOP
from streams.control.audit import AuditRecord, Result
from streams.control.command import Command
from streams.control.publisher import CommandPublisher
from streams.core.domain.topic import Topic
from streams.core.errors import ConfigurationError, ConflictError, EddyError
from streams.core.policy.intervention import (
    EpisodeEvent,
    InterventionAct,
    Mode,
    Policy,
    PolicyTally,
    Withheld,
    decide,
)
from streams.core.settings_document import follows
from streams.kafka.client import Brokers, Stored
from streams.operate.explain.explanation import sentence
from streams.operate.explain.settings_topic import records, write


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
"""An alert whose record is older is history: neither a replay nor a start ever acts on it."""

LEASE_MS: Final = 10_000
"""So long a console has to publish what it has claimed, by its own clock."""

_MOST_WAITING: Final = 1_000
_PAUSE_SECONDS: Final = 2.0
#: How often a console looks for claims of others that nothing came of.
_LOOK_SECONDS: Final = 2.0
#: So long a console waits to see whether its own claim counts; then another one takes it over.
_SEEN_SECONDS: Final = 20.0

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
        publisher: Where the audit and the commands are written.
        reading: What reads the topics for the model.
        clock: Returns the time in milliseconds since 1970.
        name: That of this console, new with each start.
    """

    def __init__(
        self,
        model: ReadModel,
        publisher: CommandPublisher,
        reading: DecisionFeed,
        clock: Callable[[], int],
        name: str | None = None,
    ) -> None:
        self._model, self._publisher, self._reading, self._clock = model, publisher, reading, clock
        self._name = name or secrets.token_hex(4)
        self._waiting: asyncio.Queue[tuple[Stored, Fields]] = asyncio.Queue(_MOST_WAITING)
        self._written: dict[str, None] = {}
        #: When each claim that nothing has come of was seen first, by its id.
        self._pending: dict[str, int] = {}

    def on_alert(self, record: Stored, fields: Fields) -> None:
        """Take an alert that was folded, if it is young. One that comes when too many wait is left out."""
        if not self._is_young(record.timestamp):
            return
        try:
            self._waiting.put_nowait((record, fields))
        except asyncio.QueueFull:
            log.warning("More than %s alerts wait for a policy: one is left out.", _MOST_WAITING)

    async def run(self) -> None:
        """Decide until cancelled. What was decided and published before is read first."""
        await self._know()
        time, looked = asyncio.get_running_loop().time, 0.0
        while True:
            alert: tuple[Stored, Fields] | None = None
            with suppress(TimeoutError):
                async with asyncio.timeout(_LOOK_SECONDS):
                    alert = await self._waiting.get()
            try:
                if alert is not None:
                    await self._on(*alert)
                if time() - looked >= _LOOK_SECONDS:  # not after each of many alerts
                    looked = time()
                    await self._take_over()
            except EddyError as error:
                log.warning("What a policy decided is not in the audit, and so was not done: %s", error)

    async def _on(self, record: Stored, fields: Fields) -> None:
        if not self._is_young(record.timestamp):
            return
        try:
            await self._decide(record, fields)
        except _MISFITS:
            log.warning(
                "No policy decides on the alert %d:%d: it is not what its topic promises.",
                record.partition,
                record.offset,
            )

    def _is_young(self, at: int) -> bool:
        # One of the future would stay young for ever, and be decided on each time it is read.
        return abs(self._clock() - at) <= OLDEST_MS

    async def _know(self) -> None:
        while True:
            try:
                await self._reading.caught_up(_READ_FIRST)
            except EddyError as error:
                log.warning("%s No policy decides before that.", error)
                await asyncio.sleep(_PAUSE_SECONDS)
            else:
                return

    def _policy(self) -> Policy:
        return in_force(policy_versions(self._model.ledger.versions.values()))

    def _decided(self) -> list[Decided]:
        return decided(self._model.ledger.actions.values())

    async def _decide(self, record: Stored, fields: Fields) -> None:
        policy = self._policy()
        if policy.mode is Mode.OFF:
            return
        case = self._model.cases.get(fields["session_id"])
        event = event_of(fields, None if case is None else case.session.task_type, record.timestamp)
        if event is None:
            return
        said = self._model.ledger.triage.get(event.episode_id)
        if said is not None and said.state == NOT_A_LOOP:
            return
        claims = True
        while claims:
            known, policy = self._decided(), self._policy()
            tally = PolicyTally([each.done for each in known], self._model.live(self._clock()))
            decision = decide(policy, event, tally)
            if decision is None:
                return
            if policy.mode is Mode.LIVE:
                claims = not await self._claimed(decision, event, policy, fields, known)
            else:
                claims = False
                await self._note(audit_of(decision, event, policy, fields, sentence(fields)))

    async def _note(self, done: AuditRecord) -> None:
        """Write what a policy in dry run would have done; once."""
        if done.id in self._written:  # and not folded yet
            return
        partition, offset = await self._publisher.audit(done)
        self._written[done.id] = None
        # The next decision has to know of this one.
        await self._reading.passed(Topic.CONSOLE_ACTIONS, partition, offset)
        while len(self._written) > _MOST_WAITING:
            del self._written[next(iter(self._written))]

    async def _claimed(
        self,
        decision: InterventionAct | Withheld,
        event: EpisodeEvent,
        policy: Policy,
        fields: Fields,
        known: list[Decided],
    ) -> bool:
        """Claim a step, and take it if the claim counts; False if something else was decided in between."""
        claim = Claim(self._name, _newest(known))
        record = audit_of(decision, event, policy, fields, sentence(fields), claim)
        return await self._carry_out(record, self._clock())

    async def _carry_out(self, record: AuditRecord, claimed_at: int) -> bool:
        """Write a claim, and issue its command if it counts; False if it does not."""
        partition, offset = await self._publisher.audit(record)
        if not await self._seen(partition, offset):
            return True  # somebody takes it over
        mine = next((each for each in self._decided() if each.id == record.id), None)
        if mine is None:
            await self._publisher.audit(concluded(record, PASSED_ON, offset))
            return False
        if mine.done.withheld:
            done = mine.done
            log.warning("The rule %s is held back, about %s: %s", done.rule, done.session_id, mine.why)
            return True
        command = command_again(mine, self._policy(), self._clock())
        # Without one, the policy has changed since; after its lease, another console may have the claim.
        if command is not None and self._clock() - claimed_at < LEASE_MS:
            await self._issue(record, mine, command)
        return True

    async def _seen(self, partition: int, offset: int) -> bool:
        """Wait until what was written is folded."""
        try:
            async with asyncio.timeout(_SEEN_SECONDS):
                while not await self._reading.passed(Topic.CONSOLE_ACTIONS, partition, offset):
                    pass
        except TimeoutError:
            return False
        return True

    async def _issue(self, record: AuditRecord, mine: Decided, command: Command) -> None:
        try:
            [(partition, offset)] = await self._publisher.issue([command])
        except ConfigurationError as error:
            log.warning("A policy could not ask %s: %s", mine.done.session_id, error)
            await self._publisher.audit(concluded(record, Result.FAILED, mine.place))
            return
        at = f"{Topic.SESSION_COMMANDS}/{partition}/{offset}"
        await self._publisher.audit(concluded(record, Result.ACCEPTED, mine.place, at))

    async def _take_over(self) -> None:
        """Carry out what another console has claimed, and nothing came of."""
        waiting = {each.id: each for each in self._decided() if each.carried is Carried.CLAIMED}
        now = self._clock()
        self._pending = {name: self._pending.get(name, now) for name in waiting}
        for name, each in waiting.items():
            if now - self._pending[name] < LEASE_MS:
                continue
            await self._reading.caught_up((Topic.CONSOLE_ACTIONS, Topic.SESSION_COMMANDS))
            row = self._model.ledger.actions.get((name,))
            if row is None or row.result:
                continue  # it was only slow
            record = AuditRecord.of(orjson.loads(row.body))
            case = self._model.cases.get(each.done.session_id)
            issued = None if case is None else case.commands.get(each.command_id)
            if issued is not None:
                at = f"{Topic.SESSION_COMMANDS}/{issued.partition}/{issued.offset}"
                await self._publisher.audit(concluded(record, Result.ACCEPTED, each.place, at))
            elif not self._is_young(each.done.at) or command_again(each, self._policy(), now) is None:
                await self._publisher.audit(concluded(record, Result.FAILED, each.place))
            else:
                claim = Claim(self._name, _newest(self._decided()))
                await self._carry_out(taken_over(record, claim), now)


def _newest(known: Iterable[Decided]) -> int:
    """Return the place of the newest live decision, -1 without any."""
    return max((each.place for each in known if each.done.live), default=-1)

"""Lets the policy decide on each alert and writes that to the audit; publishes versions of the policy."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final, Protocol

from streams.console.interventions.decided import (
    audit_of,
    decided,
    event_of,
    in_force,
    policy_versions,
)
from streams.console.read_model.model import ReadModel
from streams.console.read_model.place import Fields
from streams.console.read_model.rows import VersionRow
from streams.control.publisher import CommandPublisher
from streams.core.domain.topic import Topic
from streams.core.errors import ConflictError, EddyError
from streams.core.policy.intervention import (
    Mode,
    Policy,
    PolicyTally,
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

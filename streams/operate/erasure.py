"""What there is of a session that can be deleted, who is to be forgotten, and what stays for how long.

A worker carries an order out (`streams.core.domain.erasure`): it alone knows which records came before. Here
is what finds the sessions, sends the orders and sees them carried out.

    find      the sessions' changelog, the compacted topics, alerts, labels and dead letters, read once
    order     a record of decision-logs for each session and partition. Of a session that was named to every
              partition: what is known of it may not show, such as a state that is not written yet
    confirm   the tombstones that the workers write to topology name the order
    remains   the topics that keep records by time: nothing deletes a single record of those
"""

from __future__ import annotations

import asyncio
import logging
import re
from collections.abc import Callable, Mapping
from contextlib import aclosing
from dataclasses import dataclass, field
from typing import Any, Final, NamedTuple, TypeAlias

import orjson

from schemas.codec import Codec, Decoder, UndecodableError
from streams.control.command import MalformedError
from streams.control.label import Label
from streams.core.domain.erasure import (
    ERASED_FROM,
    confirmed_by,
    order_in,
    order_record,
    place_in,
    session_digest,
)
from streams.core.domain.session import DAMAGE, Session
from streams.core.domain.text.digest import bounded
from streams.core.domain.topic import Topic
from streams.core.errors import ConfigurationError, InfrastructureError, StateError
from streams.core.policy.activity import activity_of
from streams.kafka.client import Brokers
from streams.kafka.stored import Stored
from streams.operate.retention import TopicRemainder, remainders
from streams.worker.options import changelog_topic, repartition_topic
from streams.worker.state.changelog import decode_session, is_stub, session_id_of
from topics.plan import ActualTopic

log = logging.getLogger(__name__)

TOGETHER: Final = 200
"""Sessions that are forgotten under one record of the audit."""

_ALERTS: Final = (Topic.SESSION_ALERTS, Topic.ENTROPY_ALERTS)
"""Topics that name sessions for longer than the compacted ones do."""

KEEPING: Final = (
    Topic.DECISION_LOGS,
    Topic.ENRICHED,
    Topic.ENTROPY_ALERTS,
    Topic.SESSION_ALERTS,
    Topic.SHADOW_DIFFERENCES,
    Topic.DEAD_LETTERS,
    Topic.SESSION_COMMANDS,
    Topic.SESSION_COMMAND_ACKS,
    Topic.CONSOLE_ACTIONS,
    Topic.ALERT_DEAD_LETTERS,
    Topic.NOTIFY_STATE,
    Topic.REPARTITION,
    Topic.OTLP_SPANS,
    Topic.SPAN_DEAD_LETTERS,
)
"""Topics with records of sessions that go when their time is over, and not before."""

#: No record of Eddy's has such an id: a key that is no text, of another program.
_SURROGATE: Final = re.compile("[\ud800-\udfff]")


@dataclass(slots=True)
class SessionTraces:
    """What was found of a session.

    Attributes:
        session_id: Id of the session.
        partitions: Those of decision-logs that something of it was found of.
        agents: Agents that it is of.
        last_ms: When its last record was, as far as is known, ms since 1970.
        found_on: How many entries stand on each topic that was looked at.
        labels: Subjects of the labels about it.
        letters: Partition and offset of its dead letters, by their key.
    """

    session_id: str
    partitions: set[int] = field(default_factory=set)
    agents: set[str] = field(default_factory=set)
    last_ms: int = 0
    found_on: dict[str, int] = field(default_factory=dict)
    labels: list[str] = field(default_factory=list)
    letters: list[tuple[int, int]] = field(default_factory=list)

    def stands_on(self, topic: str) -> None:
        """Count an entry."""
        self.found_on[topic] = self.found_on.get(topic, 0) + 1

    @property
    def digest(self) -> str:
        """What the audit calls it: whoever knows the session can tell that it was forgotten, nobody else."""
        return session_digest(self.session_id)


class ErasureChoice(NamedTuple):
    """Which sessions are to be forgotten: by name, or those that are of an agent and older than a time.

    Attributes:
        sessions: Ids that were named.
        agent: Id of an agent.
        before_ms: Sessions without a record from then on, ms since 1970.
    """

    sessions: frozenset[str] = frozenset()
    agent: str | None = None
    before_ms: int | None = None

    def has(self, traces: SessionTraces) -> bool:
        """Tell whether a session is one of them.

        >>> ErasureChoice(agent="a").has(SessionTraces("s-1", agents={"a"}))
        True
        """
        if self.sessions:
            return traces.session_id in self.sessions
        if self.agent is not None and traces.agents.isdisjoint({self.agent, bounded(self.agent)}):
            return False
        return self.before_ms is None or 0 < traces.last_ms < self.before_ms


class FoundSessions(NamedTuple):
    """What was found, and how many entries could not be read that may be about sessions, too."""

    sessions: list[SessionTraces]
    unreadable: int


Orders: TypeAlias = Mapping[str, Mapping[int, bool]]
"""The partitions that the order about each session goes to, and whether something of it was found there."""


class ErasureSurvey:
    """What the topics say, record by record.

    Attributes:
        known: Sessions that were found, by their ids.
        unreadable: Entries that may be about sessions, and cannot be read.
    """

    def __init__(self, choice: ErasureChoice) -> None:
        self._choice = choice
        self.known: dict[str, SessionTraces] = {}
        self.unreadable = 0

    def of(self, session_id: str) -> SessionTraces | None:
        """Return what is known of a session; None where it was not named, or where there can be none."""
        if self._choice.sessions and session_id not in self._choice.sessions:
            return None
        if not session_id or _SURROGATE.search(session_id):
            return None
        traces = self.known.get(session_id)
        if traces is None:
            traces = self.known[session_id] = SessionTraces(session_id)
        return traces

    def chosen(self) -> dict[str, SessionTraces]:
        """Return the sessions that are chosen, by their ids; named ones also if nothing is known of them."""
        for session_id in self._choice.sessions:
            self.of(session_id)
        return {name: each for name, each in self.known.items() if self._choice.has(each)}

    def state(self, topic: str, partition: int, entries: Mapping[str, Stored]) -> None:
        """Take in the states of a partition of the changelog."""
        for session_id, stored in entries.items():
            # The stub of a session that ended holds its id alone, and goes by itself.
            if stored.value is None or is_stub(stored.value) or (traces := self.of(session_id)) is None:
                continue
            traces.stands_on(topic)
            traces.partitions.add(partition)
            try:
                session = decode_session(stored.value)
            except StateError:
                self.unreadable += 1
                continue
            traces.agents |= _agents(session)
            traces.last_ms = max(traces.last_ms, session.latest, stored.timestamp)

    def event(self, topic: str, stored: Stored, fields: Mapping[str, Any] | None) -> None:
        """Take in an event of a session; its fields are None where they cannot be read."""
        traces = self.of(_text(stored.key))
        if traces is None:
            return
        traces.stands_on(topic)
        fields = {} if fields is None else fields
        partition, said = fields.get("partition"), fields.get("timestamp")
        # That of the topic may be another one: it may have fewer.
        traces.partitions.add(partition if isinstance(partition, int) else stored.partition)
        if isinstance(agent := fields.get("agent_id"), str):
            traces.agents.add(agent)
        traces.last_ms = max(traces.last_ms, said if isinstance(said, int) else 0, stored.timestamp)

    def label(self, topic: str, stored: Stored) -> None:
        """Take in what a person said of a session: when they did is no sign of its age."""
        try:
            label = Label.of(orjson.loads(stored.value or b""))
        except (ValueError, MalformedError, AttributeError):
            self.unreadable += 1
            return
        traces = self.of(label.session_id)
        if traces is not None:
            traces.stands_on(topic)
            traces.labels.append(label.subject)
            if label.agent_id is not None:
                traces.agents.add(label.agent_id)


def _agents(session: Session) -> set[str]:
    """Return the agents of a session by the keys that it contributes under, and the last one."""
    try:
        seen = activity_of(session.states).seen
        named = {key.removeprefix("agent/") for key in seen if not key.startswith("tool/")}
        return named | ({session.agent_id} if session.agent_id else set())
    except DAMAGE:
        return {session.agent_id}


def _text(key: bytes | None) -> str:
    return (key or b"").decode("utf-8", "surrogateescape")


class Eraser:
    """Finds sessions and has them forgotten.

    Args:
        brokers: Connected by whoever asks.
        codec: Reads the compacted topics.
        job: The workers that have the sessions: prefix of the topics and application id.
    """

    def __init__(self, brokers: Brokers, codec: Codec, job: str) -> None:
        self._brokers = brokers
        self._codec = codec
        self.changelog = changelog_topic(job)
        self._repartition = repartition_topic(job)

    async def find(self, choice: ErasureChoice) -> FoundSessions:
        """Return what is found of the sessions that are chosen; named ones always.

        Raises:
            ConfigurationError: there is no changelog of sessions under this application id.
            InfrastructureError: the brokers do not answer.
        """
        survey = ErasureSurvey(choice)
        topics = (*ERASED_FROM, *_ALERTS, Topic.SESSION_LABELS, Topic.DEAD_LETTERS)
        names = {topic: self._brokers.topic(topic) for topic in topics}
        there = await self._brokers.partition_counts([self.changelog, *names.values()])
        if self.changelog not in there:
            raise ConfigurationError(
                f"There is no topic {self.changelog}: no worker has run under this EDDY_APPLICATION_ID. "
                "Set it as the workers have it."
            )
        for partition in range(there[self.changelog]):
            survey.state(self.changelog, partition, await self._states(partition))
        for topic in (*ERASED_FROM, *_ALERTS):
            if names[topic] in there:
                await self._events(names[topic], self._codec.decoder(f"{topic}-value"), survey)
        if (labels := names[Topic.SESSION_LABELS]) in there:
            for stored in (await self._newest(labels)).values():
                survey.label(labels, stored)
        found = survey.chosen()
        if found and names[Topic.DEAD_LETTERS] in there:
            await self._letters(names[Topic.DEAD_LETTERS], found)
        return FoundSessions(sorted(found.values(), key=lambda each: each.session_id), survey.unreadable)

    async def _letters(self, topic: str, found: Mapping[str, SessionTraces]) -> None:
        async with aclosing(self._brokers.read(topic)) as records:
            async for stored in records:
                if (traces := found.get(_text(stored.key))) is not None:
                    traces.letters.append((stored.partition, stored.offset))

    async def _states(self, partition: int) -> dict[str, Stored]:
        newest: dict[str, Stored] = {}
        async with aclosing(self._brokers.read(self.changelog, [partition])) as records:
            async for stored in records:
                if stored.key is not None and (name := session_id_of(stored.key)) is not None:
                    newest[name] = stored
        return newest

    async def _newest(self, topic: str) -> dict[bytes, Stored]:
        """Return the newest record of each key that has a value."""
        newest: dict[bytes, Stored] = {}
        async with aclosing(self._brokers.read(topic)) as records:
            async for stored in records:
                if stored.value is None:
                    newest.pop(stored.key or b"", None)
                else:
                    newest[stored.key or b""] = stored
        return newest

    async def _events(self, topic: str, decoder: Decoder, survey: ErasureSurvey) -> None:
        for stored in (await self._newest(topic)).values():
            fields: Mapping[str, Any] | None = None
            try:
                await decoder.prepare([(stored.value, stored.headers)])
                fields = decoder.decode(stored.value, stored.headers)
            except UndecodableError:
                survey.unreadable += 1
            survey.event(topic, stored, fields)

    async def watch(self) -> dict[int, int]:
        """Return where topology ends, to be asked for before orders are sent.

        Raises:
            ConfigurationError: there is no such topic.
            InfrastructureError: the brokers do not answer.
        """
        return await self._brokers.ends(self._brokers.topic(Topic.TOPOLOGY))

    async def partitions(self) -> range:
        """Return the partitions of decision-logs.

        Raises:
            ConfigurationError: there is no such topic.
        """
        name = self._brokers.topic(Topic.DECISION_LOGS)
        counts = await self._brokers.partition_counts([name])
        if name not in counts:
            raise ConfigurationError(f"There is no topic {name}. Check the name and the brokers.")
        return range(counts[name])

    async def order(self, orders: Orders, order: str, now_ms: int) -> None:
        """Send the orders to forget sessions; a repeat does no harm.

        Raises:
            InfrastructureError: the brokers do not take them. Some may be there.
        """
        records = [
            (partition, order_record(session_id, order, now_ms, if_held=not is_found))
            for session_id, partitions in orders.items()
            for partition, is_found in partitions.items()
        ]
        await self._brokers.write(self._brokers.topic(Topic.DECISION_LOGS), records)

    async def confirmed(
        self,
        orders: Orders,
        order: str,
        ends: Mapping[int, int],
        wait_s: float,
        told: Callable[[int], None],
    ) -> frozenset[str]:
        """Return the sessions of which workers say that the order is carried out in every partition.

        Args:
            orders: Those that were sent.
            order: The name of the order.
            ends: Where topology ended before.
            wait_s: How long to wait after the last word of a worker.
            told: Called with the number of sessions that are confirmed.
        """
        topic = self._brokers.topic(Topic.TOPOLOGY)
        owed = {session_id: set(partitions) for session_id, partitions in orders.items()}
        tail = self._brokers.tail({(topic, partition): end for partition, end in ends.items()})
        try:
            async with asyncio.timeout(wait_s) as limit:
                async for batch in tail:
                    settled = [settles(owed, order.encode(), stored) for _, stored in batch]
                    if any(settled):
                        limit.reschedule(asyncio.get_running_loop().time() + wait_s)
                    done = sum(not left for left in owed.values())
                    told(done)
                    if done == len(owed):
                        break
        except TimeoutError:
            pass  # who is not among the confirmed is told of
        finally:
            await tail.aclose()
        return frozenset(session_id for session_id, left in owed.items() if not left)

    async def remains(self, now_ms: int) -> list[TopicRemainder] | None:
        """Return what keeps records of sessions beyond an order, and for how long at the latest.

        None where the brokers do not tell.
        """
        topic = self._brokers.topic
        kept = [self._repartition if each is Topic.REPARTITION else topic(each) for each in KEEPING]
        compacted = [*map(topic, (*ERASED_FROM, Topic.SESSION_LABELS)), self.changelog]
        try:
            described = await self._brokers.describe([*kept, *compacted])
            shown = {each.name for each in described}
            described += [ActualTopic(name, 0, 0, {}) for name in (*kept, *compacted) if name not in shown]
        except InfrastructureError as error:
            log.info("%s", error)
            return None
        return list(remainders(described, frozenset(compacted), now_ms))


def settles(owed: Mapping[str, set[int]], order: bytes, stored: Stored) -> bool:
    """Take note of a tombstone; tell whether it follows from one of the orders."""
    left, place = owed.get(_text(confirmed_by(stored))), place_in(stored.headers)
    if left is None or place is None or order_in(stored.headers) != order:
        return False
    left.discard(place[0])
    return True

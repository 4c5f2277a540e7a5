"""What happens to a run of contributions: add each to its aggregate, publish the aggregates that changed.

Bytes in, bytes out, and the changed aggregates; no Kafka and no clock. An aggregate is published once per
run, however many of the run's records changed it. Exchanges are not published; each hand-over that completes
the rounds of a level leads to its alerts, wherever a run is cut. So does each session that has used far more
than its kind takes.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import Any, NamedTuple, Protocol

import orjson

from schemas.codec import Codec
from streams.core.conclusion import handover_event, overspending_event
from streams.core.domain.aggregates.agent_health import AgentHealth
from streams.core.domain.aggregates.contribution import Contribution
from streams.core.domain.aggregates.exchange import Exchanges, Handed, slot_of
from streams.core.domain.aggregates.task_profile import Completion, Outlay, TaskNeeds
from streams.core.domain.outcome import Event
from streams.core.domain.record import Outgoing, Unreadable
from streams.core.domain.run import Run
from streams.core.domain.topic import AGGREGATES, Topic
from streams.core.errors import StateError
from streams.worker.cloud_event import CloudEvents
from streams.worker.contribution_record import read

Aggregate = AgentHealth | TaskNeeds | Exchanges


_HEALTH, _TASK, _EXCHANGES = "h", "t", "x"


class Aggregates(Protocol):
    """The aggregates of the run's partition, by name."""

    def get(self, name: str) -> Aggregate | None:
        """Return the aggregate, None when there is none."""

    def put(self, value: Aggregate, name: str) -> None:
        """Set the aggregate."""


class RunContribution(NamedTuple):
    """One contribution of a run: the name of its aggregate, what it adds, when it was sent (ms)."""

    name: str
    adds: Contribution | Completion | Outlay | Handed
    timestamp: int


@dataclass(slots=True)
class Tallied:
    """What a run of contributions led to.

    Attributes:
        outputs: the aggregates that changed, by topic.
        alerts: alerts about sessions, by the partition of the input that the session is in.
        events: how many events of each type there are.
    """

    outputs: dict[str, list[Outgoing]] = field(default_factory=dict)
    alerts: dict[int, list[Outgoing]] = field(default_factory=dict)
    events: Counter[str] = field(default_factory=Counter)
    counted: int = 0
    repeated: int = 0
    """Contributions that had been counted before."""


def parts(run: Run) -> list[RunContribution]:
    """Return the contributions of a run.

    Raises:
        StateError: one of them cannot be read.
    """
    found = []
    for message in run.messages:
        if isinstance(message, Unreadable):
            raise StateError(
                f"The record at offset {message.offset} of {run.topic} cannot be read: {message.detail}. It "
                "holds what sessions contribute to the views across them: it is not skipped. Eddy alone may "
                "write to this topic: check its ACLs, and the disks of the brokers. To continue, start under "
                "another EDDY_APPLICATION_ID."
            )
        adds = read(message)
        found.append(RunContribution(_name(adds), adds, message.timestamp))
    return found


def _name(adds: Contribution | Completion | Outlay | Handed) -> str:
    match adds:
        case Contribution():
            return _HEALTH + adds.key
        case Completion() | Outlay():
            return _TASK + adds.task_type
        case Handed():
            return _EXCHANGES + slot_of(adds.key)


class Aggregation:
    """The fold of a run of contributions, with the codec and the names it needs.

    Args:
        codec: How values are written.
        group: The consumer group, named on alerts.
        topic_prefix: Before the names of the topics, where alerts say them.
    """

    def __init__(self, codec: Codec, *, group: str, topic_prefix: str = "") -> None:
        encoders = {topic: codec.encoder(f"{topic}-value") for topic in AGGREGATES}
        self._outputs = {
            topic: (encoder.encode, list(encoder.headers)) for topic, encoder in encoders.items()
        }
        alerts = codec.encoder(f"{Topic.SESSION_ALERTS}-value")
        self._alert = alerts.encode
        self._cloud_events = CloudEvents.of_session_alerts(group, topic_prefix, list(alerts.headers))

    def fold(self, run: list[RunContribution], aggregates: Aggregates) -> Tallied:
        """Add the contributions of a run, in their order, to the aggregates."""
        tallied = Tallied()
        changed: dict[str, int] = {}
        for name, adds, timestamp in run:
            before = aggregates.get(name)
            after: Aggregate
            if isinstance(adds, Contribution):
                health = AgentHealth() if before is None else before
                assert isinstance(health, AgentHealth)
                after = health.plus(adds)
            elif isinstance(adds, Handed):
                exchanges = Exchanges() if before is None else before
                assert isinstance(exchanges, Exchanges)
                after, alerts = exchanges.plus(adds)
                for alert in alerts:
                    self._add_alert(tallied, handover_event(alert), timestamp)
            elif isinstance(adds, Outlay):
                needs = TaskNeeds() if before is None else before
                assert isinstance(needs, TaskNeeds)
                after, excess = needs.compared(adds)
                if excess is not None:
                    self._add_alert(tallied, overspending_event(excess), timestamp)
            else:
                needs = TaskNeeds() if before is None else before
                assert isinstance(needs, TaskNeeds)
                after = needs.plus(adds)
            if after is before:
                tallied.repeated += 1
                continue
            tallied.counted += 1
            aggregates.put(after, name)
            if not isinstance(adds, Handed | Outlay):
                changed[name] = timestamp
        for name, timestamp in changed.items():
            aggregate = aggregates.get(name)
            assert isinstance(aggregate, AgentHealth | TaskNeeds)
            topic, record = self._published(aggregate, name, timestamp)
            tallied.outputs.setdefault(topic, []).append(record)
        return tallied

    def _add_alert(self, tallied: Tallied, alert: Event, timestamp: int) -> None:
        fields = alert.fields
        headers = self._cloud_events.headers(fields)
        record = Outgoing(fields["session_id"].encode(), self._alert(fields), timestamp, headers)
        tallied.alerts.setdefault(fields["partition"], []).append(record)
        tallied.events[fields["event_type"]] += 1

    def _published(
        self, aggregate: AgentHealth | TaskNeeds, name: str, timestamp: int
    ) -> tuple[str, Outgoing]:
        topic = Topic.AGENT_HEALTH if isinstance(aggregate, AgentHealth) else Topic.TASK_PROFILES
        encode, headers = self._outputs[topic]
        key = name[1:]
        return topic, Outgoing(key.encode(), encode(aggregate.report(key)), timestamp, headers)


def encode_aggregate(aggregate: Aggregate) -> bytes:
    """Return the bytes an aggregate is stored as; equal aggregates give equal bytes."""
    match aggregate:
        case AgentHealth():
            kind = _HEALTH
        case TaskNeeds():
            kind = _TASK
        case Exchanges():
            kind = _EXCHANGES
    return orjson.dumps([kind, *aggregate.snapshot()])


def decode_aggregate(stored: bytes) -> Aggregate:
    """Return the aggregate that `encode_aggregate` stored.

    Raises:
        ValueError, TypeError: the bytes are of a newer version, or damaged.
    """
    content: Any = orjson.loads(stored)
    match content:
        case ["h", *snapshot]:
            return AgentHealth.restore(snapshot)
        case ["t", *snapshot]:
            return TaskNeeds.restore(snapshot)
        case ["x", *snapshot]:
            return Exchanges.restore(snapshot)
        case _:
            raise ValueError("not an aggregate")

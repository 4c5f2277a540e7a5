"""What the engine is built with, in one value."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from streams.core.domain.topic import AGGREGATES as AGGREGATE_TOPICS
from streams.core.domain.topic import OUTPUTS, SETTINGS, Topic
from streams.kafka.connection import Connection
from streams.worker.state.store import StoreOptions


@dataclass(frozen=True, slots=True)
class TransportOptions:
    """What Faust's settings do not reach."""

    run_max_records: int = 500
    run_max_bytes: int = 1 << 20
    fetch_max_wait_ms: int = 50
    """How long the broker may hold a fetch that finds nothing. Faust's own 1,500 ms costs 400 ms of "
    "latency."""
    commits_in_transactions: bool = False
    """Whether epochs commit the offsets themselves."""
    paced: Mapping[str, float] = field(default_factory=dict)
    """Topics that are read only so often, with the seconds in between."""
    producer: Mapping[str, Any] = field(default_factory=dict)
    """Further keyword arguments of aiokafka's producer."""
    consumer: Mapping[str, Any] = field(default_factory=dict)
    """Further keyword arguments of aiokafka's consumer."""


#: Names of the tables; part of their changelog topics' names.
SESSIONS, AGGREGATES, TRACES = "sessions", "aggregates", "traces"


@dataclass(frozen=True, slots=True)
class Flow:
    """What an app reads and writes.

    Attributes:
        tables: by source, the name of the table that its runs change.
        settings: what is read besides.
        outputs: what is written, besides the sources among it and the changelogs.
    """

    tables: Mapping[Topic, str]
    settings: tuple[Topic, ...] = ()
    outputs: tuple[Topic, ...] = ()


#: The flow of the job itself.
JOB_FLOW = Flow(
    tables={Topic.DECISION_LOGS: SESSIONS, Topic.REPARTITION: AGGREGATES},
    settings=SETTINGS,
    outputs=(*OUTPUTS, *AGGREGATE_TOPICS, Topic.DEAD_LETTERS),
)

#: The flow of the bridge.
BRIDGE_FLOW = Flow(tables={Topic.OTLP_SPANS: TRACES}, outputs=(Topic.DECISION_LOGS, Topic.SPAN_DEAD_LETTERS))


@dataclass(frozen=True, slots=True)
class TransactionOptions:
    """The times of exactly once, in seconds. A worker gives up a transaction before the broker does."""

    within_s: float
    timeout_s: float


@dataclass(frozen=True, slots=True)
class EngineOptions:
    """Names, addresses and sizes."""

    application_id: str
    """The app's name: its consumer group, and the beginning of its internal topics."""
    job: str
    """The name of the job that the app belongs to; that of the app itself where it is the job."""
    flow: Flow
    connection: Connection
    directory: Path
    """The directory of this worker's local state."""
    transport: TransportOptions
    store: StoreOptions
    cached_sessions: int
    """Decoded sessions kept in memory at most."""
    checkpoint_s: float
    """How long a changed session stays unwritten, about; 0 writes it with its run."""
    lane_max_runs: int
    aggregate_pause_s: float
    """Between two epochs of a partition of the aggregates, while not much waits."""
    standby_replicas: int
    """Other workers that keep a partition's state warm."""
    session_timeout_s: float
    """After this silence the group considers a worker dead."""
    rebalance_timeout_s: float
    """A member that has not joined again by then is out of the group."""
    stub_rest_s: float
    """The stub of an ended session stays at least this long."""
    housekeeping_interval_s: float
    """Between two searches of a partition for sessions that are to be removed; 0 removes none."""
    transactions: TransactionOptions | None
    """None: at least once."""
    faust: Mapping[str, Any]
    """Settings of Faust, as `faust.App` takes them."""

    def topic(self, topic: Topic) -> str:
        """Return how a topic is called on the brokers; an internal one bears the job's name."""
        if topic is Topic.REPARTITION:
            return repartition_topic(self.job)
        return self.connection.topic(topic)

    def changelogs(self) -> dict[str, str]:
        """Return the topics whose runs change tables, each with the changelog of its table."""
        return {
            self.topic(source): changelog_topic(self.application_id, table)
            for source, table in self.flow.tables.items()
        }

    def internal(self) -> list[str]:
        """Return the topics that hold the app's state, or are on the way to it."""
        own = [self.topic(source) for source in self.flow.tables if source is Topic.REPARTITION]
        return [*own, *self.changelogs().values()]

    def written(self) -> list[str]:
        """Return every topic that is written to."""
        return [*map(self.topic, self.flow.outputs), *self.internal()]


def changelog_topic(application_id: str, table: str = SESSIONS) -> str:
    """Return the name Faust gives the changelog of a table.

    >>> changelog_topic("eddy")
    'eddy-sessions-changelog'
    """
    return f"{application_id}-{table}-changelog"


def repartition_topic(application_id: str) -> str:
    """Return the topic that brings contributions to the aggregates.

    >>> repartition_topic("eddy")
    'eddy-aggregates-repartition'
    """
    return f"{application_id}-{AGGREGATES}-repartition"

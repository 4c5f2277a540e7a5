"""What the app of the job is made of: its tables, lanes and epochs."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from functools import partial
from typing import NamedTuple

from faust.types import AppT

from streams.core.domain.run import Run
from streams.core.domain.session import Session
from streams.core.domain.topic import AGGREGATES as AGGREGATE_TOPICS
from streams.core.domain.topic import Topic
from streams.core.errors import DamagedStateError
from streams.kafka.settings_feed import ConfigFeed
from streams.worker.aggregates_epoch import AGGREGATES_FORMAT, AggregatesEpoch
from streams.worker.aggregation import Aggregate, Aggregation
from streams.worker.batch import Job
from streams.worker.crash_point import crash_point
from streams.worker.delivery.guarantee import Guarantee
from streams.worker.effects import Effects
from streams.worker.epoch import PartitionOffsets, SessionsEpoch
from streams.worker.lanes import Lanes, Process
from streams.worker.metrics import JobMetrics
from streams.worker.options import AGGREGATES, SESSIONS, EngineOptions
from streams.worker.state.table import SessionTable, StateTable

#: Contributions of an epoch of the aggregates at most, where the runs of decisions are not larger anyway.
_TOGETHER = 5_000

#: So long a lane waits for others to begin with them.
_PATIENCE_S = 0.05

#: Decoded aggregates kept in memory at most, up to 50 kB each.
_CACHED_AGGREGATES = 5_000


class JobTables(NamedTuple):
    """The tables of the job."""

    sessions: SessionTable
    aggregates: StateTable[Aggregate]


def job_tables(app: AppT, options: EngineOptions, on_set_aside: Callable[[str], None]) -> JobTables:
    """Return the tables of an app.

    Args:
        app: The Faust app that the tables belong to.
        options: Directories of the databases, and sizes of their caches.
        on_set_aside: Called with the name of a table when one of its databases is damaged and set aside.
    """
    sessions = SessionTable(
        app,
        name=SESSIONS,
        source=options.topic(Topic.DECISION_LOGS),
        directory=options.directory / SESSIONS,
        options=options.store,
        cached=options.cached_sessions,
        on_set_aside=on_set_aside,
    )
    aggregates = StateTable(
        app,
        name=AGGREGATES,
        form=AGGREGATES_FORMAT,
        directory=options.directory / AGGREGATES,
        options=options.store,
        cached=_CACHED_AGGREGATES,
        on_set_aside=on_set_aside,
    )
    return JobTables(sessions, aggregates)


def job_lanes(
    options: EngineOptions,
    process: Process,
    crash: Callable[[BaseException], Awaitable[None]],
    damaged: Callable[[DamagedStateError], None],
) -> Mapping[str, Lanes]:
    """Return the lanes of the runs that change each table, by its name.

    Args:
        options: Sizes of runs and of the lanes' queues.
        process: Carries a run out.
        crash: Ends the worker with the error of an epoch.
        damaged: Called when a run meets damaged state.
    """
    size = options.transport
    lanes = partial(
        Lanes, process, crash, damaged=damaged, max_runs=options.lane_max_runs, max_bytes=size.run_max_bytes
    )
    return {
        SESSIONS: lanes(max_records=size.run_max_records, patience_s=_PATIENCE_S),
        AGGREGATES: lanes(
            max_records=max(_TOGETHER, size.run_max_records),
            pause_s=options.aggregate_pause_s,
            patience_s=_PATIENCE_S,
            on_crash_point=crash_point(scope=AGGREGATES),
        ),
    }


class Folds(NamedTuple):
    """What is done with the runs of the two topics that feed tables."""

    job: Job
    aggregation: Aggregation


class WorkerParts(NamedTuple):
    """What the epochs of a worker share."""

    options: EngineOptions
    tables: JobTables
    guarantee: Guarantee
    feed: ConfigFeed
    offsets: PartitionOffsets
    metrics: JobMetrics


class Epochs(NamedTuple):
    """What processes a run of each source, and how the epochs of the sessions deliver."""

    by_topic: Mapping[str, Process]
    effects: Effects[Session]


def job_epochs(folds: Folds, parts: WorkerParts, progress: Callable[[Run], None]) -> Epochs:
    """Return the epochs of a worker.

    Args:
        folds: What is done with a run.
        parts: What the epochs share.
        progress: Called with a run that makes progress before its first stage.
    """
    options, tables = parts.options, parts.tables
    decisions, contributions = map(options.topic, (Topic.DECISION_LOGS, Topic.REPARTITION))
    effects = parts.guarantee.effects(tables.sessions, "", {Topic.REPARTITION: contributions})
    sessions = SessionsEpoch(
        job=folds.job,
        table=tables.sessions,
        effects=effects,
        settings=parts.feed,
        offsets=parts.offsets,
        metrics=parts.metrics,
        on_crash_point=crash_point(),
        progress=progress,
    )

    def source_ids() -> dict[str, str]:
        found = {topic: parts.offsets.topic_id(topic) for topic in (decisions, contributions)}
        return {topic: topic_id for topic, topic_id in found.items() if topic_id is not None}

    # An agent's record goes where its key says, whatever partition its contributions came through.
    by_key = {str(topic): options.topic(topic) for topic in AGGREGATE_TOPICS}
    aggregates = AggregatesEpoch(
        aggregation=folds.aggregation,
        table=tables.aggregates,
        effects=parts.guarantee.effects(tables.aggregates, AGGREGATES, by_key),
        metrics=parts.metrics,
        on_crash_point=crash_point(scope=AGGREGATES),
        sources=source_ids,
    )
    return Epochs({decisions: sessions, contributions: aggregates}, effects)

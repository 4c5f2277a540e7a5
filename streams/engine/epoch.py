"""The epoch: what happens to one run, in the order that makes it safe.

    settings    a change of settings is in the changelog and in RocksDB before the first output under it
    fold        decode, judge, encode: pure, in memory
    outputs     enriched records, alerts, topology, dead letters: acknowledged by the broker
    changelog   one record per changed session: acknowledged by the broker
    store       one RocksDB batch holds the sessions and the changelog offset
    (ack)       the lane acknowledges the run, and Faust commits the offset

A crash between any two stages replays the run. A session whose changelog record was acknowledged skips what
it has seen, and its outputs were acknowledged before; one whose record was not gives the same outputs again,
with the same ids and bytes. RocksDB is never ahead of the changelog, and the changelog never ahead of the
outputs.

Any error leaves the run unacknowledged and stops the worker.
"""

from __future__ import annotations

import logging
import time
from typing import Protocol

from streams.domain.detection_settings import DetectionSettings
from streams.domain.outgoing import NO_HEADERS, Outgoing
from streams.domain.run import Run
from streams.engine.changelog import SETTINGS_KEY, encode_session, session_key
from streams.engine.crash_point import CrashPoint, crash_point
from streams.engine.producer import RunProducer, all_acknowledged
from streams.engine.table import SessionTable, SessionView
from streams.job import Folded, Job

log = logging.getLogger(__name__)


class EpochMetrics(Protocol):
    """What an epoch reports."""

    def epoch(self, partition: int, folded: Folded, fold_seconds: float, seconds: float) -> None:
        """Take note of a finished epoch."""


class Offsets(Protocol):
    """What this worker knows of a source partition."""

    def committed(self, topic: str, partition: int) -> int | None:
        """Return the committed offset, None when it is not known."""

    def end(self, topic: str, partition: int) -> int | None:
        """Return the offset after the newest record, None when it is not known."""


class InForce(Protocol):
    """The settings in force for new records."""

    @property
    def in_force(self) -> DetectionSettings:
        """The newest accepted settings."""


class AtLeastOnceEpoch:
    """The epoch without transactions: outputs may come twice after a crash, with the same ids and bytes.

    Args:
        job: Decides what comes out.
        table: The sessions.
        producer: Must acknowledge with ``acks=all``.
        settings: What is in force for records nobody has seen.
        offsets: Bound what a replay can need and what a predecessor can have put out.
        metrics: Told about each epoch.
    """

    def __init__(
        self,
        *,
        job: Job,
        table: SessionTable,
        producer: RunProducer,
        settings: InForce,
        offsets: Offsets,
        metrics: EpochMetrics,
    ) -> None:
        self._job = job
        self._table = table
        self._producer = producer
        self._settings = settings
        self._offsets = offsets
        self._metrics = metrics
        self._reach = crash_point()
        self._partition_counts: dict[str, int] = {}

    async def __call__(self, run: Run) -> None:
        """Process ``run`` to the end; returns when it may be acknowledged.

        Raises:
            InfrastructureError: the broker or the registry failed.
            StateError: the local state cannot be used.
        """
        started = time.perf_counter()
        await self._job.prepare(run)
        await self._adopt_settings(run)

        folding = time.perf_counter()
        view = self._table.view(run.partition, self._job.session_ids(run))
        folded = Folded()
        for part, settings in self._table.ledger(run.partition).cut(run):
            self._job.fold(part, view, settings, folded)
        folding = time.perf_counter() - folding
        self._reach(CrashPoint.FOLDED)

        await self._publish(run.partition, folded)
        if view.changed:
            await self._persist(run, view)
        _log_violations(run, folded)
        self._metrics.epoch(run.partition, folded, folding, time.perf_counter() - started)

    async def _adopt_settings(self, run: Run) -> None:
        before = self._table.ledger(run.partition)
        ledger = before.prepare(
            run,
            self._settings.in_force,
            unseen=self._table.unseen(run.partition, self._offsets.end(run.topic, run.partition)),
            committed=self._offsets.committed(run.topic, run.partition),
        )
        if ledger is before:
            return
        encoded = ledger.encode()
        record = Outgoing(SETTINGS_KEY, encoded, run.messages[0].timestamp)
        sent = await self._producer.publish(self._table.changelog_topic_name, run.partition, [record])
        offset = await sent.acknowledged()
        self._table.write_ledger(run.partition, ledger, encoded, offset)
        self._reach(CrashPoint.SETTINGS_ACKED)

    async def _publish(self, source_partition: int, folded: Folded) -> None:
        sent = [
            await self._producer.publish(topic, await self._co_partition(topic, source_partition), records)
            for topic, records in folded.outputs.items()
        ]
        self._reach(CrashPoint.OUTPUTS_SENT)
        await all_acknowledged(sent)
        self._reach(CrashPoint.OUTPUTS_ACKED)

    async def _persist(self, run: Run, view: SessionView) -> None:
        timestamp = run.messages[-1].timestamp
        items = [
            (session_key(session_id), encode_session(session)) for session_id, session in view.changed.items()
        ]
        records = ((key, value, timestamp, NO_HEADERS) for key, value in items)
        sent = await self._producer.publish(self._table.changelog_topic_name, run.partition, records)
        self._reach(CrashPoint.CHANGELOG_SENT)
        offset = await sent.acknowledged()
        self._reach(CrashPoint.CHANGELOG_ACKED)
        self._table.write_sessions(run.partition, view, items, offset)
        self._reach(CrashPoint.STORED)

    async def _co_partition(self, topic: str, source_partition: int) -> int:
        """Return the output partition: the source's own number, so that a session's records stay in order.

        No hash is computed: whatever partitioner the producers use, a session's outputs stand where its
        input stood.
        """
        count = self._partition_counts.get(topic)
        if count is None:
            count = self._partition_counts[topic] = await self._producer.partition_count(topic)
        return source_partition % count


def _log_violations(run: Run, folded: Folded) -> None:
    for violation in folded.violations:
        log.warning(
            "schema_violation %s[%s]@%s session=%r event=%r problems=%s",
            run.topic,
            run.partition,
            violation.offset,
            violation.session_id,
            violation.event_id,
            ",".join(violation.problems),
        )

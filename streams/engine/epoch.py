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
from collections.abc import Mapping
from typing import Protocol

from streams.domain.detection_settings import DetectionSettings
from streams.domain.outgoing import Outgoing
from streams.domain.run import Run
from streams.domain.shadow import ShadowDocument
from streams.engine.changelog import SETTINGS_KEY
from streams.engine.crash_point import CrashPoint, crash_point
from streams.engine.effects import Effects
from streams.engine.producer import RunProducer
from streams.engine.table import SessionTable
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

    @property
    def shadow(self) -> ShadowDocument:
        """What is tried out beside them."""


class AtLeastOnceEpoch:
    """The epoch without transactions: outputs may come twice after a crash, with the same ids and bytes.

    Args:
        job: Decides what comes out.
        table: The sessions.
        producer: Must acknowledge with ``acks=all``.
        settings: What is in force for records nobody has seen.
        offsets: Bound what a replay can need and what a predecessor can have put out.
        metrics: Told about each epoch.
        by_key: Topics whose records go where their key says, and how each is called on the broker.
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
        by_key: Mapping[str, str],
    ) -> None:
        self._job = job
        self._table = table
        self._producer = producer
        self._settings = settings
        self._offsets = offsets
        self._metrics = metrics
        self._reach = crash_point()
        self._effects = Effects(table=table, producer=producer, reach=self._reach, by_key=by_key)

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
        for part, settings, shadow in self._table.ledger(run.partition).cut(run):
            self._job.fold(part, view, settings, folded, shadow)
        folding = time.perf_counter() - folding
        self._reach(CrashPoint.FOLDED)

        await self._effects.publish(run.partition, folded.outputs)
        await self._effects.persist(run, view)
        _log_violations(run, folded)
        self._metrics.epoch(run.partition, folded, folding, time.perf_counter() - started)

    async def _adopt_settings(self, run: Run) -> None:
        before = self._table.ledger(run.partition)
        ledger = before.prepare(
            run,
            self._settings.in_force,
            shadow=self._settings.shadow,
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

"""The epoch: what happens to one run, in the order that makes it safe.

    settings    which settings each offset of the run is processed under, by the partition's ledger
    fold        decode, judge, encode: pure, in memory
    effects     settings, enriched records, alerts, topology, dead letters, and how far all this is: it leaves
                as one `BatchOutput`, in the order of the guarantee (`at_least_once`, `exactly_once`)
    (ack)       the lane acknowledges the run

Changed sessions wait for the next checkpoint (`streams.worker.state.checkpoint`). After a crash their records
are read again: they change the sessions once more, and nothing is put out for what was put out.

The order of the effects decides what a crash leaves behind. What a replay of the run comes to does not depend
on it: a session skips the records it has seen, and under the same settings the others give the same outputs,
with the same ids and bytes.

Any error leaves the run unacknowledged and stops the worker; but where another worker owns the partition by
now, the run is abandoned and the worker goes on.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from dataclasses import replace
from typing import Protocol

from streams.core.detectors.settings import DetectionSettings
from streams.core.domain.run import Run
from streams.core.domain.session import Session
from streams.core.settings_document import ShadowDocument, follows, next_version
from streams.worker.batch import Job
from streams.worker.crash_point import CrashPoint
from streams.worker.effects import BatchOutput, Consumed, Effects
from streams.worker.refused_records import RefusedRecords
from streams.worker.run_result import RunResult
from streams.worker.settings_ledger import SettingsLedger
from streams.worker.state.changelog import SETTINGS_KEY, blaming_state
from streams.worker.state.checkpoint import MARK_KEY, Unsaved, passed
from streams.worker.state.table import SessionTable, StateView

log = logging.getLogger(__name__)


class EpochMetrics(Protocol):
    """What an epoch reports."""

    def epoch(self, partition: int, folded: RunResult, fold_seconds: float, seconds: float) -> None:
        """Take note of a finished epoch."""


class PartitionOffsets(Protocol):
    """What this worker knows of a source partition."""

    def committed(self, topic: str, partition: int) -> int | None:
        """Return the committed offset, None when it is not known."""

    def end(self, topic: str, partition: int) -> int | None:
        """Return the offset after the newest record, None when it is not known."""

    def topic_id(self, topic: str) -> str | None:
        """Return which topic of that name it is, None where brokers do not tell."""


class InForce(Protocol):
    """The settings in force for new records."""

    @property
    def in_force(self) -> DetectionSettings:
        """The newest accepted settings."""

    @property
    def shadow(self) -> ShadowDocument:
        """What is tried out beside them."""


class SessionsEpoch:
    """The epoch of the sessions.

    Args:
        job: Decides what comes out.
        table: The table of the states of sessions.
        effects: Carry out what the epoch comes to.
        settings: What is in force for records that were never read.
        offsets: Bound what a replay can need and what a predecessor can have put out.
        metrics: Told about each epoch.
        on_crash_point: Called with each stage that the epoch reaches.
        progress: Told that a run gets on, where that can take long before its first stage.
    """

    def __init__(
        self,
        *,
        job: Job,
        table: SessionTable,
        effects: Effects[Session],
        settings: InForce,
        offsets: PartitionOffsets,
        metrics: EpochMetrics,
        on_crash_point: Callable[[CrashPoint], None],
        progress: Callable[[Run], None],
    ) -> None:
        self._progress = progress
        self._job = job
        self._table = table
        self._effects = effects
        self._settings = settings
        self._offsets = offsets
        self._metrics = metrics
        self._on_crash_point = on_crash_point
        self._logged: set[tuple[int, int]] = set()
        self._refused = RefusedRecords()
        self._failed: set[str] = set()

    async def __call__(self, run: Run) -> None:
        """Process ``run`` to the end; returns when it may be acknowledged.

        Raises:
            InfrastructureError: the broker or the registry failed.
            StateError: the local state cannot be used.
            ProducerFencedError: another worker owns the partition.
        """
        started = time.perf_counter()
        await self._job.prepare(run, lambda: self._progress(run))
        table, partition = self._table, run.partition
        unsaved = table.unsaved(partition)
        before = table.ledger(partition)
        ledger = self._prepared(before, run, unsaved)

        folding = time.perf_counter()
        view = table.view(partition, self._job.session_ids(run))
        # What an earlier owner has put out changes sessions again, and nothing else.
        again, anew = run.split(unsaved.quiet_until(self._offsets.committed(run.topic, partition)))
        folded = RunResult()
        with blaming_state(table.changelog_topic_name, partition, table.stores.directory):
            for part, into in ((again, RunResult()), (anew, folded)):
                if part is not None:
                    for piece, settings, shadow in ledger.cut(part):
                        self._job.fold(piece, view, settings, into, shadow)
        folding = time.perf_counter() - folding
        self._on_crash_point(CrashPoint.FOLDED)

        outcome = BatchOutput(
            partition,
            view,
            folded.outputs,
            settings=[] if ledger is before else [(SETTINGS_KEY, ledger.encode())],
            consumed=None if anew is None else Consumed.by(anew),
        )
        mark = None
        if unsaved.is_marked:
            # The sessions wait; that they do has to be known with the outputs.
            mark = unsaved.mark if anew is None else unsaved.mark_with(anew, view.changed)
            outcome = replace(outcome, view=StateView({}))
            if anew is not None and mark is not None:
                outcome = replace(outcome, marks=[(MARK_KEY, mark.encode())])
        await self._effects.carry_out(outcome)
        table.take(run, view, mark, time.monotonic())
        table.adopt(partition, ledger)
        folded.duplicates += 0 if again is None else len(again)
        self._say_unredacted(run, folded)
        self._refused.add(run.topic, partition, folded.violations)
        self._metrics.epoch(partition, folded, folding, time.perf_counter() - started)

    def _say_unredacted(self, run: Run, folded: RunResult) -> None:
        """Log each kind of error of the redactor once; the metric counts them all."""
        for kind in folded.unredacted.keys() - self._failed:
            self._failed.add(kind)
            log.warning(
                "EDDY_REDACTOR failed (%s) over a record of %s[%s]: no text of such records is kept, and "
                "their calls equal no others. Mend the function. eddy_redaction_failures_total counts them.",
                kind,
                run.topic,
                run.partition,
            )

    def _prepared(self, before: SettingsLedger, run: Run, unsaved: Unsaved[Session]) -> SettingsLedger:
        known, published = before.newest.settings.version, self._settings.in_force.version
        if follows(known, published) and (known, published) not in self._logged:
            self._logged.add((known, published))
            log.warning(
                "%s[%s] keeps to settings version %s: the newest that is published is version %s. If the "
                "topic of the settings was created again, publish what should hold with `eddy config set "
                "--version %s ...`.",
                run.topic,
                run.partition,
                known,
                published,
                next_version(known),
            )
        return before.prepare(
            run,
            self._settings.in_force,
            shadow=self._settings.shadow,
            unseen=self._table.unseen(run.partition, self._offsets.end(run.topic, run.partition)),
            committed=passed(self._offsets.committed(run.topic, run.partition), unsaved.since),
            behind=unsaved.is_marked,
            source=self._offsets.topic_id(run.topic),
        )

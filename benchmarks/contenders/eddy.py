"""Eddy's worker with the outcomes looked up instead of judged: its engine and nothing else.

The whole job is measured on `eddy worker` itself; this program differs from it in `Job.fold` alone.
"""

from __future__ import annotations

from typing import ClassVar

from benchmarks.contenders.config import ContenderConfig
from benchmarks.precomputed import Precomputed
from streams.cli import main
from streams.core.detectors.settings import DetectionSettings
from streams.core.domain.record import Outgoing
from streams.core.domain.run import Run
from streams.core.settings_document import Shadow
from streams.worker import wiring as app
from streams.worker.batch import Job, Sessions
from streams.worker.run_result import RunResult


class LookUpJob(Job):
    """Puts out what is known to come of each record."""

    known: ClassVar[Precomputed]

    def fold(
        self,
        run: Run,
        sessions: Sessions,
        settings: DetectionSettings,  # noqa: ARG002 - as `Job.fold` has it
        folded: RunResult,
        shadow: Shadow | None = None,  # noqa: ARG002
    ) -> None:
        """Look up each record's outputs and session."""
        entry, headers, partition = self.known.entry, self.known.headers, run.partition
        for message in run.messages:
            outputs, session = entry(partition, message.offset)
            session_id = message.key.decode() if message.key else ""
            sessions.get(session_id)
            sessions.put(session, session_id)
            folded.scored += 1
            for topic, value in outputs:
                folded.add(topic, Outgoing(message.key, value, message.timestamp, headers[topic]))


if __name__ == "__main__":
    config = ContenderConfig.load()
    assert config.precomputed is not None
    LookUpJob.known = Precomputed.load(config.precomputed)
    app.Job = LookUpJob  # type: ignore[misc]  # the seam a benchmark needs and a worker does not
    main()

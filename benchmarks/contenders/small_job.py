"""The small job: uniqueness alone, and a small output. What an engine costs if the work itself is little.

Run as a program, it is Eddy's worker with this work in the place of the job's: the engine is that of
`eddy worker`, with every guarantee. `kafka_streams/SmallJob.java` is the same with Kafka Streams.
"""

from __future__ import annotations

from typing import Any

import orjson

from streams.cli import main
from streams.core.detectors.settings import DetectionSettings
from streams.core.detectors.uniqueness.detector import UniquenessState, decided
from streams.core.domain.level import NodeState
from streams.core.domain.number import r4
from streams.core.domain.record import NO_HEADERS, Outgoing
from streams.core.domain.run import Run
from streams.core.domain.session import Session
from streams.core.domain.shared_window import append
from streams.core.domain.topic import Topic
from streams.core.settings_document import Shadow
from streams.worker import wiring as app
from streams.worker.batch import Job, Sessions
from streams.worker.run_result import RunResult

WINDOW = 5
_FRESH = UniquenessState()


def scored(state: UniquenessState, value: dict[str, Any]) -> tuple[UniquenessState, bytes]:
    """Score one record.

    Args:
        state: The window of its session.
        value: A decision log.

    Returns:
        The next window, and the output.
    """
    action = value["action"]
    newest = decided(value["cognition"]["intent"], action.get("tool_call"), action["status"])
    tuples, order = append(state.tuples, state.order, newest, WINDOW)
    size, different = len(order), len(tuples) - tuples.count(None)
    score = r4(different / size)
    severity = "LOOP" if score < 0.25 else "WARNING" if score < 0.5 else "NORMAL"
    output = {
        "event_id": value["event_id"],
        "score": score,
        "severity": severity,
        "window_size": size,
        "unique_count": different,
    }
    return UniquenessState(tuples, order, severity), orjson.dumps(output)


class SmallJob(Job):
    """Scores uniqueness and nothing else."""

    def fold(
        self,
        run: Run,
        sessions: Sessions,
        settings: DetectionSettings,  # noqa: ARG002 - as `Job.fold` has it
        folded: RunResult,
        shadow: Shadow | None = None,  # noqa: ARG002
    ) -> None:
        """Score each record that its session has not seen."""
        partition = run.partition
        for message in run.messages:
            assert message.key is not None
            assert message.value is not None
            session_id = message.key.decode()
            session = sessions.get(session_id)
            if session is not None and session.has_applied(partition, message.offset):
                folded.duplicates += 1
                continue
            state, output = scored(_state_of(session), orjson.loads(message.value))
            sessions.put(
                Session(partition, message.offset, NodeState.ACTIVE, states={"uniqueness": state}), session_id
            )
            folded.scored += 1
            folded.add(Topic.ENRICHED, Outgoing(message.key, output, message.timestamp, NO_HEADERS))


def _state_of(session: Session | None) -> UniquenessState:
    if session is None:
        return _FRESH
    state = session.states["uniqueness"]
    if isinstance(state, UniquenessState):
        return state
    return UniquenessState(*state)


if __name__ == "__main__":
    app.Job = SmallJob  # type: ignore[misc]  # the seam a benchmark needs and a worker does not
    main()

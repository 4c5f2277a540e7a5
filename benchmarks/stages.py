"""The cost of judging alone, without an engine: the same records through the same functions in one process.

What a contender needs beyond this is what its engine costs. The pass also gives the outputs everybody is
compared with.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple

from benchmarks.judging import collecting_rarely
from benchmarks.precomputed import Entry, Precomputed
from benchmarks.workload import UnusableWorkloadError
from schemas.codec import Codec
from streams.core.detectors.settings import DEFAULTS
from streams.core.domain.decision import Decision
from streams.core.domain.outcome import Rejected, Scored
from streams.core.domain.record import Record
from streams.core.domain.session import Session
from streams.core.domain.topic import OUTPUTS, Topic
from streams.core.pipeline import admit, steps
from streams.worker.batch import TOGETHER
from streams.worker.state.changelog import decode_session, encode_session


class Input(NamedTuple):
    """A record as it stands in its partition."""

    offset: int
    key: bytes
    value: bytes
    timestamp: int


class Stages(NamedTuple):
    """CPU µs per record, by stage; ``restore`` is reading a stored session, which only some engines do."""

    decode: float
    step: float
    encode: float
    snapshot: float
    restore: float

    @property
    def judging(self) -> float:
        """What is not the engine's."""
        return self.decode + self.step + self.encode


class _Clock:
    """CPU time by stage, of the measured records only."""

    def __init__(self) -> None:
        self.on = False
        self.seconds: dict[str, float] = {}

    def time(self, stage: str, work: Callable[[], Any]) -> Any:
        started = time.thread_time()
        done = work()
        if self.on:
            self.seconds[stage] = self.seconds.get(stage, 0.0) + time.thread_time() - started
        return done


@collecting_rarely()
def judge(
    partitions: Mapping[int, Sequence[Input]], *, warm_up: int, run: int = 500
) -> tuple[Stages, Precomputed]:
    """Judge the records run by run, partitions in turn as the worker meets them, and time each stage.

    Args:
        partitions: The records by partition.
        warm_up: How many records, over all partitions, come before the measured ones.
        run: Records of a run.
    """
    codec = Codec.bundled()
    decode = codec.decoder(f"{Topic.DECISION_LOGS}-value").decode
    encoders = {topic: codec.encoder(f"{topic}-value") for topic in OUTPUTS}
    known = Precomputed(headers={str(topic): list(encoder.headers) for topic, encoder in encoders.items()})
    sessions: dict[str, Session] = {}
    clock, done, measured = _Clock(), 0, 0

    def encode_all(outcomes: list[Scored]) -> list[list[tuple[str, bytes]]]:
        encode = {topic: encoder.encode for topic, encoder in encoders.items()}
        written = []
        for outcome in outcomes:
            values = [(str(Topic.ENRICHED), encode[Topic.ENRICHED](outcome.enriched))]
            told = [event for event in outcome.events if event.topic is not None]
            values += [(str(event.topic), encode[event.topic](event.fields)) for event in told]
            written.append(values)
        return written

    for partition, records in partitions.items():
        known.first[partition], known.entries[partition] = records[0].offset, []
    longest = max(len(records) for records in partitions.values())
    for start in range(0, longest, run):
        for partition, records in partitions.items():
            part = records[start : start + run]
            clock.on = done >= warm_up
            done += len(part)
            measured += len(part) if clock.on else 0
            values = clock.time("decode", lambda part=part: [decode(record.value) for record in part])
            outcomes, states = clock.time(
                "step", lambda part=part, values=values, p=partition: _step(p, part, values, sessions)
            )
            written = clock.time("encode", lambda outcomes=outcomes: encode_all(outcomes))
            # A run writes each of its sessions once.
            dirty = {record.key: state for record, state in zip(part, states, strict=True)}
            stored = clock.time(
                "snapshot", lambda dirty=dirty: [encode_session(state) for state in dirty.values()]
            )
            clock.time("restore", lambda stored=stored: [decode_session(state) for state in stored])
            entries = known.entries[partition]
            entries += [
                Entry(values, dirty[record.key]) for values, record in zip(written, part, strict=True)
            ]
    per = 1e6 / max(1, measured)
    return Stages(**{stage: clock.seconds.get(stage, 0.0) * per for stage in Stages._fields}), known


def _step(
    partition: int, records: Sequence[Input], values: list[dict[str, Any]], sessions: dict[str, Session]
) -> tuple[list[Scored], list[Session]]:
    decisions = [*map(partial(_admitted, partition), records, values)]
    outcomes, states = [], []
    for start in range(0, len(decisions), TOGETHER):
        for session, outcome in steps(sessions.get, decisions[start : start + TOGETHER], DEFAULTS):
            if not isinstance(outcome, Scored):
                raise UnusableWorkloadError(("a record is there twice",))
            sessions[outcome.decision.session_id] = session
            outcomes.append(outcome)
            states.append(session)
    return outcomes, states


def _admitted(partition: int, record: Input, value: dict[str, Any]) -> Decision:
    key = record.key.decode()
    decision = admit(Record(partition, record.offset, key, record.timestamp, value), DEFAULTS)
    if isinstance(decision, Rejected):
        raise UnusableWorkloadError(decision.problems)
    return decision

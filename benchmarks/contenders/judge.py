"""The work of one record as the peers do it: Eddy's own functions, state as bytes in and out."""

from __future__ import annotations

from typing import NamedTuple, Protocol

from benchmarks.contenders.config import ContenderConfig
from benchmarks.precomputed import Precomputed
from benchmarks.workload import UnusableWorkloadError
from schemas.codec import Codec
from streams.core.detectors.settings import DEFAULTS
from streams.core.domain.outcome import Rejected, Scored
from streams.core.domain.record import Record
from streams.core.domain.topic import OUTPUTS, Topic
from streams.core.pipeline import admit, step
from streams.worker.state.changelog import decode_session, encode_session


class Judged(NamedTuple):
    """What to write: (topic, value) each, and the session's new state; None when nothing changed."""

    outputs: list[tuple[str, bytes]]
    state: bytes | None


class Judge(Protocol):
    """Judges one record of the session whose stored ``state`` is given."""

    def __call__(
        self, partition: int, offset: int, key: str, timestamp: int, value: bytes, state: bytes | None
    ) -> Judged:
        """Return what to write."""


def judge_for(config: ContenderConfig) -> Judge:
    """Return the judge of a contender: the real one, or the one that looks the outcome up."""
    return (
        PipelineJudge() if config.precomputed is None else LookUpJudge(Precomputed.load(config.precomputed))
    )


class PipelineJudge:
    """Decode, admit, restore, step, encode, snapshot."""

    def __init__(self) -> None:
        codec = Codec.bundled()
        self._decode = codec.decoder(f"{Topic.DECISION_LOGS}-value").decode
        self._encode = {topic: codec.encoder(f"{topic}-value").encode for topic in OUTPUTS}

    def __call__(
        self, partition: int, offset: int, key: str, timestamp: int, value: bytes, state: bytes | None
    ) -> Judged:
        decision = admit(Record(partition, offset, key, timestamp, self._decode(value)), DEFAULTS)
        if isinstance(decision, Rejected):
            raise UnusableWorkloadError(decision.problems)
        session, outcome = step(None if state is None else decode_session(state), decision, DEFAULTS)
        if not isinstance(outcome, Scored):
            return Judged([], None)
        encode = self._encode
        outputs = [(str(Topic.ENRICHED), encode[Topic.ENRICHED](outcome.enriched))]
        outputs += [(str(e.topic), encode[e.topic](e.fields)) for e in outcome.events if e.topic is not None]
        return Judged(outputs, encode_session(session))


class LookUpJudge:
    """Restore and snapshot, which the engine's way of keeping state costs; the rest is looked up."""

    def __init__(self, known: Precomputed) -> None:
        self._known = known

    def __call__(
        self,
        partition: int,
        offset: int,
        key: str,  # noqa: ARG002 - as `Judge` has it
        timestamp: int,  # noqa: ARG002
        value: bytes,  # noqa: ARG002
        state: bytes | None,
    ) -> Judged:
        if state is not None:
            decode_session(state)
        entry = self._known.entry(partition, offset)
        return Judged(entry.outputs, encode_session(entry.session))

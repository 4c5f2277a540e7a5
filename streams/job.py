"""What happens to a run between consuming and publishing: decode, admit, step, encode.

Bytes in, bytes out, and the changed sessions; no Kafka and no clock. Bad input becomes a dead letter with its
original bytes and changes no session.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import Any, Protocol

from schemas.codec import Codec, Reason, UndecodableError
from streams.contribution_record import health_record, task_record
from streams.dead_letter import Headers, Source, reason_for, rejected_headers, undecodable_headers
from streams.domain.detection_settings import DetectionSettings
from streams.domain.outcome import Duplicate, Rejected, Scored
from streams.domain.outgoing import Outgoing
from streams.domain.record import Record
from streams.domain.run import Message, Run
from streams.domain.session import Session
from streams.domain.shadow import Shadow
from streams.domain.topic import Topic
from streams.pipeline import admit, step
from streams.policy.comparison import Difference
from streams.shadow import difference_record, try_out, try_refused

OUTPUTS = (
    Topic.ENRICHED,
    Topic.ENTROPY_ALERTS,
    Topic.SESSION_ALERTS,
    Topic.TOPOLOGY,
    Topic.SESSION_BUDGETS,
    Topic.SESSION_RESPONSES,
    Topic.SHADOW_DIFFERENCES,
)
"""What a run may publish, dead letters aside; all of it under the key of the record."""


class Sessions(Protocol):
    """The sessions of the run's partition."""

    def get(self, session_id: str) -> Session | None:
        """Return the session's state, None when there is none."""

    def put(self, session: Session, session_id: str) -> None:
        """Set the session's state."""


@dataclass(frozen=True, slots=True)
class Violation:
    """A record, or a part of it, that broke the contract: one log line."""

    offset: int
    session_id: str | None
    event_id: str | None
    problems: tuple[str, ...]


@dataclass(slots=True)
class Folded:
    """What a run led to. ``outputs`` by topic, in the order of the records."""

    outputs: dict[str, list[Outgoing]] = field(default_factory=dict)
    scored: int = 0
    duplicates: int = 0
    dead_lettered: Counter[str] = field(default_factory=Counter)
    events: Counter[str] = field(default_factory=Counter)
    violations: list[Violation] = field(default_factory=list)
    tried: int = 0
    """Records that were judged under the shadow settings too."""
    differences: Counter[str] = field(default_factory=Counter)
    """Records that those judge otherwise, by what differs."""

    def add(self, topic: str, record: Outgoing) -> None:
        """Append an output."""
        records = self.outputs.get(topic)
        if records is None:
            self.outputs[topic] = [record]
        else:
            records.append(record)


def key_text(key: bytes | None) -> str | None:
    """Return a Kafka key as text. Bytes that are not UTF-8 become text no session_id is equal to.

    >>> key_text(b"s-1")
    's-1'
    """
    return None if key is None else key.decode("utf-8", "surrogateescape")


class Job:
    """The fold of a run, with the codecs and names it needs.

    Args:
        codec: How values are read and written.
        group: The consumer group, named on dead letters.
        version: Eddy's, named on dead letters.
    """

    def __init__(self, codec: Codec, *, group: str, version: str) -> None:
        self._decoder = codec.decoder(f"{Topic.DECISION_LOGS}-value")
        encoders = {topic: codec.encoder(f"{topic}-value") for topic in OUTPUTS}
        self._outputs = {
            topic: (encoder.encode, list(encoder.headers)) for topic, encoder in encoders.items()
        }
        self._group = group
        self._version = version

    async def prepare(self, run: Run) -> None:
        """Fetch what decoding the run needs and does not have: schemas of a registry.

        Raises:
            InfrastructureError: the registry does not answer.
        """
        await self._decoder.prepare((message.value, message.headers) for message in run.messages)

    @staticmethod
    def session_ids(run: Run) -> set[str]:
        """Return the ids of the sessions the run may touch: its keys, as far as they are text."""
        keys = {message.key for message in run.messages if message.key}
        texts = {key.decode("utf-8", "replace") for key in keys}
        # A key that is not UTF-8 belongs to no session: its records are dead letters.
        return {text for text in texts if "\ufffd" not in text or text.encode() in keys}

    def fold(
        self,
        run: Run,
        sessions: Sessions,
        settings: DetectionSettings,
        folded: Folded,
        shadow: Shadow | None = None,
    ) -> None:
        """Process a run whose records stand under the same settings; add the outcome to ``folded``.

        With a ``shadow`` its settings are tried out on each record, which changes no other output.
        """
        decode = self._decoder.decode
        partition = run.partition
        for message in run.messages:
            try:
                value = decode(message.value, message.headers)
            except UndecodableError as error:
                source = Source(run.topic, partition, message.offset, message.headers)
                headers = undecodable_headers(source, error, group=self._group, version=self._version)
                self._dead_letter(folded, message, error.reason, (), headers)
                continue
            timestamp = message.timestamp
            record = Record(
                partition, message.offset, key_text(message.key), timestamp if timestamp >= 0 else None, value
            )
            admitted = admit(record, settings)
            if isinstance(admitted, Rejected):
                problems = admitted.problems
                source = Source(run.topic, partition, message.offset, message.headers)
                headers = rejected_headers(source, problems, group=self._group, version=self._version)
                self._dead_letter(folded, message, reason_for(problems), problems, headers)
                if shadow is not None and (found := try_refused(record, settings, shadow)) is not None:
                    self._tell(folded, message, difference_record(*found, settings, shadow), found[1])
                continue
            session = sessions.get(admitted.session_id)
            done = step(session, admitted, settings)
            match done.outcome:
                case Duplicate():
                    folded.duplicates += 1
                case Scored() as scored:
                    after = done.session
                    self._emit(folded, message, scored)
                    self._contribute(folded, message, scored, settings)
                    if shadow is not None:
                        folded.tried += 1
                        after, differs = try_out(session, after, record, scored, settings, shadow)
                        if differs is not None:
                            told = difference_record(admitted, differs, settings, shadow)
                            self._tell(folded, message, told, differs)
                    sessions.put(after, admitted.session_id)

    def _emit(self, folded: Folded, message: Message, scored: Scored) -> None:
        folded.scored += 1
        key, timestamp = message.key, message.timestamp
        encode, headers = self._outputs[Topic.ENRICHED]
        folded.add(Topic.ENRICHED, Outgoing(key, encode(scored.enriched), timestamp, headers))
        for event in scored.events:
            folded.events[event.fields["event_type"]] += 1
            if event.topic is not None:
                encode, headers = self._outputs[event.topic]
                folded.add(event.topic, Outgoing(key, encode(event.fields), timestamp, headers))
        if scored.violations:
            decision = scored.decision
            folded.violations.append(
                Violation(message.offset, decision.session_id, decision.event_id, scored.violations)
            )

    @staticmethod
    def _contribute(folded: Folded, message: Message, scored: Scored, settings: DetectionSettings) -> None:
        for contribution in scored.contributions:
            folded.add(Topic.REPARTITION, health_record(contribution, message.timestamp))
        completed = scored.enriched["eddy"]["completion"]
        if completed is not None:
            record = task_record(completed, scored.decision, settings, message.timestamp)
            folded.add(Topic.REPARTITION, record)

    def _tell(self, folded: Folded, message: Message, record: dict[str, Any], differs: Difference) -> None:
        folded.differences.update(map(str, differs.kinds))
        encode, headers = self._outputs[Topic.SHADOW_DIFFERENCES]
        folded.add(
            Topic.SHADOW_DIFFERENCES, Outgoing(message.key, encode(record), message.timestamp, headers)
        )

    @staticmethod
    def _dead_letter(
        folded: Folded, message: Message, reason: Reason, problems: tuple[str, ...], headers: Headers
    ) -> None:
        folded.dead_lettered[reason] += 1
        folded.violations.append(Violation(message.offset, None, None, problems or (reason,)))
        folded.add(Topic.DEAD_LETTERS, Outgoing(message.key, message.value, message.timestamp, list(headers)))

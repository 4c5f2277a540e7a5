"""What happens to a run between consuming and publishing: decode, admit, step, encode.

Bytes in, bytes out, and the changed sessions; no Kafka and no clock. Bad input becomes a dead letter with its
original bytes and changes no session.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from itertools import groupby
from typing import Any, NamedTuple, Protocol

from schemas.codec import Codec, Reason, UndecodableError
from schemas.encoder import UnencodableError
from streams.core.detectors.settings import DetectionSettings
from streams.core.domain.decision import Decision
from streams.core.domain.erasure import is_order, tombstones
from streams.core.domain.event_kind import EventKind
from streams.core.domain.outcome import Duplicate, Event, Rejected, Scored
from streams.core.domain.record import Outgoing, Record, Unreadable
from streams.core.domain.run import Message, Run
from streams.core.domain.session import DAMAGE, DamagedSessionError, Session
from streams.core.domain.topic import OUTPUTS, Topic
from streams.core.pipeline import Expired, Step, admit, forget, step, steps
from streams.core.policy.comparison import Difference
from streams.core.policy.state_limits import StateLimit
from streams.core.settings_document import Shadow
from streams.core.shadow import difference_record, try_out, try_refused
from streams.formats.content import Content, Redact, redacted, reduced_event, reduced_output, withheld
from streams.worker.cloud_event import CloudEvents
from streams.worker.contribution_record import handover_record, health_record, outlay_record, task_record
from streams.worker.dead_letter import (
    Headers,
    LetterSource,
    cut_to_fit,
    dead_letter_headers,
    reason_for,
    record_size,
    rejected_headers,
    undecodable_headers,
    unreadable_headers,
    unreadable_reason,
)
from streams.worker.run_result import RunResult, Violation

_NO_LIMITS: Mapping[str, int] = {}

# What a damaged state holds goes through unnoticed until it is to be written.
_UNWRITABLE = (*DAMAGE, UnencodableError)


class Sessions(Protocol):
    """The sessions of the run's partition."""

    def get(self, session_id: str) -> Session | None:
        """Return the session's state, None when there is none."""

    def put(self, session: Session, session_id: str) -> None:
        """Set the session's state."""


def key_text(key: bytes | None) -> str | None:
    """Return a Kafka key as text. Bytes that are not UTF-8 become text no session_id is equal to.

    >>> key_text(b"s-1")
    's-1'
    """
    return None if key is None else key.decode("utf-8", "surrogateescape")


class _Received(NamedTuple):
    """A message as far as it could be read, and what came of that."""

    record: Record | None
    admitted: Decision | Rejected | UndecodableError | Unreadable


#: Records that are judged together. The code of a detector stays in the processor's caches meanwhile. What
#: more records are decoded to would not.
TOGETHER = 50


class Job:
    """The fold of a run, with the codecs and names it needs.

    Args:
        codec: How values are read and written.
        group: The consumer group, named on dead letters.
        version: Eddy's, named on dead letters.
        topic_prefix: Before the names of the topics, where they are said and in ``largest``.
        largest: How many bytes a record of each topic may have at most; where nothing is said, any number.
        state_limit: What the state of a session may take; without, any size.
        content: Which texts of agents are written out. Records are judged with all of them.
        redact: Goes over each text of an agent before anything else does; None leaves them alone.
    """

    def __init__(
        self,
        codec: Codec,
        *,
        group: str,
        version: str,
        topic_prefix: str = "",
        largest: Mapping[str, int] = _NO_LIMITS,
        state_limit: StateLimit | None = None,
        content: Content = Content.FULL,
        redact: Redact | None = None,
    ) -> None:
        self._decoder = codec.decoder(f"{Topic.DECISION_LOGS}-value")
        encoders = {topic: codec.encoder(f"{topic}-value") for topic in OUTPUTS}
        self._outputs = {
            topic: (encoder.encode, list(encoder.headers)) for topic, encoder in encoders.items()
        }
        self._alerts = CloudEvents.of_session_alerts(
            group, topic_prefix, self._outputs[Topic.SESSION_ALERTS][1]
        )
        self._group = group
        self._version = version
        self._topic_prefix = topic_prefix
        self._largest = {
            topic: largest.get(f"{topic_prefix}{topic}", sys.maxsize)
            for topic in (*OUTPUTS, Topic.DEAD_LETTERS)
        }
        self._state_limit = state_limit
        self._content = content
        self._redact = redact

    async def prepare(self, run: Run, progress: Callable[[], None]) -> None:
        """Fetch what decoding the run needs and does not have: schemas of a registry.

        A run can name hundreds that take their time; ``progress`` is called for each answer.

        Raises:
            InfrastructureError: the registry does not answer.
        """
        readable = (message for message in run.messages if message.__class__ is not Unreadable)
        await self._decoder.prepare(((message.value, message.headers) for message in readable), progress)

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
        folded: RunResult,
        shadow: Shadow | None = None,
    ) -> None:
        """Process a run whose records have the same settings; add the outcome to ``folded``.

        The records are judged together, up to `TOGETHER` of them, and put out one after another. With a
        ``shadow`` its settings are tried out on each record, which changes no other output.

        Raises:
            DamagedSessionError: the state of a session is none that was ever written.
        """
        for start in range(0, len(run), TOGETHER):
            part = Run(run.topic, run.partition, run.messages[start : start + TOGETHER])
            if None in [message.value for message in part.messages]:
                self._fold_with_orders(part, sessions, settings, folded, shadow)
            else:
                self._fold(part, sessions, settings, folded, shadow)

    def _fold_with_orders(
        self,
        run: Run,
        sessions: Sessions,
        settings: DetectionSettings,
        folded: RunResult,
        shadow: Shadow | None,
    ) -> None:
        """Process a run that may hold orders to forget sessions: what stands before one comes before it."""
        for ordered, messages in groupby(run.messages, is_order):
            if ordered:
                for order in messages:
                    self._forget(run.partition, order, sessions, settings, folded)
            else:
                part = Run(run.topic, run.partition, list(messages))
                self._fold(part, sessions, settings, folded, shadow)

    def _forget(
        self,
        partition: int,
        order: Message,
        sessions: Sessions,
        settings: DetectionSettings,
        folded: RunResult,
    ) -> None:
        """Forget a session: it ends, and nothing stays of it but a stub that housekeeping removes."""
        assert order.key is not None
        session_id = order.key.decode()
        session, at = sessions.get(session_id), (partition, order.offset)
        folded.forgotten += 1
        if session is not None and session.has_applied(*at):
            return  # it was carried out, and the session may have begun again since
        if session is not None:
            # What a damaged state leaves open cannot be told. It goes all the same.
            with suppress(DamagedSessionError):
                self.expired(session_id, forget(session_id, session, at, settings), order.timestamp, folded)
            sessions.put(Session(*at), session_id)
        for topic, tombstone in tombstones(partition, order, held=session is not None):
            folded.add(topic, tombstone)

    def _fold(
        self,
        run: Run,
        sessions: Sessions,
        settings: DetectionSettings,
        folded: RunResult,
        shadow: Shadow | None,
    ) -> None:
        received = [self._received(run.partition, message, settings, folded) for message in run.messages]
        decisions = [each.admitted for each in received if isinstance(each.admitted, Decision)]
        judged: Iterator[Step] | None = iter(steps(sessions.get, decisions, settings))
        ttl, grace = settings.session_ttl_ms, settings.state_grace_ms
        limit = self._limit_under(settings)
        for message, (record, admitted) in zip(run.messages, received, strict=True):
            if isinstance(admitted, Unreadable):
                self._set_aside_unreadable(folded, run, admitted)
                continue
            if not isinstance(admitted, Decision):
                self._refuse(folded, run, message, admitted)
                if shadow is not None and record is not None:
                    self._try_refused(folded, message, record, settings, shadow)
                continue
            session = sessions.get(admitted.session_id)
            if session is None and ttl:
                folded.in_time_until.append(admitted.timestamp + grace)
            done = step(session, admitted, settings) if judged is None else next(judged)
            match done.outcome:
                case Duplicate():
                    folded.duplicates += 1
                case Scored() as scored:
                    after = done.session
                    held = session is not None
                    too_large = self._emit(folded, message, scored, after, limit, held=held)
                    if too_large is not None:
                        self._set_aside_too_large(folded, run, message, too_large)
                        # The others were judged as if this one had been put out.
                        judged = None
                        continue
                    self._contribute(folded, message, scored, settings)
                    if shadow is not None:
                        assert record is not None
                        before_after = session, after
                        after = self._try_out(folded, message, record, before_after, scored, settings, shadow)
                    sessions.put(after, admitted.session_id)

    def _received(
        self, partition: int, message: Message, settings: DetectionSettings, folded: RunResult
    ) -> _Received:
        """Decode and check a message."""
        if isinstance(message, Unreadable):
            return _Received(None, message)
        try:
            value: Mapping[str, Any] = self._decoder.decode(message.value, message.headers)
        except UndecodableError as error:
            return _Received(None, error)
        if self._redact is not None:
            value = self._redacted(value, folded)
        timestamp = message.timestamp if message.timestamp >= 0 else None
        record = Record(partition, message.offset, key_text(message.key), timestamp, value)
        return _Received(record, admit(record, settings))

    def _redacted(self, value: Mapping[str, Any], folded: RunResult) -> Mapping[str, Any]:
        """Return a record without what the redactor takes out, or without any text where it fails."""
        assert self._redact is not None
        try:
            return redacted(value, self._redact)
        except Exception as error:  # noqa: BLE001 - whatever fails there, the text must not be stored
            folded.unredacted[type(error).__name__] += 1
            return withheld(value)

    def _refuse(
        self, folded: RunResult, run: Run, message: Message, why: Rejected | UndecodableError
    ) -> None:
        source = LetterSource(run.topic, run.partition, message.offset, message.headers)
        if isinstance(why, UndecodableError):
            headers = undecodable_headers(source, why, group=self._group, version=self._version)
            self._dead_letter(folded, message, why.reason, why.detail, headers)
        else:
            problems, detail = why.problems, why.detail
            headers = rejected_headers(source, problems, detail, group=self._group, version=self._version)
            self._dead_letter(folded, message, reason_for(problems), detail, headers)

    def _try_refused(
        self, folded: RunResult, message: Message, record: Record, settings: DetectionSettings, shadow: Shadow
    ) -> None:
        found = try_refused(record, settings, shadow)
        if found is not None:
            self._tell(folded, message, difference_record(*found, settings, shadow), found[1])

    def _try_out(
        self,
        folded: RunResult,
        message: Message,
        record: Record,
        sessions: tuple[Session | None, Session],
        scored: Scored,
        settings: DetectionSettings,
        shadow: Shadow,
    ) -> Session:
        """Judge a record under the shadow too; return the session, which remembers it."""
        folded.tried += 1
        after, differs = try_out(*sessions, record, scored, settings, shadow)
        limit, tried = self._limit_under(shadow.settings), after.shadow
        if limit is not None and tried is not None and _exceeds(limit, scored.decision.session_id, tried):
            # A trial changes nothing else, so no dead letter: it begins again from the live state.
            after = after._replace(shadow=None)
        if differs is not None:
            difference = difference_record(scored.decision, differs, settings, shadow)
            self._tell(folded, message, difference, differs)
        return after

    def expired(self, session_id: str, expired: Expired, at_ms: int, folded: RunResult) -> None:
        """Add what the end of a session without a record leads to; outputs have the time ``at_ms`` of that.

        Raises:
            DamagedSessionError: its state holds what cannot be told; nothing was added.
        """
        try:
            encoded = self._encoded(session_id.encode(), at_ms, expired.events)
        except _UNWRITABLE as error:
            raise DamagedSessionError(session_id, error) from error
        self._add_events(folded, expired.events, encoded)
        for contribution in expired.contributions:
            folded.add(Topic.REPARTITION, health_record(contribution, at_ms))

    def _emit(
        self,
        folded: RunResult,
        message: Message,
        scored: Scored,
        after: Session,
        limit: StateLimit | None,
        *,
        held: bool,
    ) -> str | None:
        """Add what a record leads to; nothing if a topic does not take it, and then return which.

        ``held`` says whether its session had a state before: without one, no state can be to blame.
        """
        if limit is not None and _exceeds(limit, scored.decision.session_id, after):
            return limit.exceeded
        key, timestamp = message.key, message.timestamp
        encode, headers = self._outputs[Topic.ENRICHED]
        try:
            written = reduced_output(scored.enriched, self._content)
            enriched = Outgoing(key, encode(written), timestamp, headers)
            events = self._encoded(key, timestamp, scored.events) if scored.events else ()
        except _UNWRITABLE as error:
            if not held:
                raise
            raise DamagedSessionError(scored.decision.session_id, error) from error
        if record_size(enriched) > self._largest[Topic.ENRICHED]:
            return self._does_not_take(Topic.ENRICHED)
        for topic, event in events:
            if record_size(event) > self._largest[topic]:
                return self._does_not_take(topic)
        folded.scored += 1
        folded.add(Topic.ENRICHED, enriched)
        self._add_events(folded, scored.events, events)
        if scored.violations:
            folded.violations.append(Violation(message.offset, None, ", ".join(scored.violations)))
        return None

    def _limit_under(self, settings: DetectionSettings) -> StateLimit | None:
        """Return the limit that a state judged under these settings may exceed, None where it cannot."""
        limit = self._state_limit
        return limit if limit is not None and limit.may_be_exceeded(settings) else None

    def _does_not_take(self, topic: Topic) -> str:
        name = f"{self._topic_prefix}{topic}"
        return f"what becomes of it is larger than {name} takes ({self._largest[topic]} bytes)"

    def _set_aside_too_large(self, folded: RunResult, run: Run, message: Message, detail: str) -> None:
        source = LetterSource(run.topic, run.partition, message.offset, message.headers)
        headers = dead_letter_headers(
            source, Reason.OVERSIZE, detail, (), group=self._group, version=self._version
        )
        self._dead_letter(folded, message, Reason.OVERSIZE, detail, headers)

    def _set_aside_unreadable(self, folded: RunResult, run: Run, message: Unreadable) -> None:
        reason = unreadable_reason(message)
        if not message.is_logged:
            folded.dead_lettered[reason] += 1  # another letter represents it
            return
        source = LetterSource(run.topic, run.partition, message.offset, message.headers)
        headers = unreadable_headers(source, message, group=self._group, version=self._version)
        self._dead_letter(folded, message, reason, message.detail, headers)

    def _encoded(
        self, key: bytes | None, timestamp: int, events: Iterable[Event]
    ) -> list[tuple[Topic, Outgoing]]:
        encoded = []
        for event in events:
            if event.topic is not None:
                encode, headers = self._outputs[event.topic]
                if event.topic is Topic.SESSION_ALERTS:
                    headers = self._alerts.headers(event.fields)
                fields = reduced_event(event.fields, self._content)
                encoded.append((event.topic, Outgoing(key, encode(fields), timestamp, headers)))
        return encoded

    @staticmethod
    def _add_events(
        folded: RunResult, events: Iterable[Event], encoded: Iterable[tuple[Topic, Outgoing]]
    ) -> None:
        for event in events:
            kind = event.fields["event_type"]
            folded.events[kind] += 1
            if kind == EventKind.LOOP_EPISODE:
                folded.episodes.append(event.fields)
        for topic, record in encoded:
            folded.add(topic, record)

    @staticmethod
    def _contribute(folded: RunResult, message: Message, scored: Scored, settings: DetectionSettings) -> None:
        for contribution in scored.contributions:
            folded.add(Topic.REPARTITION, health_record(contribution, message.timestamp))
        for handed in scored.handed:
            folded.add(Topic.REPARTITION, handover_record(handed, message.timestamp))
        if scored.outlay is not None:
            folded.add(Topic.REPARTITION, outlay_record(scored.outlay, message.timestamp))
        completed = scored.enriched["eddy"]["completion"]
        if completed is not None:
            record = task_record(completed, scored.decision, settings, message.timestamp)
            folded.add(Topic.REPARTITION, record)

    def _tell(self, folded: RunResult, message: Message, record: dict[str, Any], differs: Difference) -> None:
        folded.differences.update(map(str, differs.kinds))
        encode, headers = self._outputs[Topic.SHADOW_DIFFERENCES]
        try:
            outgoing = Outgoing(message.key, encode(record), message.timestamp, headers)
        except _UNWRITABLE as error:
            raise DamagedSessionError(record["session_id"], error) from error
        # A trial changes nothing else, so no dead letter either.
        if record_size(outgoing) <= self._largest[Topic.SHADOW_DIFFERENCES]:
            folded.add(Topic.SHADOW_DIFFERENCES, outgoing)

    def _dead_letter(
        self,
        folded: RunResult,
        message: Message,
        reason: Reason,
        detail: str,
        headers: Headers,
    ) -> None:
        folded.dead_lettered[reason] += 1
        folded.violations.append(Violation(message.offset, reason, detail))
        letter = Outgoing(message.key, message.value, message.timestamp, list(headers))
        folded.add(Topic.DEAD_LETTERS, cut_to_fit(letter, self._largest[Topic.DEAD_LETTERS]))


def _exceeds(limit: StateLimit, session_id: str, session: Session) -> bool:
    try:
        return limit.is_exceeded(session)
    except DAMAGE as error:  # what a damaged state holds went through unnoticed until now
        raise DamagedSessionError(session_id, error) from error

"""The fold of a run of spans: which records go out, in which order, and what is remembered.

The clock is that of the records: a partition's time is the largest timestamp read so far. So a replay gives
the same records, however the partition is cut into runs. Spans of a trace wait until that clock is `hold_ms`
past their arrival; what ended before the last of those that are due goes out with it, by end, start and
id. A partition that falls silent stops that clock: `Bridge.release_due` is then given a later time.

A span of a trace comes again when an exporter, a collector or a producer repeats a request. The ids of the
newest spans of a trace are remembered for that.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from heapq import heapify, heappop, heappush
from operator import attrgetter
from types import MappingProxyType
from typing import Any, Final, NamedTuple, Protocol

from schemas.encoder import Encoder
from schemas.reason import Reason
from streams.core.domain.record import Headers, Outgoing, Unreadable
from streams.core.domain.run import Message, Run
from streams.core.domain.topic import Topic
from streams.formats.adapters.adapter import IntakeReason as ProblemReason
from streams.formats.adapters.adapter import Problem
from streams.formats.adapters.otlp import proto_requests
from streams.formats.adapters.otlp.json_requests import spans_of_json
from streams.formats.adapters.otlp.span import Received, SpanKind
from streams.formats.adapters.otlp.traces import Trace, Traces
from streams.formats.adapters.otlp.values import SESSION_KEYS
from streams.formats.adapters.record import decoded
from streams.formats.content import Content, reduced
from streams.worker.bridge.rows import PROGRESS, BridgeProgress, Held, Row, SpanWait, TraceRow
from streams.worker.dead_letter import (
    LetterSource,
    cut_to_fit,
    dead_letter_headers,
    record_size,
    unreadable_headers,
    unreadable_reason,
)
from streams.worker.run_result import Violation

_JSON: Final = b"{"


class RequestRefused(NamedTuple):
    """Why nothing of a record can be used."""

    reason: Reason
    detail: str


class TraceRequest(NamedTuple):
    """What a record of the topic holds.

    Attributes:
        spans: those that can be used.
        unusable: how many spans lack an id or a time.
        lack: what the first of these lacks.
    """

    spans: Sequence[Received]
    unusable: int = 0
    lack: str = ""


def read(message: Message) -> TraceRequest | RequestRefused | Unreadable:
    """Return what a record holds. No value raises an error."""
    if isinstance(message, Unreadable):
        return message
    value = message.value
    if value is None:
        return RequestRefused(Reason.NULL_VALUE, "the record has no value: spans know no tombstones")
    if value.lstrip()[:1] == _JSON:
        found = decoded(value)
        if not isinstance(found, dict) or not ("resourceSpans" in found or "resource_spans" in found):
            return RequestRefused(
                Reason.UNDECODABLE, "neither JSON nor protobuf of an ExportTraceServiceRequest"
            )
        return _sorted_out(list(spans_of_json(found)))
    request = proto_requests.decoded_request(value)
    if request is None:
        return RequestRefused(Reason.UNDECODABLE, "neither JSON nor protobuf of an ExportTraceServiceRequest")
    return _sorted_out(list(proto_requests.spans_of_proto(request)))


def is_keyed(message: Message, spans: Sequence[Received]) -> bool:
    """Tell whether the key of a record is the trace of all of its spans, in hex digits or as bytes."""
    key = message.key or b""
    ids = {span.trace_id for span in spans}
    return ids <= {key.decode("ascii", "replace").lower()} or ids <= {key.hex()}


def _sorted_out(found: Sequence[Received | str]) -> TraceRequest:
    lacks = [each for each in found if isinstance(each, str)]
    spans = [each for each in found if not isinstance(each, str)]
    return TraceRequest(spans, len(lacks), lacks[0] if lacks else "")


MOST_HELD: Final = 512
"""Spans of a trace that wait at most: what exporters send at once by default. With more, all go out."""

MOST_HELD_BYTES: Final = 256 * 1024
"""And bytes of them: a row has to fit into a record of the changelog."""

_CONVERSATION: Final = SESSION_KEYS[0]


class Rows(Protocol):
    """The rows of the run's partition."""

    def get(self, name: str) -> Row | None:
        """Return a row, None if there is none."""

    def put(self, value: Row, name: str) -> None:
        """Set a row."""


@dataclass(frozen=True, slots=True)
class BridgeOptions:
    """What an operator decides.

    Attributes:
        hold_ms: how long spans wait for those that ended before them.
        trace_ttl_ms: a trace without spans for so long is forgotten.
        content: which texts records carry.
        session_keys: attributes that name the session, before those known anyway.
    """

    hold_ms: int = 2_000
    trace_ttl_ms: int = 3_600_000
    content: Content = Content.FULL
    session_keys: tuple[str, ...] = ()


@dataclass(slots=True)
class Bridged:
    """What a run leads to.

    Attributes:
        outputs: by topic, in order.
        spans: by result: tool, model, agent, other, repeated, late, dead.
        sessions: traces that became sessions, by what named them.
        without_content: tool calls whose arguments were not captured.
        foreign_keys: records whose key is not the trace of all of their spans.
        dead_lettered: number of dead letters, by reason.
        held_ms: how long each span that went out had waited.
        violations: records that were refused, and why, for the log.
    """

    outputs: dict[str, list[Outgoing]] = field(default_factory=dict)
    spans: Counter[str] = field(default_factory=Counter)
    sessions: Counter[str] = field(default_factory=Counter)
    without_content: int = 0
    foreign_keys: int = 0
    dead_lettered: Counter[str] = field(default_factory=Counter)
    held_ms: list[int] = field(default_factory=list)
    violations: list[Violation] = field(default_factory=list)

    def add(self, topic: Topic, record: Outgoing) -> None:
        """Append an output."""
        self.outputs.setdefault(topic, []).append(record)


class Bridge:
    """Turns runs of spans into records.

    Args:
        encoder: Encodes the records that go out.
        options: What an operator decides.
        group: The consumer group, named on dead letters.
        version: Eddy's, named on dead letters.
        largest: How many bytes a record of each topic may have.
    """

    def __init__(
        self,
        encoder: Encoder,
        options: BridgeOptions,
        *,
        group: str,
        version: str,
        largest: Mapping[Topic, int],
    ) -> None:
        self.options = options
        self._encode, self._headers = encoder.encode, list(encoder.headers)
        self._group, self._version, self._largest = group, version, largest
        self._keys = (*options.session_keys, *SESSION_KEYS)

    @staticmethod
    def read(run: Run) -> list[tuple[Message, TraceRequest | RequestRefused | Unreadable]]:
        """Return the records of a run with what they hold."""
        return [(message, read(message)) for message in run.messages]

    def fold(
        self,
        run: Run,
        found: Iterable[tuple[Message, TraceRequest | RequestRefused | Unreadable]],
        rows: Rows,
        bridged: Bridged,
        *,
        latest_ms: int,
    ) -> None:
        """Process a run that was read; add the outcome to ``bridged``.

        Records that stand before the partition's progress are passed over: they were processed.

        Args:
            run: The run of spans to process.
            found: What its records hold.
            rows: What is remembered of the run's partition.
            bridged: What the run leads to.
            latest_ms: A later timestamp is taken for this one: a producer whose clock is wrong must not stop
                the clock of the partition. It matters only where brokers keep the producers' timestamps.
        """
        at = _Partition(self, run.topic, run.partition, rows, bridged)
        for message, request in found:
            if message.offset < at.offset:
                continue
            at.offset = message.offset + 1
            at.time_ms = max(at.time_ms, min(message.timestamp, latest_ms))
            at.release_due(at.time_ms)
            match request:
                case TraceRequest():
                    at.take(message, request)
                case RequestRefused(reason, detail):
                    self._dead_letter(run, message, reason, detail, bridged)
                case _:
                    self._set_aside_unreadable(run, request, bridged)
        at.close()

    def release_due(self, topic: str, partition: int, rows: Rows, time_ms: int, bridged: Bridged) -> None:
        """Let go what is due at a time that no record has told; add the outcome to ``bridged``."""
        at = _Partition(self, topic, partition, rows, bridged)
        at.release_due(time_ms)
        at.close()

    # -- what goes out ------------------------------------------------------------------------------------

    def record(self, value: Mapping[str, Any], at_ms: int, rank: int | None) -> Outgoing:
        """Return a record as it is published. ``rank`` says which attribute named its session."""
        trace_id, span_id = value["event_id"].split("/")[:2]
        headers: Headers = [
            *self._headers,
            ("eddy-source", b"otlp"),
            ("traceparent", f"00-{trace_id}-{span_id}-01".encode()),
            ("eddy-session-key", self.named_by(rank).encode()),
        ]
        encoded = self._encode(reduced(value, self.options.content))
        return Outgoing(value["session_id"].encode(), encoded, at_ms, headers)

    def named_by(self, rank: int | None) -> str:
        """Return by what a session is named: conversation, session or trace."""
        if rank is None:
            return "trace"
        return "conversation" if self._keys[rank] == _CONVERSATION else "session"

    def fits(self, record: Outgoing) -> bool:
        """Tell whether the topic of records takes one."""
        return record_size(record) <= self._largest[Topic.DECISION_LOGS]

    def new_traces(self) -> Traces:
        """Return what knows how a trace is read, with counts of its own."""
        return Traces(self.options.session_keys)

    def too_large(self, source: LetterSource, record: Outgoing, bridged: Bridged) -> None:
        """Set a record aside that the topic does not take."""
        largest = self._largest[Topic.DECISION_LOGS]
        detail = f"a record is larger than {Topic.DECISION_LOGS} takes ({largest} bytes)"
        headers = [*record.headers, *self._headers_of(source, Reason.OVERSIZE, detail)]
        self._letter(record._replace(headers=headers), Reason.OVERSIZE, detail, source, bridged)

    def unusable(
        self, source: LetterSource, message: Message, request: TraceRequest, bridged: Bridged
    ) -> None:
        """Set a record of the topic aside of which some spans cannot be used."""
        total = len(request.spans) + request.unusable
        detail = f"{request.unusable} of {total} spans cannot be used, the first is {request.lack}"
        headers = self._headers_of(source, Reason.SCHEMA_VIOLATION, detail)
        letter = Outgoing(message.key, message.value, message.timestamp, [*message.headers, *headers])
        self._letter(letter, Reason.SCHEMA_VIOLATION, detail, source, bridged)

    def _dead_letter(self, run: Run, message: Message, reason: Reason, detail: str, bridged: Bridged) -> None:
        source = LetterSource(run.topic, run.partition, message.offset)
        headers = [*message.headers, *self._headers_of(source, reason, detail)]
        letter = Outgoing(message.key, message.value, message.timestamp, headers)
        self._letter(letter, reason, detail, source, bridged)

    def _set_aside_unreadable(self, run: Run, message: Unreadable, bridged: Bridged) -> None:
        reason = unreadable_reason(message)
        if not message.is_logged:
            bridged.dead_lettered[reason] += 1  # another letter represents it
            return
        source = LetterSource(run.topic, run.partition, message.offset, message.headers)
        headers = unreadable_headers(source, message, group=self._group, version=self._version)
        letter = Outgoing(message.key, message.value, message.timestamp, list(headers))
        self._letter(letter, reason, message.detail, source, bridged)

    def _headers_of(
        self, source: LetterSource, reason: Reason, detail: str
    ) -> Sequence[tuple[str, bytes | None]]:
        return dead_letter_headers(source, reason, detail, (), group=self._group, version=self._version)

    def _letter(
        self, letter: Outgoing, reason: Reason, detail: str, source: LetterSource, bridged: Bridged
    ) -> None:
        bridged.dead_lettered[reason] += 1
        bridged.violations.append(Violation(source.offset, reason, detail))
        bridged.add(Topic.SPAN_DEAD_LETTERS, cut_to_fit(letter, self._largest[Topic.SPAN_DEAD_LETTERS]))


class _Trace:
    """A trace that a fold works on, as a `TraceRow` has it."""

    __slots__ = ("bytes", "held", "offset", "touched_ms", "trace")

    def __init__(
        self, trace: Trace, held: Sequence[Held] = (), offset: int = -1, touched_ms: int = 0
    ) -> None:
        self.trace, self.held = trace, list(held)
        self.offset, self.touched_ms = offset, touched_ms
        self.bytes = sum(len(each.sealed) for each in held)


class _Partition:
    """A partition while a run is folded into it. `close` hands back what has changed."""

    def __init__(self, bridge: Bridge, topic: str, partition: int, rows: Rows, bridged: Bridged) -> None:
        self._bridge, self._topic, self._number, self._rows = bridge, topic, partition, rows
        self._bridged, self._traces = bridged, bridge.new_traces()
        self._open: dict[str, _Trace] = {}
        row = rows.get(PROGRESS)
        self._before = row if isinstance(row, BridgeProgress) else BridgeProgress(partition)
        self.offset, self.time_ms = self._before.offset, self._before.time_ms
        self._waiting = dict(self._before.waiting)
        #: When traces are due; what is no more in `_waiting` with that time is passed over.
        self._due = [(wait.due_ms, trace_id) for trace_id, wait in self._waiting.items()]
        heapify(self._due)

    def take(self, message: Message, request: TraceRequest) -> None:
        """Hold the spans of a record; what is too much goes out."""
        bridged = self._bridged
        source = LetterSource(self._topic, self._number, message.offset)
        if request.unusable:
            bridged.spans["dead"] += request.unusable
            self._bridge.unusable(source, message, request, bridged)
        if not is_keyed(message, request.spans):
            bridged.foreign_keys += 1
        changed: dict[str, _Trace] = {}
        for span in request.spans:
            trace = changed[span.trace_id] = self._opened(span.trace_id)
            trace.offset, trace.touched_ms = max(trace.offset, message.offset), self.time_ms
            self._hold(trace, span)
        for trace_id, trace in changed.items():
            self._wait(trace_id, trace)

    def release_due(self, time_ms: int) -> None:
        """Let go, of each trace, the spans that are due and those that ended before them."""
        arrived_ms = time_ms - self._bridge.options.hold_ms
        due = self._due
        while due and due[0][0] <= time_ms:
            due_ms, trace_id = heappop(due)
            wait = self._waiting.get(trace_id)
            if wait is None or wait.due_ms != due_ms:
                continue
            trace = self._opened(trace_id)
            in_order = sorted(trace.held, key=attrgetter("order"))
            # None is due where a crash left the row of the partition older than that of the trace.
            going = max((at + 1 for at, held in enumerate(in_order) if held.came_ms <= arrived_ms), default=0)
            self._release(trace, in_order[:going], in_order[going:], time_ms)
            del self._waiting[trace_id]
            self._wait(trace_id, trace)

    def close(self) -> None:
        """Hand back the rows that changed."""
        for trace_id, trace in self._open.items():
            row = TraceRow(self._number, trace.offset, trace.touched_ms, trace.trace, tuple(trace.held))
            if row != self._rows.get(trace_id):
                self._rows.put(row, trace_id)
        progress = BridgeProgress(self._number, self.offset, self.time_ms, MappingProxyType(self._waiting))
        if progress != self._before:
            self._rows.put(progress, PROGRESS)
        self._count()

    def _opened(self, trace_id: str) -> _Trace:
        found = self._open.get(trace_id)
        if found is None:
            row = self._rows.get(trace_id)
            if isinstance(row, TraceRow):
                found = _Trace(row.opened(), row.held, row.offset, row.touched_ms)
        # A trace that is forgotten is as good as gone. Its row is removed some time later.
        ttl_ms = self._bridge.options.trace_ttl_ms
        if found is None or (not found.held and found.touched_ms + ttl_ms < self.time_ms):
            found = _Trace(Trace(trace_id))
        self._open[trace_id] = found
        return found

    def _hold(self, trace: _Trace, span: Received) -> None:
        kept = self._traces.admit(trace.trace, span)
        if kept is None:
            return
        if kept.kind in (SpanKind.TOOL, SpanKind.MODEL):
            self._bridged.spans[kept.kind] += 1
        held = Held.of(kept, self.time_ms)
        trace.held.append(held)
        trace.bytes += len(held.sealed)
        if len(trace.held) > MOST_HELD or trace.bytes > MOST_HELD_BYTES:
            self._release(trace, trace.held, [], self.time_ms)

    def _wait(self, trace_id: str, trace: _Trace) -> None:
        if not trace.held:
            self._waiting.pop(trace_id, None)
            return
        due_ms = min(held.came_ms for held in trace.held) + self._bridge.options.hold_ms
        before = self._waiting.get(trace_id)
        self._waiting[trace_id] = SpanWait(due_ms, len(trace.held))
        if before is None or before.due_ms != due_ms:
            heappush(self._due, (due_ms, trace_id))

    def _release(self, trace: _Trace, going: Sequence[Held], staying: Sequence[Held], time_ms: int) -> None:
        bridge, bridged, known = self._bridge, self._bridged, trace.trace
        known.held = [held.span for held in going]
        trace.held = list(staying)
        trace.bytes = sum(len(held.sealed) for held in staying)
        bridged.held_ms.extend(time_ms - held.came_ms for held in going)
        is_new = known.records == 0
        for each in self._traces.release(known):
            if isinstance(each, Problem):
                bridged.without_content += each.reason is ProblemReason.NO_CONTENT
                continue
            assert each.value is not None
            rank = None if known.name is None else known.name.rank
            if is_new:
                bridged.sessions[bridge.named_by(rank)] += 1
                is_new = False
            record = bridge.record(each.value, time_ms, rank)
            if bridge.fits(record):
                bridged.add(Topic.DECISION_LOGS, record)
            else:
                source = LetterSource(self._topic, self._number, self.offset - 1)
                bridge.too_large(source, record, bridged)

    def _count(self) -> None:
        for kind, count in self._traces.counted.items():
            self._bridged.spans[kind.removesuffix(" span")] += count

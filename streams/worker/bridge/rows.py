"""What the bridge remembers of a partition: a row of each trace, and how far it has read.

Each row is bytes that are the same for the same content. What is held of a span stands there as bytes from
the first moment on, so that it leaves in the same way whether it came just now or was restored.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Any, Final, NamedTuple, Self

import orjson

from streams.formats.adapters.otlp.span import Span
from streams.formats.adapters.otlp.traces import SessionName, Trace, order
from streams.formats.adapters.record import argument_text

_VERSION: Final = 2
_READ_VERSIONS: Final = (1, 2)
_ID_DIGITS: Final = 16

PROGRESS: Final = ""
"""The name of the row of the partition itself."""


class Held(NamedTuple):
    """A span that waits.

    Attributes:
        order: its place among the spans of its trace.
        came_ms: when it came, by the records' clock.
        sealed: what is kept of it, as a line of JSON.
    """

    order: tuple[int, int, str]
    came_ms: int
    sealed: bytes

    @classmethod
    def of(cls, span: Span, came_ms: int) -> Self:
        """Return a span, held."""
        try:
            sealed = orjson.dumps(list(span))
        except orjson.JSONEncodeError:  # arguments that a strict writer refuses: nested too deeply, too large
            sealed = orjson.dumps(list(span._replace(arguments=argument_text(span.arguments))))
        return cls(order(span), came_ms, sealed)

    @classmethod
    def restored(cls, sealed: bytes, came_ms: int) -> Self:
        """Return a span as it was stored."""
        return cls(order(_opened(sealed)), came_ms, sealed)

    @property
    def span(self) -> Span:
        """What is kept of the span."""
        return _opened(self.sealed)


def _opened(sealed: bytes) -> Span:
    return Span(*orjson.loads(sealed))


@dataclass(frozen=True, slots=True)
class TraceRow:
    """A trace as it was after a record.

    Attributes:
        partition, offset: the newest record of the topic that had spans of it.
        touched_ms: the time of the partition then.
        trace: what is known of it. Never changed: `opened` gives a copy.
        held: the spans that wait, in the order in which they came.
    """

    partition: int
    offset: int
    touched_ms: int
    trace: Trace
    held: tuple[Held, ...] = ()

    def opened(self) -> Trace:
        """Return a copy that may be changed."""
        return replace(
            self.trace, seen=dict(self.trace.seen), rounds=dict(self.trace.rounds), awaited={}, held=[]
        )


class SpanWait(NamedTuple):
    """Spans of a trace that wait: until when the first of them does, and how many there are."""

    due_ms: int
    spans: int


@dataclass(frozen=True, slots=True)
class BridgeProgress:
    """How far a partition is processed.

    Attributes:
        offset: of the next record.
        time_ms: the largest timestamp of its records so far.
        waiting: the traces with spans that wait.
    """

    partition: int
    offset: int = 0
    time_ms: int = 0
    waiting: Mapping[str, SpanWait] = field(default_factory=lambda: MappingProxyType({}))


Row = TraceRow | BridgeProgress


def encode(row: Row) -> bytes:
    """Return the bytes a row is stored as. They begin with the version, the partition and the offset."""
    if isinstance(row, BridgeProgress):
        waiting = [[trace_id, *wait] for trace_id, wait in sorted(row.waiting.items())]
        return orjson.dumps([_VERSION, row.partition, row.offset, row.time_ms, waiting])
    trace = row.trace
    head = [
        _VERSION,
        row.partition,
        row.offset,
        row.touched_ms,
        trace.trace_id,
        None if trace.name is None else list(trace.name),
        trace.session_id,
        trace.tokens,
        trace.words,
        list(trace.released),
        trace.records,
        [held.came_ms for held in row.held],
        trace.cached,
        trace.rounds,
    ]
    lines = (orjson.dumps(head), *(held.sealed for held in row.held))
    return b"\n".join((*lines, bytes.fromhex("".join(trace.seen))))


def decode(stored: bytes) -> Row:
    """Return the row that `encode` stored.

    Raises:
        ValueError, TypeError, KeyError, IndexError: the bytes are of a newer version, or damaged.
    """
    first, found, rest = stored.partition(b"\n")
    head: list[Any] = orjson.loads(first)
    if head[0] not in _READ_VERSIONS:
        raise ValueError(f"version {head[0]}, this version of Eddy reads {_VERSION}")
    if not found:
        _, partition, offset, time_ms, waiting = head
        waits = {trace_id: SpanWait(due_ms, spans) for trace_id, due_ms, spans in waiting}
        return BridgeProgress(partition, offset, time_ms, MappingProxyType(waits))
    if head[0] == 1:  # knew neither cached tokens nor rounds
        head += [None, {}]
    _, partition, offset, touched_ms, trace_id, name, session_id, tokens, words, *more = head
    released, records, came, cached, rounds = more
    *lines, ids = rest.split(b"\n", len(came))
    digits = ids.hex()
    trace = Trace(
        trace_id,
        name=None if name is None else SessionName(*name),
        session_id=session_id,
        tokens=tokens,
        cached=cached,
        words=words,
        rounds={above: (model, ended) for above, (model, ended) in rounds.items()},
        seen={digits[at : at + _ID_DIGITS]: None for at in range(0, len(digits), _ID_DIGITS)},
        released=(released[0], released[1], released[2]),
        records=records,
    )
    held = tuple(Held.restored(line, came_ms) for line, came_ms in zip(lines, came, strict=True))
    return TraceRow(partition, offset, touched_ms, trace, held)


def touched_ms(stored: bytes) -> int | None:
    """Return when a trace was touched, read from the beginning of its row; None of the row of a partition.

    >>> touched_ms(encode(TraceRow(0, 7, 1500, Trace("ab")))), touched_ms(encode(BridgeProgress(0, 7, 1500)))
    (1500, None)
    """
    return int(stored.split(b",", 4)[3]) if b"\n" in stored else None

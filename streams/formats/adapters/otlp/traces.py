"""The records of a trace: its spans held, put in order, and each taken once.

One core for files and for streams: they differ only in when they release what is held.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from typing import Any, Final, NamedTuple

from streams.core.entry import Entry
from streams.formats.adapters.adapter import IntakeReason, Problem
from streams.formats.adapters.log import Found
from streams.formats.adapters.otlp.span import Received, Span, SpanKind
from streams.formats.adapters.otlp.values import SESSION_KEYS, reduced, session_of
from streams.formats.adapters.record import LARGEST_COUNT, Agent, AgentStep, decision_log, not_captured

SPANS_REMEMBERED: Final = 2_048
"""Ids of a trace's spans, the newest ones, by which a repeated span is found."""

MOST_HELD: Final = 10_000
"""Spans of one trace that wait. With one more they go out."""

MOST_TRACES: Final = 2_000
"""Traces that are held. With one more the one that was used first goes out and is forgotten."""

MOST_ROUNDS: Final = 32
"""Spans of a trace below which calls of a model are known to be a round."""


class SessionName(NamedTuple):
    """What names the session: the rank of the attribute, then the span, and the value."""

    rank: int
    end: int
    start: int
    span_id: str
    value: str


@dataclass(slots=True)
class Trace:
    """What is known of a trace.

    Attributes:
        name: what names its session so far.
        session_id: the session, from the first record on.
        tokens, cached, words: of the models since the record before.
        rounds: the newest model that asked for calls and its end, by the span below which these stand.
        seen: ids of spans, the newest last.
        awaited: parents that have not come, of spans that have.
        held: spans that wait; models, tool calls and the root.
        rooted: whether its root has come. As `awaited`, only files need it.
        released: the order of the last span that went out.
        records: how many went out.
    """

    trace_id: str
    name: SessionName | None = None
    session_id: str | None = None
    tokens: int | None = None
    cached: int | None = None
    words: str | None = None
    rounds: dict[str, tuple[str, int]] = field(default_factory=dict)
    seen: dict[str, None] = field(default_factory=dict)
    awaited: dict[str, None] = field(default_factory=dict)
    held: list[Span] = field(default_factory=list)
    rooted: bool = False
    released: tuple[int, int, str] = (0, 0, "")
    records: int = 0

    @property
    def whole(self) -> bool:
        """Tell whether the root has come, every parent of a span that has, and more than the root."""
        return self.rooted and not self.awaited and any(not _is_other(span) for span in self.held)

    def frozen(self) -> dict[str, Any]:
        """Return it as a value of JSON."""
        return {
            **asdict(self),
            "name": None if self.name is None else list(self.name),
            "seen": list(self.seen),
            "awaited": list(self.awaited),
            "held": [list(each) for each in self.held],
            "rounds": {above: list(each) for above, each in self.rounds.items()},
        }

    @classmethod
    def thawed(cls, value: dict[str, Any]) -> Trace:
        """Return what `frozen` gave.

        Raises:
            TypeError, KeyError, AttributeError, ValueError: it is something else.
        """
        end, start, span_id = value["released"]
        return cls(
            **{
                **value,
                "name": None if value["name"] is None else SessionName(*value["name"]),
                "seen": dict.fromkeys(value["seen"]),
                "awaited": dict.fromkeys(value["awaited"]),
                "held": [Span(*each) for each in value["held"]],
                "released": (end, start, span_id),
                "rounds": {above: (model, ended) for above, (model, ended) in value["rounds"].items()},
            }
        )


class Traces:
    """Takes spans in any order, each as often as it comes, and releases the records of a trace.

    Attributes:
        counted: spans by kind, and those repeated or late.
    """

    def __init__(self, session_keys: tuple[str, ...] = ()) -> None:
        self._keys = (*session_keys, *SESSION_KEYS)
        self.counted: Counter[str] = Counter()
        self.traces: dict[str, Trace] = {}

    def take(self, span: Received) -> Found:
        """Hold a span. Yields records only if too many wait."""
        trace = self.traces.pop(span.trace_id, None) or Trace(span.trace_id)
        if len(self.traces) >= MOST_TRACES:
            yield from self.release(self.traces.pop(next(iter(self.traces))))
        self.traces[span.trace_id] = trace
        is_new = span.span_id not in trace.seen
        kept = self.admit(trace, span)
        trace.rooted |= span.parent_id is None
        if is_new:
            _await(trace, span)
        if kept is None:
            return
        trace.held.append(kept)
        if len(trace.held) > MOST_HELD:
            yield from self.release(trace)

    def admit(self, trace: Trace, span: Received) -> Span | None:
        """Return what is kept of a span until it goes out, None if it says nothing or came before."""
        if span.span_id in trace.seen:
            self.counted["repeated span"] += 1
            return None
        _remember(trace, span.span_id)
        self._name(trace, span)
        kept = reduced(span)
        if kept.parent_id is not None and kept.kind not in (SpanKind.TOOL, SpanKind.MODEL):
            self.counted[f"{kept.kind} span"] += 1
            return None
        return kept

    def release_whole(self) -> Found:
        """Yield the records of the traces that are whole, in the order of their ends."""
        yield from self._release_all([each for each in self.traces.values() if each.whole])

    def release_all(self) -> Found:
        """Yield the records of everything that is held."""
        yield from self._release_all([each for each in self.traces.values() if each.held])

    def _release_all(self, traces: list[Trace]) -> Found:
        for trace in sorted(traces, key=lambda each: max(order(span) for span in each.held)):
            yield from self.release(trace)

    def release(self, trace: Trace) -> Found:
        """Yield the records of the spans that a trace holds, by their ends."""
        held, trace.held = sorted(trace.held, key=order), []
        for span in held:
            if order(span) < trace.released:
                self.counted["late span"] += 1
            else:
                trace.released = order(span)
            yield from self._one(trace, span)
        for span in held:
            if span.parent_id is None:
                yield from self._end(trace, span)

    def _one(self, trace: Trace, span: Span) -> Found:
        if span.kind == SpanKind.TOOL:
            if span.arguments is None:
                yield Problem(
                    trace.trace_id, IntakeReason.NO_CONTENT, f"{span.tool}, span {span.span_id}"[:200]
                )
            arguments = not_captured(span.span_id) if span.arguments is None else span.arguments
            yield self._record(trace, span, _step(trace, span, tool=span.tool, arguments=arguments))
        elif span.kind == SpanKind.MODEL:
            if span.tokens is not None:
                trace.tokens = min((trace.tokens or 0) + span.tokens, LARGEST_COUNT)
            if span.cached is not None:
                trace.cached = min((trace.cached or 0) + span.cached, LARGEST_COUNT)
            _note_round(trace, span)
            if span.words and span.words.strip():
                trace.words = span.words
                if not span.calls:
                    yield self._record(trace, span, _step(trace, span, kind="llm"))
        else:
            self.counted[f"{span.kind} span"] += 1

    def _end(self, trace: Trace, root: Span) -> Iterator[Entry]:
        """Yield the record of the end, if the trace is the session and has other records."""
        if trace.records == 0 or trace.name is not None:
            return
        step = AgentStep(
            event_id=f"{trace.trace_id}/{root.span_id}" + ("" if _is_other(root) else "/end"),
            at=root.end // 1_000_000,
            status="failure" if root.failed else "success",
            kind="system",
            output=root.output if root.failed and _is_other(root) else None,
            terminal=True,
        )
        yield self._record(trace, root, step)

    def _record(self, trace: Trace, span: Span, step: AgentStep) -> Entry:
        if trace.session_id is None:
            trace.session_id = trace.trace_id if trace.name is None else trace.name.value
        if step.kind != "system":
            trace.tokens = trace.cached = trace.words = None
        trace.records += 1
        agent = Agent(span.agent_id, span.agent_type, span.version)
        log = decision_log(trace.session_id, agent, step, trace_id=trace.trace_id)
        return Entry(key=log["session_id"], timestamp=None, value=log, raw=None)

    def _name(self, trace: Trace, span: Received) -> None:
        """Take the name of the session from a span: the strongest attribute of the span that ends first."""
        if trace.session_id is not None:
            return
        found = session_of(span, self._keys)
        if found is not None:
            name = SessionName(found[0], span.end, span.start, span.span_id, found[1])
            trace.name = name if trace.name is None else min(trace.name, name)

    def frozen(self) -> dict[str, Any]:
        """Return it as a value of JSON."""
        return {"counted": self.counted, "traces": [each.frozen() for each in self.traces.values()]}

    def thaw(self, value: dict[str, Any]) -> None:
        """Take what `frozen` gave.

        Raises:
            TypeError, KeyError, AttributeError, ValueError: it is something else.
        """
        traces = [Trace.thawed(each) for each in value["traces"]]
        self.traces = {each.trace_id: each for each in traces}
        self.counted = Counter(value["counted"])


def _step(
    trace: Trace, span: Span, *, kind: str = "tool", tool: str | None = None, arguments: Any = None
) -> AgentStep:
    return AgentStep(
        event_id=f"{trace.trace_id}/{span.span_id}",
        at=span.end // 1_000_000,
        status="failure" if span.failed else "success",
        kind=kind,
        tool=tool,
        arguments=arguments,
        output=span.output,
        words=trace.words,
        parent=span.parent_id,
        tokens=trace.tokens,
        cached=trace.cached,
        round_id=_round_of(trace, span) if kind == "tool" else None,
    )


def _note_round(trace: Trace, model: Span) -> None:
    """Note a model that asked for calls. They stand below it, or beside it below the same span."""
    for above in (model.span_id, model.parent_id):
        if above is None:
            continue
        trace.rounds.pop(above, None)
        if model.calls:
            if len(trace.rounds) >= MOST_ROUNDS:
                del trace.rounds[next(iter(trace.rounds))]
            trace.rounds[above] = model.span_id, model.end


def _round_of(trace: Trace, call: Span) -> str | None:
    """Return the model that asked for a call, None if it is not known.

    A call that began before the model beside it had ended is another one's: some programs end the span of a
    model only after the calls that it asked for.
    """
    if call.parent_id is None or call.parent_id not in trace.rounds:
        return None
    model, ended = trace.rounds[call.parent_id]
    return model if model == call.parent_id or ended <= call.start else None


def _remember(trace: Trace, span_id: str) -> None:
    if len(trace.seen) >= SPANS_REMEMBERED:
        del trace.seen[next(iter(trace.seen))]
    trace.seen[span_id] = None


def _await(trace: Trace, span: Received) -> None:
    trace.awaited.pop(span.span_id, None)
    if span.parent_id is not None and span.parent_id not in trace.seen and len(trace.awaited) < MOST_HELD:
        trace.awaited[span.parent_id] = None


def order(span: Span) -> tuple[int, int, str]:
    """Return by what spans are sorted: the end in ms, the start, the id.

    In ms, as records have it: JavaScript mixes two clocks, and a call may end before its model by some ns.
    """
    return span.end // 1_000_000, span.start, span.span_id


def _is_other(span: Span) -> bool:
    return span.kind not in (SpanKind.TOOL, SpanKind.MODEL)

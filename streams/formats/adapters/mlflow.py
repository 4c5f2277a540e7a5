"""Traces of MLflow, ``Trace.to_json()``: spans whose attributes are JSON texts.

The session stands in the metadata of the trace; without one the trace is the session, and the end of its root
span ends it. The usage that agents and chains report is a sum over their models and is not counted.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final, NamedTuple

from streams.formats.adapters.adapter import CERTAIN, NO, Format, IntakeReason, Problem, UnitKind
from streams.formats.adapters.conversation import Conversation
from streams.formats.adapters.document import DocumentAdapter, DocumentValue
from streams.formats.adapters.heads import head_values
from streams.formats.adapters.log import Found
from streams.formats.adapters.record import AgentStep, json_value, not_captured, text_or_none, whole
from streams.formats.adapters.tool_answer import answered_call, asked_calls, tool_answer

NAME: Final = "mlflow"
_SESSION: Final = "mlflow.trace.session"
_MODELS: Final = frozenset({"CHAT_MODEL", "LLM"})


class MlflowSpan(NamedTuple):
    """What is kept of a span. Times are ns."""

    end: int
    start: int
    span_id: str
    parent_id: str | None
    kind: str
    value: dict[str, Any]
    attributes: dict[str, Any]


class MLflow(DocumentAdapter):
    """Reads one trace, or a list of them."""

    def read(self, parts: Iterator[DocumentValue]) -> Found:
        """Yield the records of traces."""
        for part in parts:
            for value in part.value if isinstance(part.value, list) else [part.value]:
                match value:
                    case {"info": dict(info), "data": {"spans": list(spans)}}:
                        yield from self._trace(info, spans)
                    case _:
                        yield self.unknown(self.name, "no trace: no info or no spans")

    def _trace(self, info: dict[str, Any], given: list[Any]) -> Found:
        trace_id = text_or_none(info.get("trace_id")) or text_or_none(info.get("request_id")) or self.name
        session_id = _session(info)
        conversation = Conversation(session_id or trace_id, NAME, NAME, trace_id=trace_id)
        spans: list[MlflowSpan] = []
        for each in given:
            span = _span(each)
            if isinstance(span, MlflowSpan):
                spans.append(span)
            else:
                yield Problem(trace_id, IntakeReason.UNKNOWN_SHAPE, span)
        counted = _models_that_count(spans)
        rounds = _rounds(spans, trace_id)
        for span in sorted(spans, key=lambda each: (each.end, each.start, each.span_id)):
            event_id = f"{trace_id}/{span.span_id}"
            if span.kind == "TOOL":
                step = _step(span, event_id)
                if "mlflow.spanInputs" not in span.attributes:
                    yield Problem(trace_id, IntakeReason.NO_CONTENT, f"{step.tool}, span {span.span_id[:80]}")
                yield conversation.entry(step._replace(round_id=rounds.get(span.span_id)))
            elif span.span_id in counted:
                billed, cached = _tokens(span.attributes)
                conversation.spend(billed, cached=cached)
            elif span.parent_id is None and session_id is None:
                error = _error(span) if _failed(span.value) else None
                yield conversation.end(span.end // 1_000_000, event_id=event_id, error=error)
            else:
                self.ignored[f"span of type {span.kind}"[:60]] += 1


def sniff(head: bytes, _name: str) -> int:
    """Recognise a trace by its spans, or by the ids and metadata before them."""
    for given in head_values(head):
        for value in given if isinstance(given, list) else [given]:
            match value:
                case {"info": dict(info)} if any(
                    key in info for key in ("trace_metadata", "request_metadata")
                ):
                    return CERTAIN
                case {"info": dict(), "data": {"spans": list()}}:
                    return CERTAIN
                case _:
                    pass
    return NO


def _session(info: dict[str, Any]) -> str | None:
    for key in ("trace_metadata", "request_metadata"):
        metadata = info.get(key)
        if isinstance(metadata, dict) and (found := text_or_none(metadata.get(_SESSION))) is not None:
            return found
    return None


def _span(value: Any) -> MlflowSpan | str:
    """Return a span, or what it lacks. The names of version 2 are the second ones."""
    if not isinstance(value, dict):
        return "a span that is not an object"
    context = value.get("context")
    context = context if isinstance(context, dict) else {}
    span_id = text_or_none(value.get("span_id")) or text_or_none(context.get("span_id"))
    start = whole(value.get("start_time_unix_nano", value.get("start_time")))
    end = whole(value.get("end_time_unix_nano", value.get("end_time")))
    if span_id is None or start is None or end is None:
        return "a span without an id or its times"
    given = value.get("attributes")
    given = given if isinstance(given, dict) else {}
    attributes = {key: json_value(each) for key, each in given.items() if each != "null"}
    kind = attributes.get("mlflow.spanType")
    parent = text_or_none(value.get("parent_span_id")) or text_or_none(value.get("parent_id"))
    return MlflowSpan(
        end, start, span_id, parent, kind if isinstance(kind, str) else "UNKNOWN", value, attributes
    )


def _models_that_count(spans: list[MlflowSpan]) -> set[str]:
    """Return the spans of models that are not around another model, which reports the same usage."""
    models = [span for span in spans if span.kind in _MODELS]
    around = {span.parent_id for span in models}
    return {span.span_id for span in models if span.span_id not in around}


def _rounds(spans: list[MlflowSpan], trace_id: str) -> dict[str, str]:
    """Return the model that asked for each call, by the call's span; without calls whose model is unknown.

    It is the model above the call, the one that named its id, or the one beside it that asked for calls and
    had ended when the call began.
    """
    kinds = {span.span_id: span.kind for span in spans}
    asked: dict[str, str] = {}
    beside: dict[str, MlflowSpan | None] = {}
    found: dict[str, str] = {}
    for span in sorted(spans, key=lambda each: (each.end, each.start, each.span_id)):
        above = span.parent_id or ""
        if span.kind in _MODELS:
            calls = asked_calls(span.attributes.get("mlflow.spanOutputs"))
            asked.update(dict.fromkeys(calls, span.span_id))
            beside[above] = span if calls else None
        elif span.kind == "TOOL":
            call_id, near = answered_call(span.attributes.get("mlflow.spanOutputs")), beside.get(above)
            model = above if kinds.get(above) in _MODELS else asked.get(call_id or "")
            if model is None and near is not None and near.end <= span.start:
                model = near.span_id
            if model is not None:
                found[span.span_id] = f"{trace_id}/{model}"
    return found


def _step(span: MlflowSpan, event_id: str) -> AgentStep:
    answer = tool_answer(span.attributes.get("mlflow.spanOutputs"))
    failed = _failed(span.value)
    return AgentStep(
        event_id=event_id,
        at=span.end // 1_000_000,
        status="failure" if failed or answer.failed else "success",
        tool=text_or_none(span.value.get("name")) or "tool",
        arguments=span.attributes.get("mlflow.spanInputs", not_captured(span.span_id)),
        output=_error(span) or answer.text if failed else answer.text,
        parent=None,
    )


def _failed(span: dict[str, Any]) -> bool:
    status = span.get("status")
    code = status.get("code") if isinstance(status, dict) else status or span.get("status_code")
    return code == 2 or (isinstance(code, str) and code.endswith("ERROR"))


def _error(span: MlflowSpan) -> str | None:
    """Return the text of a failure: of the exception, else of the status."""
    events = span.value.get("events")
    for event in events if isinstance(events, list) else ():
        match event:
            case {"attributes": {"exception.message": str(message)}} if message:
                held = json_value(message)
                return held if isinstance(held, str) else message
            case _:
                pass
    status = span.value.get("status")
    said = status.get("message") if isinstance(status, dict) else span.value.get("status_message")
    return text_or_none(said)


def _tokens(attributes: dict[str, Any]) -> tuple[int | None, int | None]:
    """Return the tokens that were billed in full, and those from a cache.

    The input includes the latter, but not that of Anthropic: then there may be more of them than of it.
    """
    usage = attributes.get("mlflow.chat.tokenUsage")
    if not isinstance(usage, dict):
        return None, None
    total, cached = whole(usage.get("total_tokens")), whole(usage.get("cache_read_input_tokens")) or 0
    counts = [whole(usage.get(key)) for key in ("input_tokens", "output_tokens")]
    if total is None:
        known = [count for count in counts if count is not None]
        total = sum(known) if known else None
    if total is not None and cached <= (total if counts[0] is None else counts[0]):
        total -= cached
    return total, cached or None


FORMAT: Final = Format(NAME, UnitKind.DOCUMENT, sniff, MLflow, MLflow.resume)

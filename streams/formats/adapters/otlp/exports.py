"""Spans as stores of traces hand them out: Jaeger's JSON, Phoenix's spans, Langfuse's observations.

They have the spans of OTLP in other words. Each is read as the span it was.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from streams.formats.adapters.otlp.span import ERROR, Received
from streams.formats.adapters.record import json_text, milliseconds, text_or_none, whole

_NS_OF_MS: Final = 1_000_000
_NS_OF_US: Final = 1_000
_OBSERVATIONS: Final = {
    "GENERATION": "generation",
    "EMBEDDING": "generation",
    "TOOL": "tool",
    "AGENT": "agent",
}
_DEEPEST: Final = 2


def spans_of_export(value: Any, depth: int = 0) -> Iterator[Received | str] | None:
    """Return the spans of an export, None if it is none.

    >>> spans_of_export({"data": [{"spans": [], "processes": {}}]}) is None, spans_of_export({"a": 1}) is None
    (False, True)
    """
    match value:
        case {"data": [{"spans": list(), "processes": dict()}, *_] as traces}:
            return (span for trace in traces if isinstance(trace, dict) for span in _of_jaeger(trace))
        case {"spans": list(), "processes": dict()}:
            return _of_jaeger(value)
        case [{"context": {"trace_id": str(), "span_id": str()}, "attributes": _}, *_]:
            return (_of_phoenix(each) for each in value)
        case [{"traceId": str(), "type": str(), "startTime": str(), "id": str()}, *_]:
            return (_of_langfuse(each) for each in value)
        case {"observations": list(found)} if found and depth < _DEEPEST:
            return spans_of_export(found, depth + 1)
        case {"data": list(found)} if found and depth < _DEEPEST:
            return spans_of_export(found, depth + 1)
        case _:
            return None


def _of_jaeger(trace: dict[str, Any]) -> Iterator[Received | str]:
    processes = trace.get("processes")
    spans = trace.get("spans")
    for span in spans if isinstance(spans, list) else ():
        if not isinstance(span, dict):
            yield "a span that is no object"
            continue
        trace_id, span_id = text_or_none(span.get("traceID")), text_or_none(span.get("spanID"))
        start, lasted = whole(span.get("startTime")), whole(span.get("duration"))
        if trace_id is None or span_id is None or start is None or lasted is None:
            yield "a span without ids or times"
            continue
        tags = _tags(span.get("tags"))
        named = text_or_none(span.get("processID"))
        process = processes.get(named) if isinstance(processes, dict) else None
        process = process if isinstance(process, dict) else {}
        service = _tags(process.get("tags")) | {"service.name": process.get("serviceName")}
        failed = tags.get("otel.status_code") == "ERROR" or tags.get("error") is True
        yield Received(
            trace_id=trace_id,
            span_id=span_id,
            parent_id=_parent(span.get("references")),
            name=str(span.get("operationName") or ""),
            start=start * _NS_OF_US,
            end=(start + lasted) * _NS_OF_US,
            code=ERROR if failed else 0,
            message=str(tags.get("otel.status_description") or ""),
            attributes=tags,
            events=list(_logs(span.get("logs"))),
            service=service,
        )


def _tags(given: Any) -> dict[str, Any]:
    tags = given if isinstance(given, list) else []
    return {str(each["key"]): each.get("value") for each in tags if isinstance(each, dict) and "key" in each}


def _parent(references: Any) -> str | None:
    for each in references if isinstance(references, list) else ():
        if isinstance(each, dict) and each.get("refType") == "CHILD_OF":
            return text_or_none(each.get("spanID"))
    return None


def _logs(given: Any) -> Iterator[tuple[str, dict[str, Any]]]:
    for each in given if isinstance(given, list) else ():
        fields = _tags(each.get("fields")) if isinstance(each, dict) else {}
        yield str(fields.pop("event", "")), fields


def _of_phoenix(span: Any) -> Received | str:
    match span:
        case {"context": {"trace_id": str(trace_id), "span_id": str(span_id)}}:
            start, end = milliseconds(span.get("start_time")), milliseconds(span.get("end_time"))
        case _:
            return "a span without ids"
    if start is None or end is None:
        return "a span without its times"
    attributes = span.get("attributes")
    attributes = dict(attributes) if isinstance(attributes, dict) else {}
    if isinstance(kind := span.get("span_kind"), str):
        attributes.setdefault("openinference.span.kind", kind)
    events = span.get("events")
    return Received(
        trace_id=trace_id,
        span_id=span_id,
        parent_id=text_or_none(span.get("parent_id")),
        name=str(span.get("name") or ""),
        start=start * _NS_OF_MS,
        end=end * _NS_OF_MS,
        code=ERROR if span.get("status_code") == "ERROR" else 0,
        message=str(span.get("status_message") or ""),
        attributes=attributes,
        events=[
            (str(each.get("name") or ""), each["attributes"])
            for each in (events if isinstance(events, list) else ())
            if isinstance(each, dict) and isinstance(each.get("attributes"), dict)
        ],
        service={"service.name": "phoenix"},
    )


def _of_langfuse(span: Any) -> Received | str:
    match span:
        case {"traceId": str(trace_id), "id": str(span_id), "type": str(kind)}:
            start = milliseconds(span.get("startTime"))
            end = milliseconds(span.get("endTime"))
        case _:
            return "an observation without ids"
    if start is None:
        return "an observation without its time"
    attributes: dict[str, Any] = {
        "langfuse.observation.type": _OBSERVATIONS.get(kind.upper(), kind.lower()),
        "langfuse.observation.level": span.get("level"),
        "langfuse.observation.status_message": span.get("statusMessage"),
    }
    for key in ("input", "output"):
        given = span.get(key)
        if given is not None:
            attributes[f"langfuse.observation.{key}"] = given if isinstance(given, str) else json_text(given)
    usage = span.get("usageDetails")
    if isinstance(usage, dict):
        attributes["langfuse.observation.usage_details"] = json_text(usage)
    if (session := text_or_none(span.get("sessionId"))) is not None:
        attributes["langfuse.session.id"] = session
    return Received(
        trace_id=trace_id,
        span_id=span_id,
        parent_id=text_or_none(span.get("parentObservationId")),
        name=str(span.get("name") or ""),
        start=start * _NS_OF_MS,
        end=(start if end is None else end) * _NS_OF_MS,
        code=ERROR if span.get("level") == "ERROR" else 0,
        message=str(span.get("statusMessage") or ""),
        attributes=attributes,
        events=[],
        service={"service.name": "langfuse"},
    )

"""Requests of OTLP in JSON: ids in hex digits, 64-bit numbers as text, unknown fields ignored."""

from __future__ import annotations

import base64
import re
from collections.abc import Iterator
from typing import Any, Final

from streams.formats.adapters.otlp.span import Received

_HEX: Final = re.compile(r"[0-9a-f]+")
_CODES: Final = {"STATUS_CODE_UNSET": 0, "STATUS_CODE_OK": 1, "STATUS_CODE_ERROR": 2}
_DEEPEST: Final = 20
_LARGEST: Final = 2**63


def spans_of_json(value: dict[str, Any]) -> Iterator[Received | str]:
    """Yield the spans of a request, and in their place what the unusable ones lack."""
    for resource_spans in _objects(value, "resourceSpans", "resource_spans"):
        resource = resource_spans.get("resource")
        service = _attributes(resource.get("attributes")) if isinstance(resource, dict) else {}
        for scope_spans in _objects(
            resource_spans, "scopeSpans", "scope_spans", "instrumentationLibrarySpans"
        ):
            for span in _objects(scope_spans, "spans"):
                yield _span(span, service)


def _span(span: dict[str, Any], service: dict[str, Any]) -> Received | str:
    trace_id = _identity(_get(span, "traceId", "trace_id"), 16)
    span_id = _identity(_get(span, "spanId", "span_id"), 8)
    start = _integer(_get(span, "startTimeUnixNano", "start_time_unix_nano"))
    end = _integer(_get(span, "endTimeUnixNano", "end_time_unix_nano"))
    if trace_id is None or span_id is None:
        return "a span without ids"
    if not start or not end:
        return "a span without its times"
    name, status = span.get("name"), span.get("status")
    status = status if isinstance(status, dict) else {}
    message, code = status.get("message"), status.get("code")
    return Received(
        trace_id=trace_id,
        span_id=span_id,
        parent_id=_identity(_get(span, "parentSpanId", "parent_span_id"), 8),
        name=name if isinstance(name, str) else "",
        start=start,
        end=end,
        code=_CODES.get(code, 0) if isinstance(code, str) else _integer(code) or 0,
        message=message if isinstance(message, str) else "",
        attributes=_attributes(span.get("attributes")),
        events=[
            (
                event["name"] if isinstance(event.get("name"), str) else "",
                _attributes(event.get("attributes")),
            )
            for event in _objects(span, "events")
        ],
        service=service,
    )


def _get(value: dict[str, Any], name: str, other: str) -> Any:
    return value.get(name, value.get(other))


def _objects(value: dict[str, Any], *names: str) -> Iterator[dict[str, Any]]:
    given = next((value[name] for name in names if name in value), None)
    if isinstance(given, list):
        yield from (each for each in given if isinstance(each, dict))


def _identity(value: Any, length: int) -> str | None:
    """Return an id as hex digits, None if it is none. Some writers give base64."""
    if not isinstance(value, str):
        return None
    text = value.lower()
    if len(text) != 2 * length or not _HEX.fullmatch(text):
        try:
            held = base64.b64decode(value, validate=True)
        except ValueError:
            return None
        if len(held) != length:
            return None
        text = held.hex()
    return text if text.strip("0") else None


def _integer(value: Any) -> int | None:
    """Return a number of 64 bits, which stands as a text."""
    if isinstance(value, str) and len(value) <= 20 and value.isdecimal() and value.isascii():
        value = int(value)
    if isinstance(value, int) and not isinstance(value, bool) and 0 <= value < _LARGEST:
        return value
    return None


def _attributes(given: Any, depth: int = 0) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for each in given if isinstance(given, list) else ():
        match each:
            case {"key": str(key), "value": value}:
                found[key] = _value(value, depth)
            case _:
                pass
    return found


def _value(value: Any, depth: int = 0) -> Any:
    match value:
        case {"stringValue": str(held)} | {"boolValue": bool(held)} | {"bytesValue": str(held)}:
            return held
        case {"intValue": int() | str() as number}:
            return _signed(number)
        case {"doubleValue": int() | float() | str() as number}:
            return number
        case {"arrayValue": dict(held)} if depth < _DEEPEST:
            values = held.get("values")
            return [_value(each, depth + 1) for each in values] if isinstance(values, list) else []
        case {"kvlistValue": dict(held)} if depth < _DEEPEST:
            return _attributes(held.get("values"), depth + 1)
        case _:
            return None


def _signed(value: int | str) -> int | None:
    negative = isinstance(value, str) and value.startswith("-")
    number = _integer(value[1:] if isinstance(value, str) and negative else value)
    return -number if negative and number is not None else number

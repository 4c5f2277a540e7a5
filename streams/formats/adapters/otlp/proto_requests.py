"""Requests of OTLP in protobuf.

The cutting of a stream of OTLP requests in protobuf.

Each request stands behind its length, 4 bytes, big-endian. A file may also be one bare request.
"""

from __future__ import annotations

import base64
from collections.abc import Iterable, Iterator
from typing import Any, BinaryIO, Final

from google.protobuf.message import DecodeError
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.common.v1.common_pb2 import AnyValue, KeyValue
from opentelemetry.proto.trace.v1 import trace_pb2

from streams.formats.adapters.adapter import LONGEST_DOCUMENT, LONGEST_UNIT
from streams.formats.adapters.otlp.span import Received

LENGTH: Final = 4
"""Bytes of the length before a request."""

REQUEST_BEGINS: Final = 0x0A
"""The first byte of a request: its field 1, a message."""


def cut_requests(stream: BinaryIO) -> Iterator[bytes]:
    r"""Yield the requests of a stream one by one; what it holds as it is if it is one bare request.

    What does not fit is the last unit, and unreadable.

    >>> from io import BytesIO
    >>> list(cut_requests(BytesIO(b"\0\0\0\x02\x0a\0" * 2)))
    [b'\n\x00', b'\n\x00']
    >>> list(cut_requests(BytesIO(b"\x0a\0")))
    [b'\n\x00']
    """
    while begun := stream.read(LENGTH):
        length = int.from_bytes(begun, "big")
        if begun[0] == REQUEST_BEGINS or not 0 < length <= LONGEST_UNIT:
            yield begun + stream.read(LONGEST_DOCUMENT)
            return
        unit = stream.read(length)
        yield unit if len(unit) == length else begun + unit


_DEEPEST: Final = 20


def begins_like_requests(head: bytes) -> bool:
    """Tell whether this is the head of a stream of requests, or of a bare one."""
    if head[:1] == bytes([REQUEST_BEGINS]):
        found = decoded_request(head)
        return (
            found is not None and len(found.resource_spans) > 0 and bool(found.resource_spans[0].scope_spans)
        )
    length = int.from_bytes(head[:LENGTH], "big")
    first = head[LENGTH : LENGTH + length]
    if length == 0 or first[:1] != bytes([REQUEST_BEGINS]):
        return False
    if len(first) < length:
        return len(head) > LENGTH + 1 and length < 2**28
    found = decoded_request(first)
    return found is not None and len(found.resource_spans) > 0


def decoded_request(unit: bytes) -> ExportTraceServiceRequest | None:
    """Return a request, None if these bytes are none."""
    try:
        return ExportTraceServiceRequest.FromString(unit)
    except DecodeError:
        return None


def spans_of_proto(request: ExportTraceServiceRequest) -> Iterator[Received | str]:
    """Yield the spans of a request, and in their place what the unusable ones lack."""
    for resource_spans in request.resource_spans:
        service = _attributes(resource_spans.resource.attributes)
        for scope_spans in resource_spans.scope_spans:
            for span in scope_spans.spans:
                yield _span(span, service)


def _span(span: trace_pb2.Span, service: dict[str, Any]) -> Received | str:
    trace_id, span_id = _identity(span.trace_id, 16), _identity(span.span_id, 8)
    if trace_id is None or span_id is None:
        return "a span without ids"
    if not span.start_time_unix_nano or not 0 < span.end_time_unix_nano < 2**63:
        return "a span without its times"
    return Received(
        trace_id=trace_id,
        span_id=span_id,
        parent_id=_identity(span.parent_span_id, 8),
        name=span.name,
        start=span.start_time_unix_nano,
        end=span.end_time_unix_nano,
        code=span.status.code,
        message=span.status.message,
        attributes=_attributes(span.attributes),
        events=[(event.name, _attributes(event.attributes)) for event in span.events],
        service=service,
    )


def _identity(value: bytes, length: int) -> str | None:
    return value.hex() if len(value) == length and any(value) else None


def _attributes(pairs: Iterable[KeyValue], depth: int = 0) -> dict[str, Any]:
    return {pair.key: _value(pair.value, depth) for pair in pairs}


def _value(value: AnyValue, depth: int = 0) -> Any:
    if depth > _DEEPEST:
        return None
    match value.WhichOneof("value"):
        case "string_value":
            return value.string_value
        case "int_value":
            return value.int_value
        case "bool_value":
            return value.bool_value
        case "double_value":
            return value.double_value
        case "array_value":
            return [_value(each, depth + 1) for each in value.array_value.values]
        case "kvlist_value":
            return _attributes(value.kvlist_value.values, depth + 1)
        case "bytes_value":
            return base64.b64encode(value.bytes_value).decode()
        case _:
            return None

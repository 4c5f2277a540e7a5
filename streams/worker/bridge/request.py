"""A record of the topic of spans, decoded: one export request, in protobuf or in JSON."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, NamedTuple

from schemas.reason import Reason
from streams.core.domain.run import Message
from streams.core.domain.unreadable import Unreadable
from streams.formats.adapters.otlp import proto_requests
from streams.formats.adapters.otlp.json_requests import spans_of_json
from streams.formats.adapters.otlp.span import Received
from streams.formats.adapters.record import decoded

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

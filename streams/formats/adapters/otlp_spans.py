"""Files of OpenTelemetry spans, as the collector writes them: OTLP in JSON or in protobuf.

The records of a trace go out once its root span and every span between have come, else at the end of the
input. Spans that come again are left out by their ids.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Iterable
from typing import Any, Final, Self

import orjson

from streams.formats.adapters.adapter import (
    CERTAIN,
    LONGEST_UNIT,
    NO,
    PERHAPS,
    Format,
    IntakeReason,
    Problem,
    UnitKind,
)
from streams.formats.adapters.heads import head_values
from streams.formats.adapters.log import Found
from streams.formats.adapters.otlp.exports import spans_of_export
from streams.formats.adapters.otlp.json_requests import spans_of_json
from streams.formats.adapters.otlp.proto_requests import LENGTH, REQUEST_BEGINS
from streams.formats.adapters.otlp.span import Received
from streams.formats.adapters.otlp.traces import Traces
from streams.formats.adapters.record import UNDECODABLE, decoded

JSON_NAME: Final = "otlp-json"
PROTO_NAME: Final = "otlp-proto"
_SUFFIXES: Final = (".otlp", ".binpb")
_FIRST_BYTES: Final = (b"\0", b"\x01", b"\n")  # of a length below `LONGEST_UNIT`, or of a bare request
_SIGNALS: Final = ("resourceLogs", "resourceMetrics", "resource_logs", "resource_metrics")
_RESOURCES: Final = frozenset({"resourceSpans", "resource_spans", "batches"})


class OtlpSpans(ABC):
    """An adapter whose units hold spans. A format implements `read`."""

    version: Final = 2
    """The version of the state. A state of another version is not resumed."""

    def __init__(self, name: str) -> None:
        self.name = name
        self._traces = Traces()
        self._begun = b""

    @property
    def ignored(self) -> Counter[str]:
        """Return what was left out by design, by type."""
        return self._traces.counted

    @ignored.setter
    def ignored(self, counts: Counter[str]) -> None:
        self._traces.counted = counts

    @abstractmethod
    def read(self, unit: bytes) -> Found:
        """Yield what one unit completes."""

    def feed(self, unit: bytes) -> Found:
        """Yield what one unit completes."""
        if len(unit) > LONGEST_UNIT:
            yield self._unreadable(f"{len(unit):,} bytes: longer than is read")
            return
        yield from self.read(unit)
        yield from self._traces.release_whole()

    def close(self) -> Found:
        """Yield the records of the traces whose root has not come."""
        if self._begun:
            yield self._unreadable("JSON that is cut")
            self._begun = b""
        yield from self._traces.release_all()

    def _take(self, spans: Iterable[Received | str]) -> Found:
        for span in spans:
            if isinstance(span, str):
                yield Problem(self.name, IntakeReason.UNKNOWN_SHAPE, span)
            else:
                yield from self._traces.take(span)

    def _unreadable(self, detail: str) -> Problem:
        return Problem(self.name, IntakeReason.UNREADABLE, detail)

    def state(self) -> bytes:
        """Return everything that later units need."""
        begun = self._begun.decode("utf-8", "replace")
        return orjson.dumps({"version": self.version, "begun": begun, **self._traces.frozen()})

    @classmethod
    def resume(cls, name: str, state: bytes) -> Self:
        """Return the adapter that `state` described; a new one if it is not a state of this version."""
        adapter = cls(name)
        try:
            value = orjson.loads(state)
            if value["version"] == cls.version:
                adapter._traces.thaw(value)
                adapter._begun = value["begun"].encode()
        except (ValueError, TypeError, KeyError, AttributeError):
            return cls(name)
        return adapter


class OtlpJson(OtlpSpans):
    """Reads requests in JSON, one a line, or indented ones one after the other."""

    def read(self, unit: bytes) -> Found:
        """Yield what one line completes."""
        value = self._completed(unit)
        if isinstance(value, Problem):
            yield value
        elif (exported := spans_of_export(value)) is not None:
            yield from self._take(exported)
        elif isinstance(value, dict):
            yield from self._request(value)
        elif isinstance(value, list):
            for each in value:
                if isinstance(each, dict):
                    yield from self._request(each)
        elif value is not None:
            yield Problem(self.name, IntakeReason.UNKNOWN_SHAPE, "not an object")

    def _request(self, value: dict[str, Any]) -> Found:
        value = unwrapped(value)
        signal = next((name for name in _SIGNALS if name in value), None)
        if "resourceSpans" in value or "resource_spans" in value:
            yield from self._take(spans_of_json(value))
        elif signal is not None:
            self._traces.counted[signal] += 1
        else:
            yield Problem(self.name, IntakeReason.UNKNOWN_SHAPE, "no resourceSpans")

    def _completed(self, line: bytes) -> Any:
        """Return the value that a line is or ends; None if it ends none, a problem if there is none."""
        if not self._begun:
            if not line.strip():
                return None
            value = decoded(line)
            if value is not UNDECODABLE:
                return value
            if line.rstrip() not in (b"{", b"["):
                return self._unreadable("not JSON")
        elif line.startswith((b"{", b"[")) and (value := decoded(line)) is not UNDECODABLE:
            self._begun = b""  # what was begun is cut
            return value
        if len(self._begun) + len(line) > LONGEST_UNIT:
            self._begun = b""
            return self._unreadable("longer than is read")
        self._begun += line + b"\n"
        if line.rstrip() not in (b"}", b"]"):
            return None
        begun, self._begun = self._begun, b""
        value = decoded(begun)
        return self._unreadable("not JSON") if value is UNDECODABLE else value


class OtlpProto(OtlpSpans):
    """Reads requests in protobuf: `cut_requests` cuts a file into them."""

    def read(self, unit: bytes) -> Found:
        """Yield what one request completes."""
        from streams.formats.adapters.otlp import proto_requests  # noqa: PLC0415 - protobuf takes long to import

        request = proto_requests.decoded_request(unit)
        if request is None:
            yield self._unreadable("not an ExportTraceServiceRequest")
        else:
            yield from self._take(proto_requests.spans_of_proto(request))


def unwrapped(value: dict[str, Any]) -> dict[str, Any]:
    """Return the request that a store of traces has put into an object of its own.

    >>> unwrapped({"trace": {"resourceSpans": []}}), unwrapped({"batches": []})
    ({'resourceSpans': []}, {'resourceSpans': []})
    """
    match value:
        case {"trace": dict(inner)} if _RESOURCES & inner.keys():
            value = inner
        case _:
            pass
    if "batches" in value and not {"resourceSpans", "resource_spans"} & value.keys():
        return {"resourceSpans": value["batches"]}  # of Tempo's older interface
    return value


def sniff_json(head: bytes, _name: str) -> int:
    """Recognise requests by their first key, and exports by the spans in them."""
    for given in head_values(head):
        if spans_of_export(given) is not None:
            return CERTAIN
        for value in given[:1] if isinstance(given, list) else [given]:
            if isinstance(value, dict) and {"resourceSpans", "resource_spans"} & unwrapped(value).keys():
                return CERTAIN
    return NO


def sniff_proto(head: bytes, name: str) -> int:
    """Recognise requests by the length before the first, or by the name of the file."""
    if REQUEST_BEGINS not in (head[:1] + head[LENGTH : LENGTH + 1]) or head[:1] not in _FIRST_BYTES:
        return PERHAPS if head and name.endswith(_SUFFIXES) else NO
    from streams.formats.adapters.otlp import proto_requests  # noqa: PLC0415 - protobuf takes long to import

    if proto_requests.begins_like_requests(head):
        return CERTAIN
    return PERHAPS if name.endswith(_SUFFIXES) else NO


JSON_FORMAT: Final = Format(JSON_NAME, UnitKind.LINES, sniff_json, OtlpJson, OtlpJson.resume)
PROTO_FORMAT: Final = Format(PROTO_NAME, UnitKind.REQUESTS, sniff_proto, OtlpProto, OtlpProto.resume)

"""The samples of a format, small enough for a fuzzer: it takes inputs of 8 kB and knows no keyword."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

import orjson
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.common.v1.common_pb2 import AnyValue

from streams.formats.adapters.adapter import Format, UnitKind
from streams.formats.adapters.otlp.proto_requests import LENGTH
from tests.checks.test_adapters import samples

LONGEST_SEED = 7_000


class _Size(NamedTuple):
    """How many items a list may have, and how many characters a text."""

    items: int
    text: int


_SIZES = (_Size(40, 160), _Size(20, 80), _Size(8, 60), _Size(4, 40), _Size(2, 20))


def seeds(given: Format) -> Iterator[bytes]:
    """Yield the samples of a format, in pieces that an adapter can read."""
    for sample in samples():
        if sample.format.name == given.name:
            match given.kind:
                case UnitKind.LINES:
                    yield from _windows([_small_line(unit) for unit in sample.units], b"\n")
                case UnitKind.DOCUMENT:
                    yield from _document(sample.path.read_bytes())
                case UnitKind.REQUESTS:
                    framed = [
                        len(unit).to_bytes(LENGTH, "big") + unit for unit in _small_requests(sample.units)
                    ]
                    yield from _windows(framed, b"")


def words(given: Format) -> Iterator[str]:
    """Yield the keys of a format and the short texts that stand below them, each once."""
    found: dict[str, None] = {}
    for sample in samples():
        if sample.format.name == given.name and given.kind is not UnitKind.REQUESTS:
            for unit in [sample.path.read_bytes()] if given.kind is UnitKind.DOCUMENT else sample.units:
                _collect(_json(unit), found)
    yield from found


def _collect(value: Any, found: dict[str, None]) -> None:
    match value:
        case dict():
            for key, inner in value.items():
                found[key] = None
                _collect(inner, found)
        case list():
            for inner in value:
                _collect(inner, found)
        case str() if value.isidentifier():
            found[value] = None


def _windows(units: Iterable[bytes], between: bytes) -> Iterator[bytes]:
    """Yield runs of units, each as long as a seed may be."""
    run = b""
    for unit in units:
        if run and len(run) + len(unit) > LONGEST_SEED:
            yield run
            run = b""
        run += unit + between
    if run:
        yield run


def _json(unit: bytes) -> Any:
    try:
        return orjson.loads(unit)
    except orjson.JSONDecodeError:
        return None


def _small_line(unit: bytes, longest: int = LONGEST_SEED) -> bytes:
    value = _json(unit)
    return unit if value is None else _fitted(value, longest)


def _document(document: bytes) -> Iterator[bytes]:
    value = _json(document)
    if value is None:
        # Lines of one document belong together: as many as possible go into a seed.
        yield from _windows([_small_line(line, LONGEST_SEED // 4) for line in document.splitlines()], b"\n")
    else:
        yield _fitted(value, LONGEST_SEED)


def _fitted(value: Any, longest: int) -> bytes:
    """Return a value as JSON that is short enough, if need be with fewer items and shorter texts."""
    written = (orjson.dumps(_small(value, size)) for size in _SIZES)
    return next((each for each in written if len(each) <= longest), b"{}")


def _small(value: Any, size: _Size) -> Any:
    match value:
        case dict():
            return {key: _small(inner, size) for key, inner in value.items()}
        case list():
            return [_small(inner, size) for inner in value[: size.items]]
        case str():
            held = _json(value.encode()) if value[:1] in "{[" else None
            small = value if held is None else orjson.dumps(_small(held, size)).decode()
            return small[: size.text]
        case _:
            return value


def _small_requests(requests: Iterable[bytes]) -> Iterator[bytes]:
    """Yield a request of each span."""
    for request in requests:
        for resource in ExportTraceServiceRequest.FromString(request).resource_spans:
            for scope in resource.scope_spans:
                for span in scope.spans:
                    one = ExportTraceServiceRequest()
                    sent = one.resource_spans.add(resource=resource.resource).scope_spans.add()
                    sent.spans.append(span)
                    for holder in (sent.spans[0], *sent.spans[0].events, one.resource_spans[0].resource):
                        for attribute in holder.attributes:
                            _shorten(attribute.value)
                    yield one.SerializeToString()


def _shorten(value: AnyValue) -> None:
    if value.HasField("string_value"):
        value.string_value = value.string_value[: _SIZES[0].text]

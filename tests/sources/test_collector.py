"""Agents of real SDKs export spans to a real OpenTelemetry Collector, which writes them to Apache Kafka."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.trace.v1.trace_pb2 import Span

from streams.core.domain.topic import Topic
from streams.core.entry import Entry
from streams.core.errors import ConfigurationError
from streams.formats.adapters.adapter import Format
from streams.formats.adapters.otlp_spans import JSON_FORMAT, PROTO_FORMAT
from streams.kafka.client import Stored
from tests.integration.stage import Stage
from tests.sources import collector
from tests.sources.door import open_door
from tests.sources.expected import SDKS, Sdk, check
from tests.sources.running_collector import running
from tests.sources.sdk import run_agents

pytestmark = pytest.mark.sources


def spans_of(stored: Stored) -> list[Span]:
    assert stored.value is not None
    request = ExportTraceServiceRequest.FromString(stored.value)
    return [
        span for resource in request.resource_spans for scope in resource.scope_spans for span in scope.spans
    ]


def read(written: list[Stored], form: Format = PROTO_FORMAT) -> Iterator[Any]:
    adapter = form.start("kafka")
    for stored in written:
        assert stored.value is not None
        yield from (found.value for found in adapter.feed(stored.value) if isinstance(found, Entry))
    yield from (found.value for found in adapter.close() if isinstance(found, Entry))


@pytest.mark.parametrize("sdk", SDKS, ids=[each.name for each in SDKS])
async def test_what_the_collector_writes_gives_the_records_that_the_spans_give_over_http(
    sdk: Sdk, program: Path, stage: Stage, tmp_path: Path
) -> None:
    with open_door(tmp_path) as door:
        async with running(program, tmp_path, stage.broker.bootstrap, door=door) as endpoint:
            run_agents(sdk, endpoint)
    written = await stage.read(Topic.OTLP_SPANS)
    sent = [json.loads(line) for line in (tmp_path / "out").read_text().splitlines()]
    check(sdk, sent)
    assert sorted(read(written), key=json.dumps) == sorted(sent, key=json.dumps)
    for stored in written:
        spans = spans_of(stored)
        assert {span.trace_id.hex().encode() for span in spans} == {stored.key}
        keys = {each.key for span in spans for each in span.attributes}
        keys |= {each.key for span in spans for event in span.events for each in event.attributes}
        assert not {key for key in keys if "input.messages" in key or "input_messages" in key}


async def test_its_json_gives_the_same_records(program: Path, stage: Stage, tmp_path: Path) -> None:
    with open_door(tmp_path) as door:
        async with running(
            program, tmp_path, stage.broker.bootstrap, door=door, encoding="otlp_json"
        ) as endpoint:
            run_agents(SDKS[0], endpoint)
    written = await stage.read(Topic.OTLP_SPANS)
    assert {(stored.value or b"")[:1] for stored in written} == {b"{"}
    sent = [json.loads(line) for line in (tmp_path / "out").read_text().splitlines()]
    check(SDKS[0], sent)
    assert sorted(read(written, JSON_FORMAT), key=json.dumps) == sorted(sent, key=json.dumps)


def test_a_missing_go_is_named(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match="`go` is not on the PATH"):
        collector.build(cache=tmp_path, environment={"PATH": str(tmp_path)})

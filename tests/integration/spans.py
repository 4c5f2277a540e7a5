"""Agents whose spans come through a collector, and the records that must come of them."""

from __future__ import annotations

import asyncio
import random
from collections import Counter, defaultdict
from collections.abc import Sequence
from typing import Any, NamedTuple

import orjson
from aiokafka import AIOKafkaProducer
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.common.v1.common_pb2 import AnyValue, KeyValue
from opentelemetry.proto.trace.v1.trace_pb2 import ResourceSpans, ScopeSpans, Span

from streams.core.domain.topic import Topic
from tests.integration.stage import Stage
from tests.integration.worker_process import PATIENCE_SECONDS, WorkerProcess, until_reached

_BEGIN_NS = 1_790_000_000_000_000_000


class Sent(NamedTuple):
    """A record of the topic of spans."""

    key: bytes
    value: bytes


def agents(traces: int, calls: int) -> list[Sent]:
    """Return what a collector writes of so many agents at work, each with so many tool calls, in order."""
    sent = []
    for call in range(calls):
        for number in range(traces):
            trace_id = (number + 1).to_bytes(16, "big")
            request = ExportTraceServiceRequest(
                resource_spans=[
                    ResourceSpans(
                        scope_spans=[ScopeSpans(spans=[_model(trace_id, call), _tool(trace_id, call)])]
                    )
                ]
            )
            sent.append(Sent(trace_id.hex().encode(), request.SerializeToString()))
    return sent


def session_of(number: int) -> str:
    return f"agent-{number + 1}"


def shuffled_twice(sent: Sequence[Sent], seed: int) -> list[Sent]:
    """Return every record twice, in any order."""
    twice = [*sent, *sent]
    random.Random(seed).shuffle(twice)
    return twice


def _model(trace_id: bytes, call: int) -> Span:
    attributes = {
        "gen_ai.operation.name": "chat",
        "gen_ai.conversation.id": session_of(int.from_bytes(trace_id, "big") - 1),
        "gen_ai.usage.input_tokens": 100 + call,
        "gen_ai.usage.output_tokens": 10,
    }
    return _span(trace_id, 2 * call, attributes)


def _tool(trace_id: bytes, call: int) -> Span:
    attributes = {
        "gen_ai.operation.name": "execute_tool",
        "gen_ai.tool.name": "search",
        "gen_ai.tool.call.arguments": '{"q": "the same"}',
        "gen_ai.tool.call.result": "nothing found",
    }
    return _span(trace_id, 2 * call + 1, attributes)


def _span(trace_id: bytes, number: int, attributes: dict[str, str | int]) -> Span:
    begin = _BEGIN_NS + number * 10**9
    return Span(
        trace_id=trace_id,
        span_id=(number + 1).to_bytes(8, "big"),
        parent_span_id=b"parent..",
        name="step",
        start_time_unix_nano=begin,
        end_time_unix_nano=begin + 10**8,
        attributes=[KeyValue(key=key, value=_value(value)) for key, value in attributes.items()],
    )


def _value(value: str | int) -> AnyValue:
    return AnyValue(string_value=value) if isinstance(value, str) else AnyValue(int_value=value)


class Bridged(NamedTuple):
    """The records of one session, in the order in which they stand in the topic."""

    events: list[str]
    tokens: list[int]


def expected(traces: int, calls: int) -> dict[str, Bridged]:
    """Return what must come of `agents`."""
    return {
        session_of(number): Bridged(
            [f"{number + 1:032x}/{2 * call + 2:016x}" for call in range(calls)],
            [110 + call for call in range(calls)],
        )
        for number in range(traces)
    }


class Bridges:
    """Bridges on a stage, and what goes through them.

    Args:
        stage: Has the topics.
        settings: The settings of every bridge.
    """

    def __init__(self, stage: Stage, **settings: object) -> None:
        self._stage = stage
        self._settings = {"output_format": "json", **settings}

    def start(self, predecessor: WorkerProcess | None = None, **settings: object) -> WorkerProcess:
        directory = None if predecessor is None else predecessor.directory / "data"
        return self._stage.worker(
            command=("eddy", "bridge", "otlp"), directory=directory, **(self._settings | settings)
        )

    async def send(self, records: Sequence[Sent]) -> None:
        producer = AIOKafkaProducer(
            bootstrap_servers=self._stage.broker.bootstrap, request_timeout_ms=int(PATIENCE_SECONDS * 1000)
        )
        await producer.start()
        try:
            sent = [
                await producer.send(Topic.OTLP_SPANS, key=record.key, value=record.value)
                for record in records
            ]
            await asyncio.gather(*sent)
        finally:
            await producer.stop()

    async def records(self) -> list[dict[str, Any]]:
        """Return all decision logs, partition by partition."""
        return [orjson.loads(stored.value or b"") for stored in await self._stage.read(Topic.DECISION_LOGS)]

    async def repeated(self) -> Counter[str]:
        """Return the events that stand in the topic more than once."""
        counts = Counter(record["event_id"] for record in await self.records())
        return Counter({event: count for event, count in counts.items() if count > 1})

    async def until_there(self, events: int, *bridges: WorkerProcess) -> None:
        """Wait until so many different records have come."""

        async def there() -> float:
            return len({record["event_id"] for record in await self.records()})

        await until_reached(there, events, PATIENCE_SECONDS, f"{events} records", *bridges)

    async def until_held(self, spans: int, bridge: WorkerProcess) -> None:
        """Wait until so many spans wait in a bridge."""

        async def held() -> float:
            return await bridge.metric("eddy_bridge_held")

        await until_reached(held, spans, PATIENCE_SECONDS, f"{spans} spans that wait", bridge)

    async def sessions(self) -> dict[str, Bridged]:
        """Return what has come of each session. An event that came again counts once, if it is the same."""
        first: dict[str, dict[str, Any]] = {}
        found: defaultdict[str, Bridged] = defaultdict(lambda: Bridged([], []))
        for record in await self.records():
            event = record["event_id"]
            if event in first:
                assert record == first[event]
                continue
            first[event] = record
            found[record["session_id"]].events.append(event)
            found[record["session_id"]].tokens.append(record["state_delta"]["tokens_consumed"])
        return dict(found)

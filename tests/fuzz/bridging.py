"""The bridge: messages with spans that bytes decide, up to what is stored and published."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from io import BytesIO
from typing import Any

import orjson

from streams.core.domain.topic import Topic
from streams.core.domain.validation import problems
from streams.formats.adapters.otlp.proto_requests import cut_requests
from streams.formats.adapters.otlp.traces import SPANS_REMEMBERED
from streams.formats.content import Content
from streams.formats.registry import BY_NAME
from streams.worker.bridge.bridge import MOST_HELD_BYTES
from streams.worker.bridge.rows import Row, decode, encode
from tests.fuzz.choices import Choices
from tests.fuzz.sample_seeds import seeds
from tests.fuzz.target import Target
from tests.unit.worker.bridge.partition import LARGEST, NOW_MS, Message, Partition, Rows

_MESSAGE_ENDS = b"\n---\n"
_MOST_MESSAGES = 24
_STEPS_MS = (0, 1, 500, 2_000, 2_001, 60_000, 3_600_001, -5_000, -(10**12), 10**13, 2**62)
_KEYS = (None, b"", b"\xff\x00", b"5b8efff798038103d269b633813fc60c")
_OPTIONS: tuple[dict[str, Any], ...] = (
    {},
    {"hold_ms": 0},
    {"content": Content.HASH, "trace_ttl_ms": 1},
    {"content": Content.NONE, "session_keys": ("service.name",)},
)
_MOST_ROW = 16_000 * 4 + MOST_HELD_BYTES + 8 * SPANS_REMEMBERED


class _CheckedRows(Rows):
    """Rows that are the same after they were stored, and no larger than a record of the changelog may be."""

    def put(self, value: Row, name: str) -> None:
        stored = encode(value)
        assert len(stored) <= _MOST_ROW, len(stored)
        again = decode(stored)
        assert again == value
        assert encode(again) == stored
        super().put(value, name)


def attack_bridge(data: bytes) -> None:
    """Messages give records that are scored and dead letters that fit, the same in one run and in many."""
    choices = Choices(data[:2])
    options, cut = choices.one_of(_OPTIONS), choices.byte()
    messages = list(_messages(data[2:]))
    whole, parts = _partition(options), _partition(options)
    whole.fold(messages)
    for begin in range(0, len(messages), 1 + cut % 4):
        run = messages[begin : begin + 1 + cut % 4]
        parts.fold(run)
        parts.fold(run)  # what was processed is passed over
    assert parts.bridged.outputs == whole.bridged.outputs
    assert parts.bridged.spans == whole.bridged.spans
    assert parts.rows.stored == whole.rows.stored
    for record in whole.records:
        value = orjson.loads(record.value or b"")
        assert not problems(value), problems(value)
    for topic in (Topic.DECISION_LOGS, Topic.SPAN_DEAD_LETTERS):
        for record in whole.bridged.outputs.get(topic, []):
            assert len(record.value or b"") <= LARGEST[topic]


def _partition(options: dict[str, Any]) -> Partition:
    partition = Partition(**options)
    partition.rows = _CheckedRows()
    return partition


def _messages(data: bytes) -> Iterator[Message]:
    """Yield messages: a byte for the time since the one before, one for the key, and the value."""
    at = NOW_MS
    for offset, part in enumerate(data.split(_MESSAGE_ENDS)[:_MOST_MESSAGES]):
        choices = Choices(part[:2])
        at += choices.one_of(_STEPS_MS)
        key, value = choices.one_of(_KEYS), part[2:]
        yield Message(offset, at, key, value if len(part) > 1 else None)
        at = NOW_MS if at > 2**62 else at


def _runs() -> Iterator[bytes]:
    for seed in seeds(BY_NAME["otlp-json"]):
        yield bytes(2) + _MESSAGE_ENDS.join(b"\2\3" + line for line in _twice(seed.splitlines()))
    for seed in seeds(BY_NAME["otlp-proto"]):
        requests = list(cut_requests(BytesIO(seed)))
        yield b"\1\1" + _MESSAGE_ENDS.join(b"\1\0" + each for each in _twice(requests))
    yield b"\0\0" + _MESSAGE_ENDS.join((b"", b"\5\2{", b"\5\2\x0a", b"\xff\xff{}"))


def _twice(values: Sequence[bytes]) -> list[bytes]:
    return [*values[:3], *values[:2], b"\2"]


BRIDGE = Target("bridge", attack_bridge, _runs, ("resourceSpans", "\n---\n", "traceId", "parentSpanId"))

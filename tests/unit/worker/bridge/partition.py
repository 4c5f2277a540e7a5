"""A partition of the topic of spans in memory, and what the bridge makes of it."""

from __future__ import annotations

import random
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path
from typing import Any

import orjson

from schemas.encoder import json_encoder
from streams.core.domain.record import Outgoing
from streams.core.domain.run import Run
from streams.core.domain.topic import Topic
from streams.formats.adapters.otlp.proto_requests import cut_requests
from streams.worker.bridge.bridge import Bridge, Bridged, BridgeOptions
from streams.worker.bridge.rows import Row, decode, encode

SAMPLES = Path(__file__).parents[3] / "samples"
LARGEST = {Topic.DECISION_LOGS: 1 << 20, Topic.SPAN_DEAD_LETTERS: 8 << 20}
NOW_MS = 1_800_000_000_000
TICK = b""
"""A request without spans: it only says what the time is."""


@dataclass(frozen=True)
class Message:
    """A record of the topic."""

    offset: int
    timestamp: int
    key: bytes | None
    value: bytes | None
    headers: Sequence[tuple[str, bytes | None]] = ()


class Rows:
    """The rows of a partition, as bytes, and what a fold has put since."""

    def __init__(self, stored: dict[str, bytes] | None = None) -> None:
        self.stored = stored or {}

    def get(self, name: str) -> Row | None:
        return decode(self.stored[name]) if name in self.stored else None

    def put(self, value: Row, name: str) -> None:
        self.stored[name] = encode(value)


class Partition:
    """One partition and the bridge that reads it."""

    def __init__(self, **options: Any) -> None:
        self.bridge = Bridge(
            json_encoder(f"{Topic.DECISION_LOGS}-value"),
            BridgeOptions(**options),
            group="eddy-bridge",
            version="0",
            largest=LARGEST,
        )
        self.rows = Rows()
        self.bridged = Bridged()

    def fold(self, messages: Sequence[Message], *, latest_ms: int = NOW_MS + 10**9) -> Bridged:
        """Fold one run; return what it led to."""
        run = Run("otlp_spans", 0, messages)
        bridged = Bridged()
        self.bridge.fold(run, self.bridge.read(run), self.rows, bridged, latest_ms=latest_ms)
        for topic, records in bridged.outputs.items():
            self.bridged.outputs.setdefault(topic, []).extend(records)
        self.bridged.spans.update(bridged.spans)
        self.bridged.sessions.update(bridged.sessions)
        self.bridged.dead_lettered.update(bridged.dead_lettered)
        self.bridged.foreign_keys += bridged.foreign_keys
        self.bridged.without_content += bridged.without_content
        return bridged

    @property
    def records(self) -> list[Outgoing]:
        return self.bridged.outputs.get(Topic.DECISION_LOGS, [])

    @property
    def letters(self) -> list[Outgoing]:
        return self.bridged.outputs.get(Topic.SPAN_DEAD_LETTERS, [])

    @property
    def sessions(self) -> dict[str, list[dict[str, Any]]]:
        return by_session(orjson.loads(record.value or b"") for record in self.records)


def by_session(records: Iterable[dict[str, Any]]) -> dict[str, list[dict[str, Any]]]:
    found = defaultdict(list)
    for record in records:
        found[record["session_id"]].append(record)
    return dict(found)


def requests_of(name: str) -> list[bytes]:
    path = SAMPLES / name
    data = path.read_bytes()
    return data.splitlines() if path.suffix == ".jsonl" else list(cut_requests(BytesIO(data)))


def expected_of(name: str) -> dict[str, list[dict[str, Any]]]:
    path = SAMPLES / name
    rows = path.with_name(f"{path.stem}.expected.jsonl").read_bytes().splitlines()
    return by_session(map(orjson.loads, rows))


def arrivals(
    values: Sequence[bytes | None], *, within_ms: int = 1_900, key: bytes | None = None
) -> list[Message]:
    """Return records that arrive within a time, and one long after them."""
    step = within_ms / max(1, len(values))
    messages = [Message(at, NOW_MS + int(at * step), key, value) for at, value in enumerate(values)]
    return [*messages, Message(len(values), NOW_MS + 60_000, key, TICK)]


def cut(messages: Sequence[Message], chance: random.Random) -> Iterable[Sequence[Message]]:
    """Yield runs of any size."""
    begin = 0
    while begin < len(messages):
        end = begin + chance.randint(1, 5)
        yield messages[begin:end]
        begin = end

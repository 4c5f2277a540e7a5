"""The records: agent sessions that mostly work and sometimes go in circles, of a given size.

Everything follows from the seed, so every contender gets the same bytes.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

import orjson
from aiokafka.partitioner import murmur2

from schemas.codec import Codec
from streams.core.domain.topic import Topic

_SEED = 9
_LOOPING_SHARE = 0.1
_TOOLS = ("grep", "read_file", "edit_file", "run_tests", "web_search", "list_dir", "git_diff", "http_get")
_INTENTS = ("find the failing test", "read the config", "fix the import", "look for the caller")
_WORDS = (
    *("error", "line", "module", "import", "found", "value", "test", "passed", "failed", "in", "file", "src"),
    *("returned", "200", "null", "timeout", "retry", "connection", "function", "class", "42", "matches"),
    *("warning", "deprecated", "index", "token", "cache", "build", "step", "output"),
)


@dataclass(frozen=True, slots=True)
class Workload:
    """A backlog to drain.

    ``warm_up`` records come first and are not measured; with many sessions they visit each once, so that
    the measured ones meet a full table.
    """

    record_bytes: int
    sessions: int
    records: int
    warm_up: int
    encoding: str = "avro"

    @property
    def total(self) -> int:
        """Warm-up and measured records."""
        return self.warm_up + self.records

    @property
    def name(self) -> str:
        """As the tables call it."""
        sessions = f"{self.sessions // 1000}k" if self.sessions >= 1000 else str(self.sessions)
        return f"{self.record_bytes} B {self.encoding}, {sessions} sessions"


class UnusableWorkloadError(ValueError):
    """A record of the benchmark is not a valid decision log; the arguments are its problems."""


class Produced(NamedTuple):
    """One record as it goes to `decision-logs`. ``timestamp`` in ms since 1970."""

    partition: int
    key: bytes
    value: bytes
    timestamp: int


def produce(workload: Workload, partitions: int, first_timestamp: int) -> Iterator[Produced]:
    """Yield the records of a workload in order, one millisecond apart."""
    chance = random.Random(_SEED)
    encode = _encoder(workload.encoding)
    padding = _padding(workload, encode)
    places = [
        (key := f"s-{number:06d}".encode(), (murmur2(key) & 0x7FFFFFFF) % partitions)
        for number in range(workload.sessions)
    ]
    for number in range(workload.total):
        if number < workload.warm_up:
            session = number % workload.sessions
        else:
            session = chance.randrange(workload.sessions)
        timestamp = first_timestamp + number
        key, partition = places[session]
        value = encode(_record(key.decode(), session, number, timestamp, padding, chance))
        yield Produced(partition, key, value, timestamp)


def _encoder(encoding: str) -> Any:
    if encoding == "json":
        return orjson.dumps
    return Codec.bundled().encoder(f"{Topic.DECISION_LOGS}-value").encode


def _padding(workload: Workload, encode: Any) -> int:
    """Return how many characters of result bring a record to its size."""
    bare = encode(_record("s-000000", 1, 100_000, 1_700_000_000_000, 0, random.Random(0)))
    return max(0, workload.record_bytes - len(bare))


def _record(
    session_id: str, session: int, number: int, timestamp: int, padding: int, chance: random.Random
) -> dict[str, Any]:
    looping = session % 100 < 100 * _LOOPING_SHARE
    turn = 0 if looping else number
    return {
        "session_id": session_id,
        "event_id": f"e-{number:07d}",
        "meta": {"trace_id": f"t-{session:06d}", "timestamp": timestamp},
        "identity": {"agent_id": f"agent-{session % 50}", "agent_type": "coder"},
        "cognition": {"intent": _INTENTS[turn % 4]},
        "action": {
            "status": "failure" if looping else "success",
            "tool_call": _TOOLS[(session + turn) % 8],
            "tool_input": f'{{"q":"term {turn % 1000}"}}',
            "tool_output_summary": _result(padding, session if looping else chance.randrange(1 << 30)),
        },
    }


def _result(length: int, seed: int) -> str:
    """Return a text of about ``length`` characters that depends on the seed alone."""
    words = []
    size = 0
    while size < length:
        word = _WORDS[seed % len(_WORDS)]
        seed = (seed * 1_103_515_245 + 12_345) & 0x7FFFFFFF
        words.append(word)
        size += len(word) + 1
    return " ".join(words)[:length]

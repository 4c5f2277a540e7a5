"""The bytes that an event leads to, by topic, and what the console's index costs: no broker, no engine.

    python -m benchmarks.sizes [--write]

Sessions of coding agents are judged a run at a time, each session with one record in a run: with many live
sessions, a run hardly has two records of one. What a run writes to a topic is compressed as one batch, as a
worker does it. A session is written with each third of its records: an agent takes a step every ten seconds,
and a worker writes what changed in thirty. Bytes depend on no machine. The CPU of the index is that of its
fold, without Kafka and SQLite.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any

import click
from cramjam import zstd

from benchmarks.agent_sessions import sessions
from benchmarks.machine import describe, pace
from benchmarks.report import as_json, keep
from schemas.codec import Codec
from streams.console.read_model.model import ReadModel
from streams.core.detectors.settings import DEFAULTS
from streams.core.domain.run import Run
from streams.core.domain.session import Session
from streams.core.domain.topic import Topic
from streams.kafka.client import Stored
from streams.worker.batch import Job
from streams.worker.run_result import RunResult
from streams.worker.state.changelog import encode_session

_SESSIONS, _LENGTH = 200, 50
_CHANGELOG = "sessions-changelog"
#: Records of a session between two that it is written with.
_RECORDS_A_WRITE = 3
#: What stands in a batch beside key and value of a record, about (Kafka's record format, version 2).
_FRAME = 10


class _Held(dict[str, Session]):
    def put(self, session: Session, session_id: str) -> None:
        self[session_id] = session


def measure(result_chars: int) -> dict[str, Any]:
    """Return bytes per event by topic, plain and compressed, and the µs of the console's index."""
    codec = Codec.bundled()
    job = Job(codec, group="eddy", version="0")
    held = _Held()
    plain: Counter[str] = Counter()
    packed: Counter[str] = Counter()
    enriched: list[Stored] = []

    def add(topic: str, records: Sequence[tuple[bytes, bytes]]) -> None:
        batch = b"".join(key + value for key, value in records)
        frames = _FRAME * len(records)
        plain[topic] += len(batch) + frames
        packed[topic] += len(zstd.compress(batch)) + frames

    count = 0
    for number, run in enumerate(_runs(codec, result_chars)):
        count += len(run)
        add(Topic.DECISION_LOGS, [(each.key or b"", each.value or b"") for each in run.messages])
        result = RunResult()
        job.fold(run, held, DEFAULTS, result)
        for topic, outputs in result.outputs.items():
            add(topic, [(out.key or b"", out.value or b"") for out in outputs])
        enriched += [
            Stored(0, len(enriched) + number, out.timestamp, out.key, out.value, out.headers)
            for number, out in enumerate(result.outputs[Topic.ENRICHED])
        ]
        changed = sorted({(each.key or b"").decode() for each in run.messages})
        due = changed[number % _RECORDS_A_WRITE :: _RECORDS_A_WRITE]
        add(_CHANGELOG, [(b"s" + name.encode(), encode_session(held[name])) for name in due])
    return {
        "result_characters": result_chars,
        "records": count,
        "bytes": {topic: size / count for topic, size in sorted(plain.items())},
        "compressed": {topic: size / count for topic, size in sorted(packed.items())},
        "state_bytes": sum(len(encode_session(session)) for session in held.values()) / len(held),
        "index_us": _index_us(codec, enriched),
    }


def _runs(codec: Codec, result_chars: int) -> Iterator[Run]:
    write = codec.encoder(f"{Topic.DECISION_LOGS}-value").encode
    told = sessions(_SESSIONS, _LENGTH, result_chars, seed=7)
    for turn in range(_LENGTH):
        values = [each.records[turn] for each in told]
        yield Run(
            Topic.DECISION_LOGS,
            0,
            [
                Stored(
                    0,
                    turn * _SESSIONS + number,
                    value["meta"]["timestamp"],
                    value["session_id"].encode(),
                    write(value),
                    (),
                )
                for number, value in enumerate(values)
            ],
        )


def _index_us(codec: Codec, enriched: Sequence[Stored]) -> float:
    decode = codec.decoder(f"{Topic.ENRICHED}-value").decode
    least = float("inf")
    for _ in range(3):
        model = ReadModel()
        began = time.thread_time()
        for record in enriched:
            wanted = model.wants_value(record)
            model.take(Topic.ENRICHED, record, decode(record.value, record.headers) if wanted else None)
        least = min(least, time.thread_time() - began)
    return least / len(enriched) * 1e6


@click.command()
@click.option("--write", is_flag=True, help="Keep the figures in benchmarks/results.json.")
def main(*, write: bool) -> None:
    """Measure with results of 200 and of 2,000 characters."""
    before = pace()
    cases = [measure(200), measure(2_000)]
    found = {
        "started": time.strftime("%Y-%m-%d %H:%M:%S %z"),
        "machine": describe(),
        "cases": cases,
        "pace": [before, pace()],
    }
    click.echo(as_json(found))
    if write:
        keep("sizes", found)


if __name__ == "__main__":
    main()

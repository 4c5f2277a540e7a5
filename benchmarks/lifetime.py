"""A worker over very many short sessions: does its memory, its disk or its changelog grow with them?

    python -m benchmarks.lifetime --sessions 1000000

Every second session ends by itself, with its second record; the others fall silent after one and are removed
when their time is over, a few seconds here. So after each interval as many should be there as come within
those seconds, however many have been.
"""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import click
import psutil
from aiokafka import AIOKafkaConsumer, AIOKafkaProducer, TopicPartition
from prometheus_client.parser import text_string_to_metric_families

from benchmarks.broker import provision, running
from streams.cli.config import changed_document, publish
from streams.core.detectors.settings import DEFAULTS
from streams.core.domain.topic import Topic
from streams.kafka.client import connect
from streams.kafka.connection import Connection
from streams.worker.options import SESSIONS, changelog_topic
from streams.worker.state.changelog import SETTINGS_KEY
from tests.integration.worker_process import until

_GROUP = "lifetime"
_PARTITIONS = 4
_TTL_MS = _GRACE_MS = 5_000
_AT_ONCE = 2_000
_MOST_LAG = 20_000
_PATIENCE_SECONDS = 600.0


class Sample(NamedTuple):
    """The worker at one moment; ``seconds`` since it began, sizes in MB."""

    seconds: float
    sessions: int
    """That had been sent."""
    rss: float
    disk: float
    """RocksDB: what its files hold, its logs included."""
    entries: int
    """Bytes of the state, as RocksDB estimates them."""
    removed: int
    searched: int
    searching: float
    """CPU seconds of searching."""
    cpu: float
    """CPU seconds of the worker."""


class Worker:
    """A worker process on a directory of its own."""

    def __init__(self, bootstrap: str, directory: Path) -> None:
        self.data = directory / "data"
        self._port = 18_066
        environment = {
            "EDDY_BOOTSTRAP_SERVERS": bootstrap,
            "EDDY_APPLICATION_ID": _GROUP,
            "EDDY_DATA_DIR": str(self.data),
            "EDDY_WEB_PORT": str(self._port),
            "EDDY_HOUSEKEEPING_INTERVAL_S": "1",
            "EDDY_STUB_REST_S": "6",
            "EDDY_SESSION_TIMEOUT_S": "6",
            "EDDY_HEARTBEAT_INTERVAL_S": "1",
            "EDDY_SESSION_CACHE": "20000",
            "EDDY_LOG_LEVEL": "WARNING",
        }
        self._log = (directory / "log").open("wb")
        self.process = subprocess.Popen(
            [sys.executable, "-c", "from streams.cli import main; main()", "worker"],
            env={**os.environ, **environment},
            stdout=self._log,
            stderr=subprocess.STDOUT,
        )
        self._watched = psutil.Process(self.process.pid)

    def metrics(self) -> dict[str, float]:
        """Return the worker's metrics, summed over their labels; none before it answers."""
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{self._port}/metrics", timeout=10) as answer:
                text = answer.read().decode()
        except OSError:
            return {}
        summed: dict[str, float] = {}
        for family in text_string_to_metric_families(text):
            for sample in family.samples:
                if sample.name == "eddy_consumer_lag" and sample.labels["topic"] != Topic.DECISION_LOGS:
                    continue
                if sample.name == "eddy_state_entries" and sample.labels["table"] != SESSIONS:
                    continue
                summed[sample.name] = summed.get(sample.name, 0.0) + sample.value
        return summed

    def sample(self, seconds: float, sessions: int) -> Sample:
        """Return the worker as it is now."""
        found = self.metrics()
        times = self._watched.cpu_times()
        return Sample(
            round(seconds),
            sessions,
            self._watched.memory_info().rss / 1e6,
            sum(file.stat().st_size for file in _files(self.data)) / 1e6,
            int(found.get("eddy_state_entries", 0)),
            int(found.get("eddy_sessions_removed_total", 0)),
            int(found.get("eddy_housekeeping_entries_total", 0)),
            found.get("eddy_housekeeping_seconds_total", 0.0),
            times.user + times.system,
        )

    def end(self) -> None:
        """End it in order."""
        self.process.terminate()
        self.process.wait(60)
        self._log.close()


def _files(directory: Path) -> Iterator[Path]:
    for path in directory.rglob("*"):
        try:
            if path.is_file():
                yield path
        except OSError:
            continue  # compaction has deleted it meanwhile


def _records(numbers: range) -> Iterator[tuple[int, bytes, bytes]]:
    """Yield partition, key and value of the records of some sessions."""
    now = time.time_ns() // 1_000_000
    for number in numbers:
        session_id = f"session-{number:08d}"
        ends = number % 2 == 0
        for record in range(1 + ends):
            value = {
                "session_id": session_id,
                "event_id": f"e{record}",
                "meta": {"trace_id": "t", "timestamp": now},
                "identity": {"agent_id": f"agent-{number % 50}", "agent_type": "coder"},
                "cognition": {"intent": "list"},
                "action": {"status": "success", "tool_call": "shell", "tool_input": f'{{"n":{number}}}'},
                "control": {"is_terminal": ends and record == 1},
            }
            yield number % _PARTITIONS, session_id.encode(), json.dumps(value).encode()


async def _send(producer: AIOKafkaProducer, numbers: range) -> None:
    by_partition: dict[int, list[tuple[bytes, bytes]]] = {}
    for partition, key, value in _records(numbers):
        by_partition.setdefault(partition, []).append((key, value))
    sent = []
    for partition, records in by_partition.items():
        batch = producer.create_batch()
        for key, value in records:
            if batch.append(key=key, value=value, timestamp=None) is None:
                sent.append(await producer.send_batch(batch, Topic.DECISION_LOGS, partition=partition))
                batch = producer.create_batch()
                batch.append(key=key, value=value, timestamp=None)
        sent.append(await producer.send_batch(batch, Topic.DECISION_LOGS, partition=partition))
    await asyncio.gather(*sent)


async def _live_keys(bootstrap: str) -> tuple[int, int]:
    """Return how many records the sessions' changelog holds, and how many compaction would leave."""
    topic = changelog_topic(_GROUP)
    newest: dict[bytes, bool] = {}
    count = 0
    async with AIOKafkaConsumer(bootstrap_servers=bootstrap, auto_offset_reset="earliest") as consumer:
        tps = [TopicPartition(topic, partition) for partition in range(_PARTITIONS)]
        consumer.assign(tps)
        ends = await consumer.end_offsets(tps)
        left = {tp for tp, end in ends.items() if end}
        while left:
            for tp, records in (await consumer.getmany(timeout_ms=500)).items():
                for record in records:
                    count += 1
                    if record.value is None:
                        newest.pop(record.key, None)
                    elif record.key != SETTINGS_KEY:
                        newest[record.key] = True
                if await consumer.position(tp) >= ends[tp]:
                    left.discard(tp)
    return count, len(newest)


async def soak(sessions: int, samples: int) -> list[Sample]:
    """Send so many sessions, as fast as the worker reads them, and look at it from time to time."""
    taken: list[Sample] = []
    with tempfile.TemporaryDirectory(prefix="eddy-lifetime-") as directory, running("kafka") as broker:
        await provision(broker.bootstrap, _GROUP, _PARTITIONS)
        async with connect(Connection(broker.bootstrap)) as brokers:
            changes = {"session_ttl_ms": _TTL_MS, "state_grace_ms": _GRACE_MS}
            await publish(brokers, changed_document(DEFAULTS, changes, {}))
        worker = Worker(broker.bootstrap, Path(directory))
        try:
            await _soak(worker, broker.bootstrap, sessions, samples, taken)
        finally:
            worker.end()
        total, live = await _live_keys(broker.bootstrap)
        click.echo(f"changelog: {total:,} records, of which compaction leaves {live:,} live sessions")
    return taken


async def _soak(worker: Worker, bootstrap: str, sessions: int, samples: int, taken: list[Sample]) -> None:
    started = time.monotonic()
    every = max(_AT_ONCE, sessions // samples)
    due = 0

    def look(sent: int) -> None:
        taken.append(worker.sample(time.monotonic() - started, sent))
        click.echo(_row(taken[-1]))

    async with AIOKafkaProducer(
        bootstrap_servers=bootstrap, linger_ms=5, max_batch_size=512 * 1024
    ) as producer:
        for first in range(0, sessions, _AT_ONCE):
            await _send(producer, range(first, min(first + _AT_ONCE, sessions)))
            await until(
                lambda: worker.metrics().get("eddy_consumer_lag", _MOST_LAG) < _MOST_LAG, 600, "little lag"
            )
            if first >= due:
                look(first + _AT_ONCE)
                due += every
    await until(
        lambda: worker.metrics().get("eddy_sessions_removed_total", 0) >= sessions,
        _PATIENCE_SECONDS,
        "the end of every session",
    )
    look(sessions)


def _row(sample: Sample) -> str:
    return (
        f"| {sample.seconds:.0f} | {sample.sessions:,} | {sample.rss:.0f} | {sample.disk:.1f} "
        f"| {sample.entries:,} | {sample.removed:,} | {sample.searched:,} | {sample.searching:.2f} "
        f"| {sample.cpu:.0f} |"
    )


@click.command()
@click.option("--sessions", type=click.IntRange(10_000), default=1_000_000, show_default=True)
@click.option("--samples", type=click.IntRange(2), default=20, show_default=True)
def main(sessions: int, samples: int) -> None:
    """Measure a worker over very many short sessions on Apache Kafka."""
    click.echo(
        "| s | sessions sent | RSS, MB | disk, MB | entries, about | removed | looked at | CPU s | all |"
    )
    click.echo("|---|---|---|---|---|---|---|---|---|")
    asyncio.run(soak(sessions, samples))


if __name__ == "__main__":
    main()

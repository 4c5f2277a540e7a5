"""The floor: the reads and writes of the job, without any judgement.

The outputs and states were computed before; this program reads the input, writes what belongs to it in
batches (acks=all, idempotent, compressed as Eddy does), one changelog record per session and run, and commits
once a second. It has no local store, so it does less than any engine must.
"""

from __future__ import annotations

import asyncio
import gc
import time
from collections.abc import Iterable, Sequence
from typing import Any

from aiokafka import AIOKafkaConsumer, AIOKafkaProducer

from benchmarks.contenders.config import ContenderConfig
from benchmarks.precomputed import Precomputed
from streams.core.domain.topic import Topic
from streams.observe.settings import WorkerSettings
from streams.worker.state.changelog import encode_session

_RUN = 500

Row = tuple[bytes, bytes, int, list[tuple[str, bytes]]]


class Floor:
    """Writes what belongs to the records of a partition, run by run."""

    def __init__(self, producer: AIOKafkaProducer, changelog: str, known: Precomputed) -> None:
        self._producer = producer
        self._changelog = changelog
        self._headers = known.headers
        self._first = known.first
        self._entries = {
            partition: [(entry.outputs, encode_session(entry.session)) for entry in entries]
            for partition, entries in known.entries.items()
        }

    async def write(self, partition: int, messages: Sequence[Any]) -> None:
        """Write everything for consecutive records; returns when it is acknowledged."""
        for start in range(0, len(messages), _RUN):
            await self._write_run(partition, messages[start : start + _RUN])

    async def _write_run(self, partition: int, run: Sequence[Any]) -> None:
        outputs: dict[str, list[Row]] = {}
        states: dict[bytes, Row] = {}
        first, entries = self._first[partition], self._entries[partition]
        for message in run:
            key, timestamp = message.key, message.timestamp
            written, state = entries[message.offset - first]
            for topic, value in written:
                outputs.setdefault(topic, []).append((key, value, timestamp, self._headers[topic]))
            states[key] = (b"s" + key, state, timestamp, [])
        sent = [
            future
            for topic, rows in outputs.items()
            for future in await self._publish(topic, partition, rows)
        ]
        for future in sent:
            await future
        for future in await self._publish(self._changelog, partition, states.values()):
            await future

    async def _publish(self, topic: str, partition: int, rows: Iterable[Row]) -> list[asyncio.Future[Any]]:
        producer, sent = self._producer, []
        batch = producer.create_batch()
        for key, value, timestamp, headers in rows:
            if batch.append(key=key, value=value, timestamp=timestamp, headers=headers) is None:
                sent.append(await producer.send_batch(batch, topic, partition=partition))
                batch = producer.create_batch()
                batch.append(key=key, value=value, timestamp=timestamp, headers=headers)
        if batch.record_count():
            sent.append(await producer.send_batch(batch, topic, partition=partition))
        return sent


async def main() -> None:
    """Run until killed."""
    config = ContenderConfig.load()
    assert config.precomputed is not None
    known = Precomputed.load(config.precomputed)
    consumer = AIOKafkaConsumer(
        str(Topic.DECISION_LOGS),
        bootstrap_servers=config.bootstrap,
        group_id=config.group,
        enable_auto_commit=False,
        auto_offset_reset="earliest",
        session_timeout_ms=int(config.session_timeout_s * 1000),
        heartbeat_interval_ms=int(config.session_timeout_s * 200),
        max_partition_fetch_bytes=2 << 20,
        fetch_max_wait_ms=50,
    )
    producer = AIOKafkaProducer(
        bootstrap_servers=config.bootstrap,
        acks="all",
        enable_idempotence=config.idempotent,
        compression_type=WorkerSettings().producer_compression,
        max_batch_size=512 << 10,
        max_request_size=16 << 20,
    )
    floor = Floor(producer, f"{config.group}-sessions-changelog", known)
    gc.freeze()
    async with consumer, producer:
        committed = time.monotonic()
        while True:
            fetched = await consumer.getmany(timeout_ms=500)
            await asyncio.gather(*(floor.write(tp.partition, messages) for tp, messages in fetched.items()))
            if time.monotonic() - committed > 1.0:
                await consumer.commit()
                committed = time.monotonic()


if __name__ == "__main__":
    asyncio.run(main())

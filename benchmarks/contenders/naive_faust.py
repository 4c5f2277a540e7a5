"""The job as Faust's documentation writes it: one event at a time, a table, `send`.

Its recommended settings: RocksDB through rocksdict with bounded memory, no leader topic, no web server, no
standbys, 5 ms of linger, large batches; zstd, because
aiokafka's lz4 costs it more. Topics and table hold bytes, which spares Faust its own decoding.
"""

from __future__ import annotations

import time
from typing import Any

import faust

from benchmarks.contenders.config import ContenderConfig
from benchmarks.contenders.judge import OUTPUTS, judge_for
from streams.core.domain.topic import Topic

config = ContenderConfig.load()
app = faust.App(
    config.group,
    broker=f"kafka://{config.bootstrap}",
    store="rocksdb://",
    datadir=config.directory,
    topic_partitions=config.partitions,
    topic_replication_factor=1,
    topic_disable_leader=True,
    table_standby_replicas=0,
    web_enabled=False,
    worker_redirect_stdouts=False,
    broker_session_timeout=config.session_timeout_s,
    broker_heartbeat_interval=config.session_timeout_s / 5,
    broker_commit_interval=1.0,
    consumer_max_fetch_size=2 << 20,
    producer_acks=-1,
    producer_linger=0.005,
    producer_max_batch_size=512 << 10,
    producer_max_request_size=16 << 20,
)


def topic(name: Topic) -> Any:
    """Return a topic of bytes."""
    raw = {"key_serializer": "raw", "value_serializer": "raw"}
    return app.topic(str(name), key_type=bytes, value_type=bytes, **raw)


source = topic(Topic.DECISION_LOGS)
sinks = {str(name): topic(name) for name in OUTPUTS}
sessions = app.Table(
    "sessions",
    key_type=bytes,
    value_type=bytes,
    options={
        "driver": "rocksdict",
        "block_cache_size": 64 << 20,
        "write_buffer_size": 16 << 20,
        "max_open_files": 256,
        "bloom_filter_size": 10,
    },
)
judge = judge_for(config)


@sessions.on_recover
async def tell_recovered() -> None:
    """Say how long the restore took, in the words of Eddy's worker."""
    seconds = time.monotonic() - app.tables.recovery._recovery_started_at  # noqa: SLF001 - Faust only logs it
    said = f"Restored the state of sessions: {len(sessions)} records from {config.partitions} partitions"
    print(f"{said} in {seconds:.2f} s", flush=True)


@app.agent(source)
async def judge_records(stream: Any) -> None:
    """Judge each record."""
    async for event in stream.events():
        message, key = event.message, event.key
        timestamp = message.timestamp
        outputs, state = judge(
            message.partition,
            message.offset,
            key.decode(),
            round(timestamp * 1000),
            event.value,
            sessions.get(key),
        )
        if state is not None:
            sessions[key] = state
        for name, value in outputs:
            await sinks[name].send(key=key, value=value, timestamp=timestamp)


if __name__ == "__main__":
    app.finalize()
    app.Worker(loglevel="INFO", redirect_stdouts=False, quiet=True).execute_from_commandline()

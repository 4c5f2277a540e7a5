"""The job on Quix Streams: a stateful function per record, its RocksDB state, its producer.

Its recommended settings for throughput: commits (which flush the state and its changelog) five seconds
apart, librdkafka's linger and batch size raised, lz4. State is stored as bytes, which spares it its own JSON.
"""

from __future__ import annotations

from typing import Any

from quixstreams import Application, message_context
from quixstreams.models import SerializationContext, Serializer
from quixstreams.state.rocksdb import RocksDBOptions

from benchmarks.contenders.config import ContenderConfig
from benchmarks.contenders.judge import OUTPUTS, judge_for
from streams.core.domain.topic import Topic


class _Written(Serializer):
    """Takes the bytes of a (topic, value) pair."""

    def __call__(self, value: tuple[str, bytes], ctx: SerializationContext) -> bytes:  # noqa: ARG002
        return value[1]


def main() -> None:
    """Run until killed."""
    config = ContenderConfig.load()
    app = Application(
        config.bootstrap,
        consumer_group=config.group,
        auto_offset_reset="earliest",
        commit_interval=5.0,
        state_dir=config.directory,
        rocksdb_options=RocksDBOptions(write_buffer_size=16 << 20, block_cache_size=64 << 20),
        auto_create_topics=True,
        consumer_extra_config={
            "fetch.message.max.bytes": 2 << 20,
            "fetch.wait.max.ms": 50,
            "session.timeout.ms": int(config.session_timeout_s * 1000),
        },
        producer_extra_config={
            "acks": "all",
            "enable.idempotence": config.idempotent,
            "linger.ms": 20,
            "batch.size": 512 << 10,
            "compression.type": "lz4",
        },
        loglevel="WARNING",
    )
    source = app.topic(str(Topic.DECISION_LOGS), key_deserializer="str", value_deserializer="bytes")
    sinks = {
        str(topic): app.topic(str(topic), key_serializer="str", value_serializer=_Written())
        for topic in OUTPUTS
    }
    judge = judge_for(config)

    def apply(value: bytes, key: str, timestamp: int, _headers: Any, state: Any) -> list[tuple[str, bytes]]:
        place = message_context()
        outputs, after = judge(
            place.partition, place.offset, key, timestamp, value, state.get_bytes("session")
        )
        if after is not None:
            state.set_bytes("session", after)
        return outputs

    frame = app.dataframe(source)
    frame = frame.apply(apply, stateful=True, expand=True, metadata=True)
    frame.to_topic(lambda written, *_: sinks[written[0]])
    app.run()


if __name__ == "__main__":
    main()

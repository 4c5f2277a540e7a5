"""The records of one session on the topic of enriched records."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import aclosing

from schemas.codec import Codec
from streams.core.domain.topic import Topic
from streams.core.offline import Judgement
from streams.kafka.client import Brokers
from streams.operate.explain.session_records import MOST_REMEMBERED, completed, not_found, scored_again


async def from_topic(brokers: Brokers, codec: Codec, session_id: str) -> AsyncGenerator[Judgement]:
    """Yield the enriched records of a session that the topic still holds, each once, oldest first.

    The partition that Kafka's own clients choose for the key is read first, the others only when it has none.

    If there is no such session, the one whose id begins so.

    Raises:
        ConfigurationError: there is no record of the session, or several begin so.
    """
    decoder = codec.decoder(f"{Topic.ENRICHED}-value")
    key, others = session_id.encode("utf-8", "surrogateescape"), set[str]()
    topic = brokers.topic(Topic.ENRICHED)
    for partition in await brokers.likely_partitions(topic, key):
        newest = -1
        async with aclosing(brokers.read(topic, [partition])) as records:
            async for record in records:
                if record.key != key:
                    if record.key is not None and len(others) < MOST_REMEMBERED:
                        others.add(record.key.decode("utf-8", "replace"))
                    continue
                await decoder.prepare([(record.value, record.headers)])
                scored = scored_again(decoder.decode(record.value, record.headers))
                if scored.decision.offset > newest:  # after a crash a record may stand there twice
                    newest = scored.decision.offset
                    yield Judgement(newest, session_id, scored.decision.event_id, scored)
        if newest >= 0:
            return
    if (whole := completed(session_id, others, f"the topic {topic}")) is None:
        raise not_found(session_id, others, f"the topic {topic}")
    async with aclosing(from_topic(brokers, codec, whole)) as judgements:
        async for judgement in judgements:
            yield judgement

"""The consumer of tools: outside any group, committing nothing, reading only what is committed."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from streams.kafka.connection import READ_COMMITTED, Connection
from streams.kafka.patches.careful_fetch import CarefulConsumer


@asynccontextmanager
async def groupless_consumer(
    connection: Connection, *, fetch_bytes: int = 8 << 20
) -> AsyncIterator[CarefulConsumer]:
    """Yield a consumer that nothing is assigned to yet; it fetches so many bytes of a partition at once."""
    consumer = CarefulConsumer(
        max_batch_bytes=connection.max_batch_bytes,
        **connection.client_options(),
        group_id=None,
        enable_auto_commit=False,
        auto_offset_reset="earliest",
        isolation_level=READ_COMMITTED,
        fetch_max_wait_ms=100,
        max_partition_fetch_bytes=fetch_bytes,
    )
    await consumer.start()
    try:
        yield consumer
    finally:
        await consumer.stop()

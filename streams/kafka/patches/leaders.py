"""Finding a partition's leader again after it has moved.

aiokafka 0.14 asks for new metadata when a fetch reaches a broker that is no longer the leader, but not when
the look-up of a partition's first offset does. Such a look-up is tried for ever at the wrong broker, until
metadata is five minutes old, and nothing else is fetched from that broker meanwhile. Faust's consumer looks
up its changelog partitions at each rebalance, and fetches nothing from them that would show the move.
"""

from __future__ import annotations

from typing import Any

from aiokafka.errors import KafkaError


def follow_leaders(consumer: Any) -> None:
    """Let a started ``AIOKafkaConsumer`` ask who leads when the broker it asks for an offset does not."""
    client, fetcher = consumer._client, consumer._fetcher
    look_up = fetcher._proc_offset_request

    async def look_up_again(node_id: int, topics: Any) -> Any:
        try:
            return await look_up(node_id, topics)
        except KafkaError as error:
            if error.invalid_metadata:
                client.force_metadata_update()
            raise

    fetcher._proc_offset_request = look_up_again

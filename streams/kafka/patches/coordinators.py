"""Looking for a coordinator again when the broker that was asked for it goes away.

aiokafka 0.14 asks any broker who coordinates a transaction or a group. It asks another one where the first
cannot be reached or gives no answer in time, but not where the connection breaks before the answer: that ends
a transactional producer for good, and the worker with it, whenever a broker dies at that moment.
"""

from __future__ import annotations

from typing import Any

from aiokafka.errors import KafkaConnectionError, NodeNotReadyError


def find_coordinators(producer: Any) -> None:
    """Let an ``AIOKafkaProducer`` look up again when the connection breaks before the answer."""
    client = producer.client
    look_up = client.coordinator_lookup

    async def look_up_again(coordinator_type: int, coordinator_key: str) -> Any:
        try:
            return await look_up(coordinator_type, coordinator_key)
        except KafkaConnectionError as error:
            raise NodeNotReadyError(str(error)) from error

    client.coordinator_lookup = look_up_again

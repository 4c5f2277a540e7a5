"""Several requests to a broker at a time.

aiokafka's producer sends a broker one request, and the next one only some turns of the event loop after its
answer. Where lanes share a producer, each waits for the requests of the others, for its outputs and again for
its changelog. Order does not need that: of a topic partition one batch at most is on its way, as before.
"""

from __future__ import annotations

from collections import Counter

from aiokafka import AIOKafkaProducer

#: As many as other Kafka clients have.
_AT_ONCE = 5


class InFlight:
    """How many requests are on their way to each broker, in place of aiokafka's set of busy ones.

    Args:
        at_once: A broker with this many is busy.
    """

    def __init__(self, at_once: int = _AT_ONCE) -> None:
        self._at_once = at_once
        self._requests: Counter[int] = Counter()

    def add(self, node_id: int) -> None:
        """Take note of a request."""
        self._requests[node_id] += 1

    def remove(self, node_id: int) -> None:
        """Take note of an answer, or of a failure."""
        self._requests[node_id] -= 1

    def __contains__(self, node_id: int) -> bool:
        """Tell whether a broker is to get no further request for now."""
        return self._requests[node_id] >= self._at_once


def allow_several_in_flight(producer: AIOKafkaProducer) -> None:
    """Let a producer that was not started yet send the next request before the last is answered."""
    producer._sender._in_flight = InFlight()

"""Sending to Kafka: acknowledged by all replicas, in order, each record in the partition of its session."""

from __future__ import annotations

import logging
import os
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from eddy_client.rare_log import RareLog
from eddy_client.transport import Settled

if TYPE_CHECKING:
    from confluent_kafka import Producer

_IN_FLIGHT = 1_000
_LONGEST_BACKOFF_MS = 30_000


class KafkaTransport:
    """A producer of librdkafka.

    Args:
        servers: Brokers to start from, `host:port`, separated by commas.
        topic: Where records go.
        options: librdkafka's own, such as those of TLS and SASL; they win over ours.

    Raises:
        ImportError: the extra `kafka` is not installed.
        ValueError: an option does not exist, or has no such value.
    """

    def __init__(self, servers: str, topic: str, options: Mapping[str, Any]) -> None:
        try:
            from confluent_kafka import KafkaException
        except ImportError as error:
            raise ImportError("Sending to Kafka needs an extra: pip install 'eddy-client[kafka]'.") from error
        logger = logging.getLogger("eddy_client.librdkafka")
        logger.addFilter(RareLog())
        config: dict[str, Any] = {
            "bootstrap.servers": servers,
            "client.id": "eddy-client",
            "enable.idempotence": True,
            "acks": "all",
            "partitioner": "murmur2_random",
            "compression.type": "zstd",
            "linger.ms": 50,
            "queue.buffering.max.messages": _IN_FLIGHT,
            "queue.buffering.max.kbytes": 16_384,
            "message.max.bytes": 1_000_000,
            "message.timeout.ms": 0,
            "reconnect.backoff.max.ms": _LONGEST_BACKOFF_MS,
            "retry.backoff.max.ms": _LONGEST_BACKOFF_MS,
            **options,
        }
        self._config, self._logger = config, logger
        try:
            self._producer = self._made()
        except KafkaException as error:
            raise ValueError(f"The Kafka client refuses an option: {error}.") from error
        self._topic = topic
        self._process = os.getpid()

    def send(self, key: bytes, value: bytes, settled: Settled) -> bool:
        """Hand a record over; False while too many are under way."""
        from confluent_kafka import KafkaException

        try:
            self._producer.produce(
                self._topic,
                key=key,
                value=value,
                headers=[("eddy-source", b"eddy-client")],
                on_delivery=lambda error, _message: settled(error is None),
            )
        except BufferError:
            return False
        except KafkaException as error:
            if not error.args[0].fatal():
                raise
            # Such as a broker that has lost what it had taken: this producer sends nothing any more.
            self._logger.warning("The Kafka client begins again: %s", error.args[0].str())
            self.close(0)
            self._producer = self._made()
            return False
        self._producer.poll(0)
        return True

    def work(self, within: float) -> None:
        """Take what brokers answer."""
        self._producer.poll(within)

    def close(self, within: float) -> None:
        """Wait for the brokers' answers; what is not answered in time is given up."""
        if self._producer.flush(within):
            self._producer.purge()
            self._producer.flush(0.1)

    def _made(self) -> Producer:
        from confluent_kafka import Producer

        return Producer(self._config, logger=self._logger)

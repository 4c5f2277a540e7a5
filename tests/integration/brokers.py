"""The two brokers every integration test can run on."""

from pathlib import Path

from streams.broker.embedded import EmbeddedBroker
from tests.integration.apache_kafka import ApacheKafka

Broker = EmbeddedBroker | ApacheKafka


def new_broker(kind: str, directory: Path) -> Broker:
    """Return a broker of this kind, not yet started; Apache Kafka keeps its data in `directory`."""
    return ApacheKafka(directory) if kind == "kafka" else EmbeddedBroker()

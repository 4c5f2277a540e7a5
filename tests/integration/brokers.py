"""The two brokers every integration test can run on."""

from pathlib import Path
from typing import Protocol

from streams.broker.embedded import EmbeddedBroker
from tests.integration.apache_kafka import ApacheKafka

Broker = EmbeddedBroker | ApacheKafka


class Reachable(Protocol):
    """A broker, or several: ``bootstrap`` is where to reach them, ``kind`` "embedded" or "kafka"."""

    kind: str

    @property
    def bootstrap(self) -> str: ...


def new_broker(kind: str, directory: Path) -> Broker:
    """Return a broker of this kind, not yet started; Apache Kafka keeps its data in `directory`."""
    return ApacheKafka(directory) if kind == "kafka" else EmbeddedBroker()

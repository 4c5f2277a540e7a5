"""The two brokers every integration test can run on."""

from pathlib import Path
from typing import Protocol

from streams.kafka.embedded.embedded import EmbeddedBroker
from tests.integration.apache_kafka import START_SECONDS, ApacheKafka
from tests.network import Link

Broker = EmbeddedBroker | ApacheKafka


class Reachable(Protocol):
    """A broker, or several: ``bootstrap`` is where to reach them, ``kind`` "embedded" or "kafka"."""

    kind: str

    @property
    def bootstrap(self) -> str: ...


def new_broker(kind: str, directory: Path, advertised_port: int | None = None) -> Broker:
    """Return a broker of this kind, not yet started; Apache Kafka keeps its data in `directory`."""
    if kind == "kafka":
        return ApacheKafka(directory, advertised_port=advertised_port)
    return EmbeddedBroker(start_seconds=START_SECONDS, advertised_port=advertised_port)


class Linked:
    """A broker that is reached through a link.

    Args:
        broker: Runs, and tells its clients the port at which the link listens.
        link: Leads there.
    """

    def __init__(self, broker: Broker, link: Link) -> None:
        self.kind = broker.kind
        self.link = link

    @property
    def bootstrap(self) -> str:
        """The address of the link."""
        return self.link.bootstrap

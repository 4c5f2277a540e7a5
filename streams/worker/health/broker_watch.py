"""Asking each broker every few seconds whether it answers: the one source for log, probes and metrics.

What the worker's own clients meet does not tell. While a broker hangs they wait for up to a minute without a
word, and a worker with nothing to read is silent as well. So the watch has a connection of its own to each
broker and asks for metadata, which every broker answers by itself.
"""

from __future__ import annotations

import asyncio
import logging
import os
import time
from typing import Any, Protocol

from aiokafka.conn import CloseReason, collect_hosts, create_conn
from aiokafka.errors import KafkaError
from aiokafka.protocol.metadata import MetadataRequest
from mode import Service

from streams.kafka.connection import Connection, what_to_do
from streams.worker.health.outage import BrokerAddress, BrokerAnswer, BrokerRefusal, Moment, Outage

_LOOK_SECONDS = 2.0

#: How long a broker may take. One that takes longer counts as not answering.
_PATIENCE_SECONDS = 4.0

log = logging.getLogger(__name__)


class ClientErrorLog(Protocol):
    """What the worker's clients write about brokers that they cannot reach."""

    #: How many lines there were, written or not.
    seen: int
    #: Whether they are left out of the log, because a line of ours says it.
    hushed: bool


class BrokerWatch(Service):
    """Knows which brokers answer, and says so in the log when that changes.

    Args:
        connection: How to reach the brokers.
        errors: The errors of the worker's clients: counted, and left out of the log while no broker answers.
        kwargs: Further arguments that `mode.Service` takes.
    """

    def __init__(self, connection: Connection, errors: ClientErrorLog, **kwargs: Any) -> None:
        self._connection = connection
        self._errors = errors
        self._tls = connection.ssl_context()
        servers = [
            BrokerAddress(host, port) for host, port, _ in collect_hosts(connection.servers, randomize=False)
        ]
        self._outage = Outage(servers, _now(), lambda: errors.seen)
        self._open: dict[BrokerAddress, Any] = {}
        super().__init__(**kwargs)

    def silence(self) -> str | None:
        """Return that no broker answers and since when; None as long as one does."""
        return self._outage.sentence(time.monotonic())

    def brokers(self) -> tuple[int, int]:
        """Return how many brokers answer, and of how many."""
        return self._outage.answering, self._outage.known

    def silent_s(self) -> float:
        """Return for how many seconds no broker has answered; about 2 at most when all is well."""
        return time.monotonic() - self._outage.answered.at

    def tls_outdated(self) -> bool:
        """Tell whether TLS files have changed and cannot be used."""
        return self._tls is not None and self._tls.outdated

    async def refresh(self) -> None:
        """Ask every broker once, and look whether TLS files have changed."""
        if self._tls is not None:
            self._tls.newest()
        addresses = self._outage.addresses
        for gone in self._open.keys() - set(addresses.values()):
            self._open.pop(gone).close(reason=CloseReason.SHUTDOWN)
        said = await asyncio.gather(*(self._ask(address) for address in addresses.values()))
        for level, line in self._outage.note(dict(zip(addresses, said, strict=True)), _now()):
            log.log(level, "%s", line)
        self._errors.hushed = self._outage.answering == 0

    async def _ask(self, address: BrokerAddress) -> BrokerAnswer | BrokerRefusal:
        try:
            async with asyncio.timeout(_PATIENCE_SECONDS):
                metadata = await (await self._connected(address)).send(MetadataRequest([]))
        except (OSError, KafkaError, TimeoutError) as error:
            if (connection := self._open.pop(address, None)) is not None:
                connection.close(reason=CloseReason.CONNECTION_BROKEN)
            return BrokerRefusal(self._why(error))
        return BrokerAnswer({node: BrokerAddress(host, port) for node, host, port, *_ in metadata.brokers})

    async def _connected(self, address: BrokerAddress) -> Any:
        connection = self._open.get(address)
        if connection is None or not connection.connected():
            options = self._connection.client_options()
            del options["bootstrap_servers"]
            patience_ms = int(1000 * _PATIENCE_SECONDS)
            connection = await create_conn(*address, request_timeout_ms=patience_ms, **options)
            self._open[address] = connection
        return connection

    def _why(self, error: Exception) -> str:
        if isinstance(error, TimeoutError):
            return f"no answer within {_PATIENCE_SECONDS:g} s"
        if (known := what_to_do(error, self._connection)) is not None:
            return known
        # asyncio puts the address into it, which stands in front of this.
        code = error.errno if isinstance(error, OSError) else None
        return os.strerror(code).lower() if code is not None and code > 0 else str(error)

    @Service.task
    async def _watch(self) -> None:
        while not self.should_stop:
            await self.refresh()
            await self.sleep(_LOOK_SECONDS)

    async def on_stop(self) -> None:
        """Close the connections; from now on the clients report for themselves."""
        self._errors.hushed = False
        for connection in self._open.values():
            connection.close(reason=CloseReason.SHUTDOWN)
        self._open.clear()


def _now() -> Moment:
    return Moment.of(time.monotonic(), time.time())

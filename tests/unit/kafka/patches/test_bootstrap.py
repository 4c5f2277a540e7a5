"""Neither a bootstrap that is cancelled nor a client that is closed leaves a connection open."""

import asyncio

import pytest
from aiokafka import client as aiokafka_client
from aiokafka.client import AIOKafkaClient
from aiokafka.structs import BrokerMetadata

from streams.kafka.patches.bootstrap import close_what_is_left

#: An answer to ApiVersions: no error, and Metadata (3), version 0.
_VERSIONS = bytes.fromhex("0000 00000001 0003 0000 0000")


class SilentBroker:
    """Says which versions it knows, and answers nothing else."""

    def __init__(self) -> None:
        self.asked = asyncio.Event()
        self.left = asyncio.Event()

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        request = await self._request(reader)
        answer = request[4:8] + _VERSIONS
        writer.write(len(answer).to_bytes(4) + answer)
        await self._request(reader)
        self.asked.set()
        await reader.read()
        self.left.set()
        writer.close()

    @staticmethod
    async def _request(reader: asyncio.StreamReader) -> bytes:
        return await reader.readexactly(int.from_bytes(await reader.readexactly(4)))


async def test_the_connection_of_a_bootstrap_that_is_cancelled_is_closed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(aiokafka_client, "create_conn", aiokafka_client.create_conn)  # put back afterwards
    close_what_is_left()
    broker = SilentBroker()
    server = await asyncio.start_server(broker.serve, "127.0.0.1")
    port = server.sockets[0].getsockname()[1]
    client = AIOKafkaClient(bootstrap_servers=f"127.0.0.1:{port}")
    starting = asyncio.create_task(client.bootstrap())
    await broker.asked.wait()
    starting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await starting
    await broker.left.wait()
    server.close()
    await client.close()


class SlowBroker:
    """Accepts connections, and answers nothing."""

    def __init__(self) -> None:
        self.asked = asyncio.Event()
        self.left = asyncio.Event()

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.asked.set()
        await reader.read()
        self.left.set()
        writer.close()


async def test_a_connection_that_a_request_is_still_opening_ends_with_its_client_and_none_follows(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(aiokafka_client, "create_conn", aiokafka_client.create_conn)
    monkeypatch.setattr(AIOKafkaClient, "close", AIOKafkaClient.close)
    close_what_is_left()
    broker = SlowBroker()
    server = await asyncio.start_server(broker.serve, "127.0.0.1")
    host, port = server.sockets[0].getsockname()
    client = AIOKafkaClient(bootstrap_servers=f"{host}:{port}")
    client.cluster._brokers = {1: BrokerMetadata(1, host, port, None)}
    asking = asyncio.create_task(client.ready(1))
    await broker.asked.wait()
    await client.close()
    for request in (asking, client.ready(1)):
        with pytest.raises(asyncio.CancelledError):
            await request
    await broker.left.wait()
    server.close()

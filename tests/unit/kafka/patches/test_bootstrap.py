"""A bootstrap that is cancelled leaves no connection open."""

import asyncio

import pytest
from aiokafka import client as aiokafka_client
from aiokafka.client import AIOKafkaClient

from streams.kafka.patches.bootstrap import close_cancelled_bootstraps

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
    close_cancelled_bootstraps()
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

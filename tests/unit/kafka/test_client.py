"""Connecting to brokers: who waits is told what for."""

import asyncio
import logging

import pytest

from streams.core.errors import InfrastructureError
from streams.kafka import client
from streams.kafka.connection import Connection


async def test_a_broker_that_takes_the_connection_and_never_answers_is_named(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(client, "_SILENT_SECONDS", 0.05)
    told = asyncio.Event()
    said: list[str] = []

    class Ear(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            said.append(record.getMessage())
            told.set()

    ear = Ear(logging.WARNING)
    client.log.addHandler(ear)
    release = asyncio.Event()

    async def hang(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await release.wait()
        writer.close()

    server = await asyncio.start_server(hang, "127.0.0.1", 0)
    address = "{}:{}".format(*server.sockets[0].getsockname())

    async def use() -> None:
        async with client.connect(Connection(address)):
            pass

    using = asyncio.create_task(use())
    try:
        await asyncio.wait_for(told.wait(), 60)
    finally:
        release.set()
        with pytest.raises(InfrastructureError):
            await using
        client.log.removeHandler(ear)
        server.close()
    assert said == [
        f"No broker at {address} has answered for 0.05 s. Eddy waits for half a minute; Ctrl-C ends it now."
    ]

"""A connection that a cancelled bootstrap leaves behind is closed.

aiokafka closes its first connection if the request for metadata fails, and not if it is cancelled, as when a
worker is stopped while it restores. The garbage collector then logs an error.
"""

from __future__ import annotations

import asyncio
from typing import Any

from aiokafka import client
from aiokafka.admin import AIOKafkaAdminClient
from aiokafka.client import AIOKafkaClient
from aiokafka.conn import AIOKafkaConnection, create_conn


def admin_client(admin: AIOKafkaAdminClient) -> AIOKafkaClient:
    """Return the client that a started admin client sends its requests with."""
    return admin._client


async def create_closing(*address: Any, **options: Any) -> AIOKafkaConnection:
    """Open a connection; one for a bootstrap is closed if a request on it is cancelled."""
    connection = await create_conn(*address, **options)
    if "on_close" not in options:  # only the bootstrap, which has nothing to clean up, leaves it out
        send = connection.send

        async def send_or_close(*request: Any, **expected: Any) -> Any:
            try:
                return await send(*request, **expected)
            except asyncio.CancelledError:
                connection.close()
                raise

        connection.send = send_or_close
    return connection


def close_cancelled_bootstraps() -> None:
    """Let every client of this process close what a cancelled bootstrap leaves."""
    client.create_conn = create_closing

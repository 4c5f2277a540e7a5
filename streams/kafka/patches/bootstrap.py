"""A connection that is left behind, by a cancelled bootstrap or by the end of its client, is closed.

aiokafka closes its first connection if the request for metadata fails, and not if it is cancelled, as when a
worker is stopped while it restores. And a client closes the connections that it has: one that a request is
still opening by then, such as a consumer's question for offsets, comes into a client that is closed, and
stays. The garbage collector then logs an error.
"""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Any
from weakref import WeakKeyDictionary, WeakSet

from aiokafka import client
from aiokafka.admin import AIOKafkaAdminClient
from aiokafka.client import AIOKafkaClient
from aiokafka.conn import AIOKafkaConnection, create_conn


async def stop_wholly(stop: Coroutine[Any, Any, None]) -> None:
    """Stop a client to its end, also if who stops it is cancelled: it would keep its connections."""
    stopping = asyncio.ensure_future(stop)
    try:
        await asyncio.shield(stopping)
    except asyncio.CancelledError:
        await asyncio.wait([stopping])
        raise


def admin_client(admin: AIOKafkaAdminClient) -> AIOKafkaClient:
    """Return the client that a started admin client sends its requests with."""
    return admin._client


#: Clients that are closed, or about to be.
_closed: WeakSet[AIOKafkaClient] = WeakSet()
#: The connections that each client is opening.
_opening: WeakKeyDictionary[AIOKafkaClient, set[asyncio.Task[AIOKafkaConnection]]] = WeakKeyDictionary()


async def create_closing(*address: Any, **options: Any) -> AIOKafkaConnection:
    """Open a connection; one for a bootstrap is closed if a request on it is cancelled.

    Raises:
        CancelledError: the client that wants it is closed: nobody waits for an answer any more.
    """
    # Only the bootstrap, which has nothing to clean up, leaves `on_close` out.
    owner = getattr(options.get("on_close"), "__self__", None)
    if owner is not None:
        return await _create_for(owner, *address, **options)
    connection = await create_conn(*address, **options)
    send = connection.send

    async def send_or_close(*request: Any, **expected: Any) -> Any:
        try:
            return await send(*request, **expected)
        except asyncio.CancelledError:
            connection.close()
            raise

    connection.send = send_or_close
    return connection


async def _create_for(owner: AIOKafkaClient, *address: Any, **options: Any) -> AIOKafkaConnection:
    if owner in _closed:
        raise asyncio.CancelledError
    opening = asyncio.ensure_future(create_conn(*address, **options))
    begun = _opening.setdefault(owner, set())
    begun.add(opening)
    opening.add_done_callback(begun.discard)
    try:
        return await opening
    except asyncio.CancelledError:
        if opening.done() and not opening.cancelled() and opening.exception() is None:
            opening.result().close()  # it was open already when its request was cancelled
        raise


async def _close_for_good(closing: AIOKafkaClient) -> None:
    _closed.add(closing)
    begun = list(_opening.get(closing, ()))
    for opening in begun:
        opening.cancel()
    await _close(closing)  # before anything is waited for: who closes may be cancelled, too
    if begun:
        await asyncio.wait(begun)


_close = AIOKafkaClient.close


def close_what_is_left() -> None:
    """Let every client of this process close what a cancelled bootstrap, or its own end, leaves open."""
    client.create_conn = create_closing
    AIOKafkaClient.close = _close_for_good

"""Answers the hooks of agents, and the commands of people, on a socket of this user's own."""

from __future__ import annotations

import asyncio
import logging
import os
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, Final, NamedTuple

import orjson

from streams.core.errors import ConfigurationError, EddyError
from streams.formats.agent_hooks.asking import LONGEST_REQUEST, SOCKET_VARIABLE, WAITS

log = logging.getLogger(__name__)

_READ_SECONDS: Final = 5.0


class HookReply(NamedTuple):
    """What is answered.

    Attributes:
        line: one line of text, without its end.
        sent: called once whoever asked has it.
        lost: called if nobody is there any more.
    """

    line: str
    sent: Callable[[], None] = lambda: None
    lost: Callable[[], None] = lambda: None


Answer = Callable[[Mapping[str, Any], Callable[[], None]], Awaitable[HookReply]]
"""Returns the reply to a request, and calls the function first if that takes a while.

It raises EddyError with a sentence for the log.
"""


class HookServer:
    """A socket in the file system that only this user can open. One watch at a time has it.

    Args:
        path: Where the socket is.
        answer: Returns the answer to a request.
    """

    def __init__(self, path: Path, answer: Answer) -> None:
        self._path, self._answer = path, answer
        self._server: asyncio.Server | None = None
        self._serving: set[asyncio.Task[Any]] = set()

    async def start(self) -> None:
        """Listen.

        Raises:
            ConfigurationError: the socket cannot be made.
        """
        try:
            self._path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            if self._path.exists() and not self._path.is_socket():
                raise ConfigurationError(f"{self._path} is no socket, and is left as it is. Move it away")
            # The journal has one owner: a socket that is there was left by a watch that was killed.
            self._path.unlink(missing_ok=True)
            mask = os.umask(0o177)
            try:
                self._server = await asyncio.start_unix_server(
                    self._serve, str(self._path), limit=2 * LONGEST_REQUEST
                )
            finally:
                os.umask(mask)
        except OSError as error:
            raise ConfigurationError(
                f"No socket can be made at {self._path}: {error}. Name another path in {SOCKET_VARIABLE}, "
                "for the watch and for the agents; it may have a hundred characters"
            ) from error

    async def stop(self) -> None:
        """Listen no more. A hook that still waits goes on."""
        if self._server is not None:
            self._server.close()
            for task in self._serving:
                task.cancel()
            await asyncio.gather(*self._serving, return_exceptions=True)
            await self._server.wait_closed()
            with suppress(FileNotFoundError):
                self._path.unlink()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._serving.add(task)
        task.add_done_callback(self._serving.discard)
        try:
            async with asyncio.timeout(_READ_SECONDS):
                request = orjson.loads(await reader.readline())
            if not isinstance(request, dict):
                raise ValueError("a request is an object")  # noqa: TRY004, TRY301 - it is data
            reply = await self._unless_gone(reader, writer, request)
            if reply is not None:
                await _send(writer, reply)
        except EddyError as error:
            log.warning("A hook was not answered: %s", error)
        except (OSError, ValueError, TimeoutError) as error:
            log.warning("A hook was not answered: it sent no request (%s: %s).", type(error).__name__, error)
        finally:
            writer.close()
            with suppress(OSError):
                await writer.wait_closed()

    async def _unless_gone(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, request: Mapping[str, Any]
    ) -> HookReply | None:
        """Return the reply; None if whoever asked went away, as an agent does that is interrupted."""
        gone = asyncio.ensure_future(reader.read(1))
        await asyncio.sleep(0)  # one that waited for long in front of the socket may be gone already
        answering = asyncio.ensure_future(self._answer(request, lambda: writer.write(WAITS)))
        try:
            await asyncio.wait({answering, gone}, return_when=asyncio.FIRST_COMPLETED)
            if not answering.done():
                return None
            reply = answering.result()
            if gone.done():
                reply.lost()
                return None
            return reply
        finally:
            for task in (answering, gone):
                task.cancel()
            await asyncio.gather(answering, gone, return_exceptions=True)


async def _send(writer: asyncio.StreamWriter, reply: HookReply) -> None:
    try:
        writer.write(reply.line.encode() + b"\n")
        await writer.drain()
    except OSError:
        reply.lost()
        raise
    reply.sent()

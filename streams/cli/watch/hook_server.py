"""Answers the hooks of agents, and the commands of people, on a socket of this user's own."""

from __future__ import annotations

import asyncio
import errno
import logging
import os
import socket
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, Final

import orjson

from streams.core.errors import ConfigurationError, EddyError
from streams.formats.agent_hooks.asking import LONGEST_REQUEST

log = logging.getLogger(__name__)

_READ_SECONDS: Final = 5.0

Answer = Callable[[Mapping[str, Any]], Awaitable[str]]
"""Returns one line for a request; raises EddyError with a sentence for whoever asked."""


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
            ConfigurationError: another watch listens, or the socket cannot be made.
        """
        if _is_answered(self._path):
            raise ConfigurationError(
                f"Another `eddy watch` answers at {self._path}. End it first: one watches all of your agents"
            )
        try:
            self._path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            self._path.unlink(missing_ok=True)
            mask = os.umask(0o177)
            try:
                self._server = await asyncio.start_unix_server(
                    self._serve, str(self._path), limit=2 * LONGEST_REQUEST
                )
            finally:
                os.umask(mask)
        except OSError as error:
            raise ConfigurationError(f"No socket can be made at {self._path}: {error}") from error

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
            answer = await self._unless_gone(reader, request)
            if answer is not None:
                writer.write(answer.encode() + b"\n")
                await writer.drain()
        except EddyError as error:
            log.warning("A hook was not answered: %s", error)
        except (OSError, ValueError, TimeoutError) as error:
            log.warning("A hook was not answered: it sent no request (%s: %s).", type(error).__name__, error)
        finally:
            writer.close()
            with suppress(OSError):
                await writer.wait_closed()

    async def _unless_gone(self, reader: asyncio.StreamReader, request: Mapping[str, Any]) -> str | None:
        """Return the answer; None if whoever asked went away, as an agent does that is interrupted."""
        answering = asyncio.ensure_future(self._answer(request))
        gone = asyncio.ensure_future(reader.read(1))
        try:
            await asyncio.wait({answering, gone}, return_when=asyncio.FIRST_COMPLETED)
            return answering.result() if answering.done() else None
        finally:
            for task in (answering, gone):
                task.cancel()
            await asyncio.gather(answering, gone, return_exceptions=True)


def _is_answered(path: Path) -> bool:
    """Tell whether somebody listens; a socket that a killed watch left behind is nobody's."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as connection:
        try:
            connection.connect(str(path))
        except OSError as error:
            return error.errno not in (errno.ENOENT, errno.ECONNREFUSED, errno.ENOTDIR)
    return True

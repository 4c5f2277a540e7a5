"""One worker as its supervisor sees it: what it writes, and when it has ended."""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import Sequence
from contextlib import suppress
from typing import Final, cast

from streams.operate.supervisor.lines import Lines

_STDERR: Final = 2

#: More than a pipe holds: what was written before the worker ended, and not what others write afterwards.
_MOST_LEFT: Final = 1 << 20


class Worker(asyncio.SubprocessProtocol):
    """Passes on what a process writes until it ends.

    The end of the process counts, not that of its standard error: a process that it leaves behind may keep
    that open for as long as it likes. `asyncio.subprocess.Process.wait` waits for it in some Pythons.

    Args:
        lines: What its lines become.

    Attributes:
        ended: Its status, as `subprocess` gives it.
    """

    def __init__(self, lines: Lines) -> None:
        self._lines = lines
        self._loop = asyncio.get_running_loop()
        self.ended: asyncio.Future[int] = self._loop.create_future()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Take note of the process."""
        self._transport = cast("asyncio.SubprocessTransport", transport)

    def pipe_data_received(self, _fd: int, data: bytes) -> None:
        """Pass on what it writes."""
        _write(self._lines.add(data))

    def process_exited(self) -> None:
        """Read what is left, once what was read before is passed on."""
        pipe = self._pipe()
        if pipe is not None:
            pipe.pause_reading()
        self._loop.call_soon(self._finish, pipe)

    def _pipe(self) -> asyncio.ReadTransport | None:
        pipe = cast("asyncio.ReadTransport | None", self._transport.get_pipe_transport(_STDERR))
        return None if pipe is None or pipe.is_closing() else pipe

    def _finish(self, pipe: asyncio.ReadTransport | None) -> None:
        if pipe is not None:
            # asyncio has made it one that does not block.
            with suppress(BlockingIOError):
                _write(self._lines.add(os.read(pipe.get_extra_info("pipe").fileno(), _MOST_LEFT)))
        _write(self._lines.end())
        status = self._transport.get_returncode()
        assert status is not None
        self._transport.close()
        self.ended.set_result(status)


def _write(lines: Sequence[bytes]) -> None:
    # If nobody reads the log any more, the workers go on without.
    with suppress(OSError):
        sys.stderr.buffer.writelines(lines)
        sys.stderr.buffer.flush()

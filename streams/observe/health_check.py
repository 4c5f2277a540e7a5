"""Whether the command in this container is alive: `python -m streams.observe.health_check`, for its image.

It asks `/livez` at the ports that the processes of the container listen on, whatever the command is and the
settings say. Commands without pages are alive as long as they run.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Iterator
from http.client import HTTPException
from pathlib import Path
from typing import Final
from urllib.error import HTTPError
from urllib.request import ProxyHandler, build_opener

#: Commands that run until they are stopped, and tell over HTTP how they are.
SERVICES: Final = frozenset({"worker", "bridge", "notify", "console"})

_PROC: Final = Path("/proc")
_LISTENS: Final = "0A"
_TIMEOUT_S: Final = 8.0


def listening(pids: Iterable[int]) -> set[int]:
    """Return the TCP ports that processes listen on. Processes of others are left out."""
    sockets = {inode for pid in pids for inode in _sockets(pid)}
    return {port for port, inode in _listeners() if inode in sockets}


def problem(port: int) -> str | None:
    """Return why what listens on a port is not alive, None if it is."""
    try:
        # A proxy that the environment names is for what lies outside.
        with build_opener(ProxyHandler({})).open(f"http://127.0.0.1:{port}/livez", timeout=_TIMEOUT_S):
            return None
    except HTTPError as error:
        with error:  # it holds the connection
            return f"port {port}: {error}"
    except (OSError, HTTPException) as error:
        return f"port {port}: {error}"


def examine(words: Iterable[str], pids: Iterable[int]) -> str | None:
    """Return what is wrong with a command, None if nothing is.

    Args:
        words: Words of the command line.
        pids: Ids of the processes that may listen for it.
    """
    if not SERVICES & set(words):
        return None
    ports = listening(pids)
    if not ports:
        return "it listens on no port"
    return next(filter(None, map(problem, sorted(ports))), None)


def main() -> str | None:
    """Look at this container; return what is wrong, None if nothing is."""
    words = (_PROC / "1" / "cmdline").read_text(errors="replace").split("\0")
    own = os.getpid()
    pids = [int(each.name) for each in _PROC.iterdir() if each.name.isdigit() and int(each.name) != own]
    found = examine(words, pids)
    return None if found is None else f"Not alive: {found}."


def _sockets(pid: int) -> Iterator[str]:
    """Yield the inodes of the sockets of a process."""
    try:
        for each in (_PROC / str(pid) / "fd").iterdir():
            name, _, inode = str(each.readlink()).partition(":")
            if name == "socket":
                yield inode.strip("[]")
    except OSError:
        return  # of another user, or it has ended


def _listeners() -> Iterator[tuple[int, str]]:
    """Yield port and inode of each socket that listens in this network."""
    for name in ("tcp", "tcp6"):
        try:
            lines = (_PROC / "net" / name).read_text().splitlines()[1:]
        except OSError:
            continue  # without IPv6
        for line in lines:
            _, local, _, state, *rest = line.split()
            if state == _LISTENS:
                yield int(local.rpartition(":")[2], 16), rest[5]


if __name__ == "__main__":
    sys.exit(main())

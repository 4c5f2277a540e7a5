"""Where records go."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Protocol

#: Called once for each record that was handed over: whether it is there.
Settled = Callable[[bool], None]


class Transport(Protocol):
    """Takes records, one after another, from one thread."""

    def send(self, key: bytes, value: bytes, settled: Settled) -> bool:
        """Take a record; return False if it cannot be taken now.

        Raises:
            OSError, ValueError: it never can.
        """

    def work(self, within: float) -> None:
        """Do what is under way, for so many seconds at most."""

    def close(self, within: float) -> None:
        """Finish what is under way, for so many seconds at most; settle everything."""


class FileTransport:
    """Appends lines to a file.

    Args:
        path: Its name. It is made, readable by its user alone, if there is none.
    """

    def __init__(self, path: str) -> None:
        self._path = path
        self._rest = b""
        #: Told of the line that stands in the file in part, once it is known what became of it.
        self._settled: Settled | None = None
        self._descriptor: int | None = None

    def send(self, key: bytes, value: bytes, settled: Settled) -> bool:
        """Append a line; False while the file cannot be written."""
        del key
        self.work(0)
        if self._rest:
            return False
        line = value + b"\n"
        self._rest = line
        # What stands in the file in part is finished before the next line.
        if not self._written(line) and self._rest == line:
            self._rest = b""
            return False
        self._settled = settled
        self._settle()
        return True

    def work(self, within: float) -> None:
        """Finish a line that was written in part."""
        del within
        self._written(self._rest)
        self._settle()

    def close(self, within: float) -> None:
        """Close the file; a line that stands there in part counts as lost."""
        self.work(within)
        if self._settled is not None:
            self._settled(False)
            self._settled = None
        if self._descriptor is not None:
            os.close(self._descriptor)
            self._descriptor = None

    def _settle(self) -> None:
        if self._settled is not None and not self._rest:
            self._settled(True)
            self._settled = None

    def _written(self, line: bytes) -> bool:
        if not line:
            return True
        try:
            if self._descriptor is None:
                flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC
                self._descriptor = os.open(self._path, flags, 0o600)
            while line:
                line = self._rest = line[os.write(self._descriptor, line) :]
        except OSError:
            return False
        return True

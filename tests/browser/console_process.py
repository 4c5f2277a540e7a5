"""A console as people run it: `eddy console` in a process of its own, which dies with the tests."""

from __future__ import annotations

import os
import re
import sys
import time
from collections.abc import Mapping
from pathlib import Path

from streams.kafka.embedded.child import Child

_LINK = re.compile(r"Open (http://\S+) in a browser")
_PATIENCE_SECONDS = 120.0


class ConsoleProcess:
    """A running console.

    Args:
        arguments: What follows `eddy console`.
        directory: For its log and what it writes.
        port: Where it listens; 0 for a free one.
        settings: Variables of its environment.
    """

    def __init__(
        self,
        arguments: list[str],
        directory: Path,
        port: int = 0,
        settings: Mapping[str, str] | None = None,
    ) -> None:
        directory.mkdir(parents=True)
        self._log = directory / "log"
        self._log.touch()
        (scratch := directory / "scratch").mkdir()
        command = [sys.executable, "-m", "streams", "console", *arguments, "--port", str(port)]
        into_log = ["/bin/sh", "-c", 'log=$1; shift; exec "$@" >"$log" 2>&1', "console", str(self._log)]
        own = {name: value for name, value in os.environ.items() if not name.startswith("EDDY_CONSOLE")}
        environment = {**own, **(settings or {})}
        root = str(Path(__file__).parents[2])
        self._child = Child(
            [*into_log, *command], scratch=scratch, environment={**environment, "PYTHONPATH": root}
        )

    def link(self) -> str:
        """Return the address that logs in, as soon as the console has said it."""
        end = time.monotonic() + _PATIENCE_SECONDS
        while (said := _LINK.search(self.log)) is None:
            assert not self._child.ended(within=0.05), f"the console has ended: {self.log}"
            assert time.monotonic() < end, f"the console does not begin to listen: {self.log}"
        return said[1]

    @property
    def log(self) -> str:
        """All it has said."""
        return self._log.read_text(errors="replace")

    def kill(self) -> None:
        """End it, with what it has started; what does not end in time is killed."""
        self._child.signal("TERM")
        self._child.ended(within=_PATIENCE_SECONDS)
        self._child.kill()

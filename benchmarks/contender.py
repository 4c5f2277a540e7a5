"""Starting the contenders: each is a process that reads `decision-logs` as a group until it is ended."""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from enum import StrEnum
from pathlib import Path

import psutil

from benchmarks.contenders.config import ContenderConfig

ROOT = Path(__file__).parents[1]


class Contender(StrEnum):
    """Who is measured; the value names the program under `benchmarks.contenders`."""

    EDDY = "eddy"
    PLAIN = "plain_aiokafka"
    QUIX = "quix_streams"
    FAUST = "naive_faust"

    @property
    def title(self) -> str:
        """As the tables call it."""
        return _TITLES[self]


_TITLES = {
    Contender.EDDY: "Eddy",
    Contender.PLAIN: "plain aiokafka (no judgement, no local store)",
    Contender.QUIX: "Quix Streams",
    Contender.FAUST: "naive Faust",
}


class ContenderDiedError(RuntimeError):
    """A contender ended before it was told to; the message is the end of its log."""


class Running:
    """A contender's process."""

    def __init__(self, process: subprocess.Popen[bytes], log: Path) -> None:
        self._process = process
        self._log = log
        self._watched = psutil.Process(process.pid)

    @property
    def log(self) -> str:
        """Everything it said."""
        return self._log.read_text(errors="replace")

    def cpu_seconds(self) -> float:
        """CPU time of all its threads so far.

        Raises:
            ContenderDiedError: it is gone.
        """
        if self._process.poll() is not None:
            raise ContenderDiedError(f"exit status {self._process.returncode}\n{self.log[-4000:]}")
        times = self._watched.cpu_times()
        return times.user + times.system

    def rss_mb(self) -> float:
        """Resident memory, MB."""
        return self._watched.memory_info().rss / 1e6

    def kill(self) -> None:
        """End it as a machine that is gone ends it (SIGKILL)."""
        self._process.kill()


@contextlib.contextmanager
def running(
    contender: Contender, config: ContenderConfig, extra: Mapping[str, str] | None = None
) -> Iterator[Running]:
    """Run a contender; it is killed at the end."""
    environment = {**config.environment(), **worker_settings(config), **(extra or {})}
    with program(_command(contender, config), environment) as process:
        yield process


@contextlib.contextmanager
def program(command: Sequence[str], environment: Mapping[str, str]) -> Iterator[Running]:
    """Run a program with this environment beside the inherited one; it is killed at the end."""
    with tempfile.NamedTemporaryFile(prefix="eddy-bench-", suffix=".log") as log:
        process = subprocess.Popen(
            command,
            env={**os.environ, **environment},
            cwd=ROOT,
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=subprocess.STDOUT,
        )
        try:
            yield Running(process, Path(log.name))
        finally:
            process.kill()
            process.wait()


def _command(contender: Contender, config: ContenderConfig) -> list[str]:
    if contender is not Contender.EDDY:
        return [sys.executable, "-m", f"benchmarks.contenders.{contender}"]
    if config.precomputed is None:
        return [sys.executable, "-c", "from streams.cli import main; main()", "worker"]
    return [sys.executable, "-m", f"benchmarks.contenders.{contender}", "worker"]


def worker_settings(config: ContenderConfig) -> dict[str, str]:
    """Return the settings of a worker of Eddy."""
    return {
        "EDDY_BOOTSTRAP_SERVERS": config.bootstrap,
        "EDDY_APPLICATION_ID": config.group,
        "EDDY_DATA_DIR": config.directory,
        "EDDY_WEB_PORT": "0",
        # As often as Quix Streams commits: with the default nothing would be written in so short a run.
        "EDDY_CHECKPOINT_S": "5",
        "EDDY_PRODUCER_IDEMPOTENCE": str(config.idempotent).lower(),
        "EDDY_SESSION_TIMEOUT_S": str(config.session_timeout_s),
        "EDDY_HEARTBEAT_INTERVAL_S": str(config.session_timeout_s / 5),
    }

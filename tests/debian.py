"""Packages of Debian for the tests, installed if this process may."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NoReturn

#: Asked before a service is started; what it answers is in Debian's manual page invoke-rc.d(8).
POLICY = Path("/usr/sbin/policy-rc.d")
_START_NOTHING = "#!/bin/sh\n# Only while packages for the tests of Eddy are installed.\nexit 101\n"


def install(*packages: str) -> None:
    """Install packages as root, where there is apt-get. Whoever calls looks whether they are there."""
    if os.geteuid() != 0 or shutil.which("apt-get") is None:
        return
    environment = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
    with no_service_starts():
        for command in (
            ["apt-get", "update", "--quiet"],
            ["apt-get", "install", "--quiet", "--yes", "--no-install-recommends", *packages],
        ):
            subprocess.run(command, check=False, env=environment)


@contextmanager
def no_service_starts(policy: Path = POLICY) -> Iterator[None]:
    """Let no package start its service: a test starts its own, and a machine has use for no other.

    A policy that the machine has stays.
    """
    if policy.exists() or not policy.parent.is_dir():
        yield
        return
    before = signal.signal(signal.SIGTERM, _end)  # or the file would stay if time runs out
    try:
        policy.write_text(_START_NOTHING)
        policy.chmod(0o755)
        yield
    finally:
        policy.unlink(missing_ok=True)
        signal.signal(signal.SIGTERM, before)


def _end(number: int, _: object) -> NoReturn:
    sys.exit(128 + number)

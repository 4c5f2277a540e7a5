"""Prometheus for the tests of its rules and dashboards: `python -m tests.deploy.promtool` installs it."""

from __future__ import annotations

import os
import shutil
import sys

from tests.debian import install

PROGRAMS = ("prometheus", "promtool")
INSTALL = "apt-get install --no-install-recommends prometheus"


def missing() -> list[str]:
    """Return the programs that are not on the PATH."""
    return [name for name in PROGRAMS if shutil.which(name) is None]


def main() -> int:
    """Install it if this process may, and return 75 (try later) if it is missing all the same."""
    if missing():
        install("prometheus")
    if names := missing():
        sys.stderr.write(
            f"There is no {' and no '.join(names)}, and they could not be installed. As root: {INSTALL}\n"
        )
        return os.EX_TEMPFAIL
    return 0


if __name__ == "__main__":
    sys.exit(main())

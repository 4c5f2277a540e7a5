"""Alertmanager and Prometheus of Debian, and how they come to a machine: `python -m tests.notify.servers`."""

from __future__ import annotations

import os
import shutil
import sys

from tests.debian import install

#: The programs that the tests run, by the package that has them.
PROGRAMS = {
    "prometheus-alertmanager": ("prometheus-alertmanager", "amtool"),
    "prometheus": ("prometheus", "promtool"),
}
INSTALL = f"apt-get install {' '.join(PROGRAMS)}"


def missing() -> list[str]:
    """Return the programs that are not there."""
    return [each for programs in PROGRAMS.values() for each in programs if shutil.which(each) is None]


def main() -> int:
    """Install them if this process may, and return 75 (try later) if one is missing all the same."""
    if missing():
        install(*PROGRAMS)
    if missing():
        sys.stderr.write(f"{', '.join(missing())} could not be installed. As root: {INSTALL}\n")
        return os.EX_TEMPFAIL
    return 0


if __name__ == "__main__":
    sys.exit(main())

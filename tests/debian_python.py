"""`make test-debian`: the tests of single modules on the Python that Debian brings, where HOME is full.

python -m tests.debian_python [ARGUMENT OF PYTEST ...]

It is older than those that version switchers install. Its environment is `.cache/python-debian`, with the
packages of `.venv`, and HOME has the logs of `make test-home`. Without an argument, the environment is made,
and nothing is tested.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Final

from tests.debian import install
from tests.full_home import run_pytest
from tests.pythons import environment_of

PYTHON: Final = Path("/usr/bin/python3")
NAME: Final = "python-debian"
PACKAGES: Final = ("python3", "python3-venv")
_QUESTION: Final = "import ensurepip, venv, sys; sys.exit(sys.version_info < (3, 11))"


def usable(python: Path = PYTHON) -> bool:
    """Tell whether an interpreter is there, new enough, and can make an environment."""
    return python.exists() and subprocess.run([python, "-c", _QUESTION], check=False).returncode == 0


def main() -> int:
    """Run pytest with the arguments, and return its exit status; 75 (try later) if Python is missing."""
    if not usable():
        install(*PACKAGES)
    if not usable():
        sys.stderr.write(
            f"There is no {PYTHON} of 3.11 or newer that makes environments. As root: apt-get install "
            f"{' '.join(PACKAGES)}\n"
        )
        return os.EX_TEMPFAIL
    inside = environment_of(NAME, PYTHON)
    arguments = sys.argv[1:]
    if not arguments:
        return 0
    # The list of failures that `make test` keeps stays as it is.
    return run_pytest(inside, ["-o", f"cache_dir={inside.parents[1] / 'pytest'}", *arguments])


if __name__ == "__main__":
    sys.exit(main())

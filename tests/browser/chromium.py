"""Where the browser is, and how it comes to a machine that has none: `python -m tests.browser.chromium`."""

from __future__ import annotations

import os
import shutil
import sys

from tests.debian import install

NAMES = ("chromium", "chromium-browser", "google-chrome")
INSTALL = "apt-get install chromium"


def found() -> str | None:
    """Return the path of the browser."""
    return next(filter(None, map(shutil.which, NAMES)), None)


def main() -> int:
    """Install it if this process may, and return 75 (try later) if it is missing all the same."""
    if found() is None:
        install("chromium", "fonts-dejavu-core")
    if found() is None:
        sys.stderr.write(f"There is no Chromium, and it could not be installed. As root: {INSTALL}\n")
        return os.EX_TEMPFAIL
    return 0


if __name__ == "__main__":
    sys.exit(main())

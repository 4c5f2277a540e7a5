"""Standard input as a file, so that it is read like any other input."""

from __future__ import annotations

import shutil
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

FILE_NAME: Final = "standard input"
"""Also names sessions that have no id of their own."""


@contextmanager
def spooled() -> Iterator[str]:
    """Read standard input to its end; yield the path of a copy, which only this user can read.

    It is removed at the end. A document cannot be read before it is whole, nor a packed log.
    """
    with tempfile.TemporaryDirectory(prefix="eddy-") as folder:
        path = Path(folder) / FILE_NAME
        with path.open("wb") as file:
            shutil.copyfileobj(sys.stdin.buffer, file)
        yield str(path)

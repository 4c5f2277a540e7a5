"""The wall clock of a process under test, which can be set while it runs."""

from __future__ import annotations

import os
import struct
from collections.abc import Mapping
from pathlib import Path

_SHIFT = struct.Struct("d")
_HOOK = Path(__file__).parent / "shifted_clock"


class WallClock:
    """A clock that is right until it is set.

    Args:
        file: Where the process looks; made here.
    """

    def __init__(self, file: Path) -> None:
        self._file = file
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(_SHIFT.pack(0.0))

    def set_off(self, seconds: float) -> None:
        """Let the clock be so far ahead of the right time from now on, or behind it."""
        with self._file.open("r+b") as opened:
            opened.write(_SHIFT.pack(seconds))

    def environment(self) -> Mapping[str, str]:
        """Return what a process needs in its environment to go by this clock."""
        paths = [str(_HOOK), *filter(None, [os.environ.get("PYTHONPATH")])]
        return {"PYTHONPATH": os.pathsep.join(paths), "SHIFTED_CLOCK": str(self._file)}

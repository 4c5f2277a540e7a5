"""Python runs this at the start of a process that has this directory on its PYTHONPATH (`WallClock`).

It shifts the wall clock of the process by what a file says at the moment, so that it can be set while the
process runs. Clocks that nobody sets are left alone, and so are those of C code.
"""

import mmap
import os
import struct
import time

_SHIFT = struct.Struct("d")

if path := os.environ.get("SHIFTED_CLOCK"):
    with open(path, "rb") as _file:  # noqa: PTH123 - as little as can be is imported here
        _memory = mmap.mmap(_file.fileno(), _SHIFT.size, prot=mmap.PROT_READ)
    _time, _time_ns = time.time, time.time_ns

    def _shift() -> float:
        seconds: float = _SHIFT.unpack_from(_memory)[0]
        return seconds

    time.time = lambda: _time() + _shift()
    time.time_ns = lambda: _time_ns() + int(_shift() * 1_000_000_000)

"""A process goes by its own clock, also when that is set while it runs."""

import os
import subprocess
import sys
import time
from pathlib import Path

from tests.wall_clock import WallClock

_DAY_S = 86_400
_TELL = """
import sys, time
for _ in sys.stdin:
    print(time.time(), time.time_ns(), time.monotonic(), flush=True)
"""


def test_a_clock_can_be_set_while_a_process_runs(tmp_path: Path) -> None:
    clock = WallClock(tmp_path / "clock")
    with subprocess.Popen(
        [sys.executable, "-c", _TELL],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, **clock.environment()},
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        for shift in (0, _DAY_S, -_DAY_S):
            clock.set_off(shift)
            before, monotonic = time.time(), time.monotonic()
            process.stdin.write("\n")
            process.stdin.flush()
            seconds, nanoseconds, steady = map(float, process.stdout.readline().split())
            assert before <= seconds - shift <= time.time()
            assert before - 1 <= nanoseconds / 1e9 - shift <= time.time() + 1
            assert monotonic <= steady <= time.monotonic()

"""`eddy ingest --otlp` as a process of its own."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def open_door(folder: Path) -> Iterator[str]:
    """Take spans for as long as the block lasts; yield the endpoint for exporters.

    The records are in the file ``out`` of the folder afterwards.
    """
    command = ["ingest", "--otlp", "127.0.0.1:0", "--out", folder / "out", "--state", folder / "state"]
    with subprocess.Popen(
        [sys.executable, "-m", "streams", *command],
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "HOME": str(folder)},
    ) as process:
        try:
            assert process.stderr is not None
            line = process.stderr.readline()
            found = re.search(r"(http://\S+)/v1/traces", line)
            assert found, line
            yield found[1]
            process.send_signal(signal.SIGTERM)
            said = process.stderr.read()
            assert process.wait() == 0, said
            assert " 0 problems" in said
        finally:
            process.kill()

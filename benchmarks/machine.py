"""What the numbers were measured on, and how quick it was at the time."""

from __future__ import annotations

import os
import platform
import time
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

_LOOPS = 1_000_000
_PACKAGES = ("faust-streaming", "aiokafka", "quixstreams", "rocksdict", "fastavro", "orjson")


def describe() -> dict[str, Any]:
    """Return processor, memory and versions."""
    information = Path("/proc/cpuinfo")
    models = [
        line.partition(":")[2].strip()
        for line in (information.read_text().splitlines() if information.exists() else [])
        if line.startswith("model name")
    ]
    return {
        "processor": models[0] if models else platform.processor() or platform.machine(),
        "cores": os.cpu_count(),
        "system": f"{platform.system()} {platform.release()}",
        "python": platform.python_version(),
        "packages": {package: found for package in _PACKAGES if (found := _version(package))},
    }


def _version(package: str) -> str | None:
    # A contender that is left out of a run need not be installed for it.
    try:
        return version(package)
    except PackageNotFoundError:
        return None


def pace() -> dict[str, float]:
    """Return the load average and what an empty turn of a Python loop costs now, ns of CPU.

    The second tells how much of a core the machine really gave: neighbours on the same hardware make the
    same work cost more CPU time.
    """
    started = time.thread_time()
    for _ in range(_LOOPS):
        pass
    return {
        "load_average": round(os.getloadavg()[0], 2),
        "loop_ns": round((time.thread_time() - started) / _LOOPS * 1e9, 1),
    }

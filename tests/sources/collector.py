"""The OpenTelemetry Collector with an exporter to Kafka: built from Go modules, kept by the hash of its list.

`make collector` builds it at the lowest priority: four minutes on two idle cores, half an hour on busy ones.
Nothing else builds it, so a test that needs it is skipped where it is missing.
"""

import hashlib
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from streams.core.errors import ConfigurationError

BUILDER: Final = "go.opentelemetry.io/collector/cmd/builder@v0.155.0"
PARTS: Final = Path(__file__).with_name("builder.yaml")
CACHE: Final = Path(__file__).parents[2] / ".cache" / "collector"
_NAME: Final = "otelcol"


def collector(cache: Path = CACHE) -> Path | None:
    """Return the collector, or nothing if it has not been built."""
    path = _folder(cache) / _NAME
    return path if path.is_file() else None


def build(cache: Path = CACHE, environment: Mapping[str, str] = os.environ) -> Path:
    """Return the collector, building it if it is not there yet.

    Raises:
        ConfigurationError: Go is missing.
        CalledProcessError: Go or the builder failed, and has said why.
    """
    if (built := collector(cache)) is not None:
        return built
    go = shutil.which("go", path=environment.get("PATH", ""))
    if go is None:
        raise ConfigurationError("`go` is not on the PATH: the collector needs Go 1.25 or newer.")
    cache.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=cache) as fresh:
        subprocess.run(
            ["nice", "-n", "19", go, "run", BUILDER, "--config", PARTS],
            cwd=fresh,
            # One package at a time, for the sake of other work. The builder runs Go too, and inherits this.
            env={**environment, "GOFLAGS": f"{environment.get('GOFLAGS', '')} -p=1".strip()},
            check=True,
        )
        folder = _folder(cache)
        folder.mkdir(exist_ok=True)
        # In one step: another build may have ended at the same time, and one is as good as the other.
        (Path(fresh) / "build" / _NAME).replace(folder / _NAME)
    return folder / _NAME


def _folder(cache: Path) -> Path:
    return cache / hashlib.sha256(PARTS.read_bytes()).hexdigest()[:16]


def main() -> None:
    """Build the collector and print where it is."""
    sys.stdout.write(f"{build()}\n")


if __name__ == "__main__":
    main()

"""`make test-home`: the tests of single modules where HOME is full of agents' logs.

python -m tests.full_home [ARGUMENT OF PYTEST ...]

Whoever runs such agents has such a home. The logs are those of `tests/samples`, in a temporary folder.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Final

from streams.formats.registry import FORMATS
from tests.pages import ROOT

SAMPLES: Final = ROOT / "tests" / "samples"


def fill(home: Path) -> list[Path]:
    """Put the samples of each agent where it keeps its logs, and return the files."""
    files = []
    for each in FORMATS:
        samples = SAMPLES / each.name.replace("-", "_")
        for sample in sorted(samples.glob("*.json*")):
            if ".expected." in sample.name:
                continue
            # A pattern such as ".codex/sessions/**/rollout-*.jsonl": samples are named like what they are of.
            for pattern in each.folders:
                folder = home / Path(pattern).parent.as_posix().replace("*", "x")
                folder.mkdir(parents=True, exist_ok=True)
                expected = Path(pattern).name
                name = sample.name if fnmatchcase(sample.name, expected) else expected.replace("*", "x")
                files.append(Path(shutil.copy(sample, folder / name)))
    return files


def run_pytest(python: Path, arguments: Sequence[str]) -> int:
    """Run the pytest of an interpreter where HOME is full; return its exit status."""
    with tempfile.TemporaryDirectory(prefix="eddy-full-home-") as home:
        files = fill(Path(home))
        sys.stdout.write(f"HOME has {len(files)} logs of agents: {home}\n")
        sys.stdout.flush()
        command = [python, "-m", "pytest", *arguments]
        return subprocess.run(command, env={**os.environ, "HOME": home}, check=False).returncode


if __name__ == "__main__":
    sys.exit(run_pytest(Path(sys.executable), sys.argv[1:]))

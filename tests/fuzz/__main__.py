"""`make fuzz`: coverage-guided attacks, one after the other, with a temporary corpus each.

python -m tests.fuzz [--seconds 60] [--keep FOLDER] [TARGET ...]
"""

from __future__ import annotations

import argparse
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import NamedTuple

import click

from tests.fuzz.catalogue import TARGETS

_SLOWEST_SECONDS = 10
_MOST_MEGABYTES = 1024
_LONGEST_INPUT = 8192
_PROGRESS = re.compile(r"cov: (\d+) ft: (\d+) corp: (\d+)")
_EXECUTED = re.compile(r"stat::number_of_executed_units: *(\d+)|Done (\d+) (?:runs|in)")


class Report(NamedTuple):
    """What came of an attack: runs, edges and features covered, inputs kept; what was found, if anything."""

    runs: int
    edges: int
    features: int
    inputs: int
    finding: str | None


def attack(name: str, seconds: int, folder: Path) -> Report:
    """Run an attack for so long, or until it has found something."""
    corpus = folder / name
    corpus.mkdir()
    options = [
        f"-max_total_time={seconds}",
        f"-timeout={_SLOWEST_SECONDS}",
        f"-rss_limit_mb={_MOST_MEGABYTES}",
        f"-max_len={_LONGEST_INPUT}",
        f"-artifact_prefix={folder}/{name}-",
        "-print_final_stats=1",
    ]
    command = [sys.executable, "-m", "tests.fuzz.attack", name, str(corpus), *options]
    run = subprocess.run(command, capture_output=True, text=True, errors="replace", check=False)
    said = run.stdout + run.stderr
    progress = [tuple(map(int, found.groups())) for found in _PROGRESS.finditer(said)]
    edges, features, inputs = progress[-1] if progress else (0, 0, 0)
    runs = max((int(found[1] or found[2]) for found in _EXECUTED.finditer(said)), default=0)
    finding = None if run.returncode == 0 else _finding(said)
    return Report(runs, edges, features, inputs, finding)


def _finding(said: str) -> str:
    """Return the part of what the fuzzer said that tells the error and where its input is."""
    lines = said.splitlines()
    begins = next((n for n, line in enumerate(lines) if "Uncaught Python exception" in line), len(lines) - 30)
    told = [line for line in lines[max(begins, 0) :] if not line.startswith(("stat::", "INFO:", "#"))]
    return "\n".join(told[:30])


def main() -> None:
    """Attack, print a table, and fail when there was a finding."""
    parser = argparse.ArgumentParser(prog="make fuzz", description=__doc__.splitlines()[0])
    parser.add_argument(
        "targets", nargs="*", metavar="TARGET", help=f"any of {', '.join(TARGETS)}; all of them"
    )
    parser.add_argument("--seconds", type=int, default=60, help="for each target (60)")
    parser.add_argument(
        "--keep", type=Path, help="a new folder for corpora and findings; else a temporary one"
    )
    asked = parser.parse_args()
    if unknown := [name for name in asked.targets if name not in TARGETS]:
        parser.error(f"no target {', '.join(unknown)}; there are {', '.join(TARGETS)}")
    folder = asked.keep or Path(tempfile.mkdtemp(prefix="eddy-fuzz-"))
    folder.mkdir(parents=True, exist_ok=True)
    click.echo("| target | runs | edges | features | inputs kept | finding |\n|---|---|---|---|---|---|")
    findings = []
    for name in asked.targets or TARGETS:
        report = attack(name, asked.seconds, folder)
        found = "none" if report.finding is None else "yes"
        click.echo(f"| {' | '.join(map(str, (name, *report[:-1], found)))} |")
        if report.finding is not None:
            findings.append(f"{name}:\n{report.finding}")
    if findings:
        click.echo("\n\n".join([*findings, f"The inputs are in {folder}."]), err=True)
    elif asked.keep is None:
        shutil.rmtree(folder)
    sys.exit(bool(findings))


if __name__ == "__main__":
    main()

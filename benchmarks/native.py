"""`python -m benchmarks.native`: judging with and without the native core, in turns, a process each.

Both meet the same machine, and what disturbs it, on average: read the ratios. The least of all turns counts.
The native core does all work on texts at once, so its first row of texts has what Python does in three.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from typing import Any

import click

from benchmarks import judging
from benchmarks.markdown import table
from streams.core.native import VARIABLE

_WITHOUT, _WITH = "off", "on"


@click.command()
@click.option("--turns", type=click.IntRange(1), default=6, show_default=True, help="Processes of each kind.")
@click.option("--once", is_flag=True, hidden=True)
def main(*, turns: int, once: bool) -> None:
    """Judge the same records with and without the native core, and print what each part costs in µs."""
    if once:
        click.echo(json.dumps(judging.measure(quick=True, trajectories=None)))
        return
    runs: dict[str, list[Any]] = {_WITHOUT: [], _WITH: []}
    for _ in range(turns):
        for mode, found in runs.items():
            found.append(_measured(mode))
    for number, case in enumerate(runs[_WITH][0]):
        without, native = [[run[number] for run in runs[mode]] for mode in (_WITHOUT, _WITH)]
        rows = [_row(part, without, native, "parts_us", part) for part in case["parts_us"]]
        rows += [_row(name, without, native, key) for name, key in _WHOLE.items()]
        click.echo(f"\n{case['case']}, µs for each record:\n")
        click.echo(table(["part", "Python", "native core", "ratio"], rows))


_WHOLE = {"everything, record by record": "singly_us", "everything, a run at a time": "whole_us"}


def _measured(mode: str) -> Any:
    command = [sys.executable, "-m", "benchmarks.native", "--once"]
    done = subprocess.run(
        command, env={**os.environ, VARIABLE: mode}, capture_output=True, text=True, check=True
    )
    return json.loads(done.stdout)


def _row(name: str, without: list[Any], native: list[Any], *keys: str) -> list[str]:
    least = []
    for runs in (without, native):
        values = runs
        for key in keys:
            values = [value[key] for value in values]
        least.append(min(values))
    ratio = f"{least[1] / least[0]:.2f}" if least[0] else ""
    return [name, f"{least[0]:.1f}", f"{least[1]:.1f}", ratio]


if __name__ == "__main__":
    main()

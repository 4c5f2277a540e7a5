"""The benchmark runs, and refuses to time what does not write the same bytes."""

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]

pytestmark = pytest.mark.integration


@pytest.mark.timeout(600)
def test_a_smoke_run_compares_and_measures() -> None:
    options = [
        "--quick",
        "--only",
        "cost",
        "--contender",
        "eddy",
        "--records",
        "3000",
        "--broker",
        "embedded",
    ]
    run = subprocess.run(
        [sys.executable, "-m", "benchmarks", *options, "--no-write"],
        cwd=ROOT,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )
    assert run.returncode == 0, run.stderr
    assert "Eddy: the same bytes as the pipeline in one process" in run.stderr
    for table in ("The engines alone", "The whole job, one worker", "Where Eddy's time goes"):
        assert f"### {table}" in run.stdout
    assert "| 200 B avro, 100 sessions | Eddy |" in run.stdout


@pytest.mark.timeout(600)
def test_a_smoke_run_measures_what_standbys_cost_and_what_they_save() -> None:
    options = ["--broker", "embedded", "--rounds", "1", "--rate", "50", "--seconds", "2"]
    run = subprocess.run(
        [sys.executable, "-m", "benchmarks.standby", *options, "--records", "200", "--sessions", "800"],
        cwd=ROOT,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )
    assert run.returncode == 0, run.stderr
    costs, takeovers = (
        part.splitlines() for part in run.stdout.split("\n\n") if part.startswith("| standbys")
    )
    assert [line.split(" | ")[0] for line in costs[2:]] == ["| 0", "| 1", "| 1 ÷ 0"]
    # The state of 800 sessions, half of which the killed worker had; the standby had it already.
    without, with_standby = (int(line.split(" | ")[5].replace(",", "")) for line in takeovers[2:])
    assert without >= 400 > with_standby

"""What `.ci/run` concludes from its steps, with steps that do nothing."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import psutil
import pytest

ROOT = Path(__file__).parents[1]


def run_ci(directory: Path, *, fetched: int = 0, **recipes: str) -> subprocess.CompletedProcess[str]:
    """Run it where `make` follows the given recipes and fetching the jars ends with the given exit code."""
    shutil.copytree(ROOT / ".ci", directory / ".ci")
    steps = {"setup": "true", "lint": "true", "test": "true", "test-kafka": "true"}
    steps |= {name.replace("_", "-"): recipe for name, recipe in recipes.items()}
    makefile = "".join(f".PHONY: {name}\n{name}:\n\t@{recipe}\n" for name, recipe in steps.items())
    (directory / "Makefile").write_text(makefile)
    (directory / ".venv" / "bin").mkdir(parents=True)
    (directory / ".venv" / "bin" / "python").symlink_to(sys.executable)
    fetch = directory / "tests" / "integration" / "kafka_jars.py"
    fetch.parent.mkdir(parents=True)
    fetch.write_text(f"raise SystemExit({fetched})\n")
    return subprocess.run(
        [directory / ".ci" / "run"], cwd="/", capture_output=True, text=True, timeout=60, check=False
    )


def test_it_succeeds_when_every_step_does(tmp_path: Path) -> None:
    result = run_ci(tmp_path, test_kafka="echo kafka was tested")
    assert result.returncode == 0, result.stderr
    assert "kafka was tested" in result.stdout


@pytest.mark.parametrize("step", ["setup", "lint", "test", "test_kafka"])
def test_it_fails_with_any_step(tmp_path: Path, step: str) -> None:
    assert run_ci(tmp_path, **{step: "false"}).returncode != 0


def test_it_goes_on_without_maven_central_and_says_so(tmp_path: Path) -> None:
    result = run_ci(tmp_path, fetched=os.EX_TEMPFAIL, test_kafka="false")
    assert result.returncode == 0
    assert "NOTHING WAS TESTED ON APACHE KAFKA" in result.stderr


def test_any_other_failure_to_fetch_is_a_failure(tmp_path: Path) -> None:
    assert run_ci(tmp_path, fetched=1).returncode == 1


def test_a_process_left_behind_is_a_failure_and_is_ended(tmp_path: Path) -> None:
    result = run_ci(tmp_path, test="(setsid sleep 58 </dev/null >/dev/null 2>&1 & echo $$! >left)")
    left = int((tmp_path / "left").read_text())
    assert result.returncode == 1
    assert f"left running: {left}" in " ".join(result.stderr.split())
    assert not runs(left)


def runs(process: int) -> bool:
    try:
        return psutil.Process(process).status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False

"""Packages are installed without their services, and nothing of that stays."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.debian import no_service_starts


def test_no_service_starts_while_packages_are_installed(tmp_path: Path) -> None:
    policy = tmp_path / "policy-rc.d"
    with no_service_starts(policy):
        assert subprocess.run([policy, "prometheus", "start"], check=False).returncode == 101
    assert not policy.exists()


def test_a_policy_that_the_machine_has_stays(tmp_path: Path) -> None:
    (policy := tmp_path / "policy-rc.d").write_text("its own")
    with no_service_starts(policy):
        assert policy.read_text() == "its own"
    assert policy.read_text() == "its own"


def test_nothing_stays_if_time_runs_out(tmp_path: Path) -> None:
    policy = tmp_path / "policy-rc.d"
    waits = (
        "import pathlib, signal, sys; from tests.debian import no_service_starts\n"
        "with no_service_starts(pathlib.Path(sys.argv[1])):\n"
        "    print('in', flush=True)\n"
        "    signal.pause()\n"
    )
    command = [sys.executable, "-c", waits, str(policy)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, cwd=Path(__file__).parents[1]) as child:
        assert child.stdout is not None
        assert child.stdout.readline() == b"in\n"
        assert policy.exists()
        os.kill(child.pid, signal.SIGTERM)
        assert child.wait() == 128 + signal.SIGTERM
    assert not policy.exists()


def test_signals_are_handled_as_before(tmp_path: Path) -> None:
    before = signal.getsignal(signal.SIGTERM)
    with pytest.raises(KeyError), no_service_starts(tmp_path / "policy-rc.d"):
        raise KeyError
    assert signal.getsignal(signal.SIGTERM) is before

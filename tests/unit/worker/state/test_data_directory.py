"""A data directory belongs to one worker, for as long as that lives."""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path

import pytest

from streams.core.errors import ConfigurationError
from streams.worker.state.data_directory import DataDirectory

HOLDER = """
import sys, time
from pathlib import Path
from streams.worker.state.data_directory import DataDirectory
with DataDirectory(Path(sys.argv[1])):
    print("has it", flush=True)
    time.sleep(600)
"""


def test_a_directory_is_made_and_can_be_had_again_after_it_was_given_up(tmp_path: Path) -> None:
    path = tmp_path / "a" / "b"
    for _ in range(2):
        with DataDirectory(path):
            assert path.is_dir()


def test_a_second_worker_is_refused_and_told_what_to_do(tmp_path: Path) -> None:
    with DataDirectory(tmp_path):
        with pytest.raises(ConfigurationError, match=r"is used by another worker.*EDDY_DATA_DIR"):
            DataDirectory(tmp_path).__enter__()
        # The refusal gives up nothing that is not its own.
        with pytest.raises(ConfigurationError):
            DataDirectory(tmp_path).__enter__()
    with DataDirectory(tmp_path):
        pass


def test_two_workers_with_a_directory_each_do_not_meet(tmp_path: Path) -> None:
    with DataDirectory(tmp_path / "a"), DataDirectory(tmp_path / "b"):
        pass


def test_a_worker_that_was_killed_holds_nothing(tmp_path: Path) -> None:
    holder = subprocess.Popen(
        [sys.executable, "-c", HOLDER, str(tmp_path)], stdout=subprocess.PIPE, text=True
    )
    assert holder.stdout is not None
    try:
        assert holder.stdout.readline() == "has it\n"
        with pytest.raises(ConfigurationError, match="is used by another worker"):
            DataDirectory(tmp_path).__enter__()
    finally:
        holder.send_signal(signal.SIGKILL)
        holder.wait()
        holder.stdout.close()
    with DataDirectory(tmp_path):
        pass


def test_a_place_that_cannot_be_a_directory_is_told(tmp_path: Path) -> None:
    (file := tmp_path / "file").touch()
    with pytest.raises(ConfigurationError, match=r"file/eddy cannot be written to .*EDDY_DATA_DIR"):
        DataDirectory(file / "eddy").__enter__()

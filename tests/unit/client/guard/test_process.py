"""A program under a guard: all that it started stands still, goes on and ends with it."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from eddy_client.integrations.process import Descendant, stopped

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="only Linux has pidfds")

WRITES = "while true; do echo x >> {0}; sleep 0.02; done"
#: A child that has left the group and whose parent has gone, and one that stays.
FAMILY = f"(setsid bash -c '{WRITES}' &); {WRITES.replace('{0}', '{1}')}"
STUBBORN = f"trap '' TERM; (trap '' TERM; setsid bash -c '{WRITES}' &); {WRITES.replace('{0}', '{1}')}"
_PATIENCE_S = 60.0


class Driven:
    """A driver, and what its program writes."""

    def __init__(self, process: subprocess.Popen[str], files: tuple[Path, ...]) -> None:
        self.process, self._files = process, files

    def level(self, level: str) -> str:
        assert self.process.stdin is not None
        self.process.stdin.write(f"{level}\n")
        self.process.stdin.flush()
        return self.says()

    def says(self) -> str:
        assert self.process.stdout is not None
        return self.process.stdout.readline().strip()

    def sizes(self) -> list[int]:
        return [file.stat().st_size if file.exists() else 0 for file in self._files]

    def grows(self) -> None:
        before, deadline = self.sizes(), time.monotonic() + _PATIENCE_S
        while not all(now > then for now, then in zip(self.sizes(), before, strict=True)):
            assert time.monotonic() < deadline, f"nothing more than {before} was written"
            time.sleep(0.01)


@contextmanager
def driven(tmp_path: Path, script: str) -> Iterator[Driven]:
    files = tmp_path / "one", tmp_path / "two"
    driver = Path(__file__).with_name("process_driver.py")
    command = [sys.executable, str(driver), "bash", "-c", script.format(*files)]
    pipe = subprocess.PIPE
    with subprocess.Popen(command, stdin=pipe, stdout=pipe, text=True) as process:
        found = Driven(process, files)
        try:
            assert found.says().startswith("running")
            yield found
        finally:
            if process.poll() is None:
                process.terminate()
                process.wait(_PATIENCE_S)


def test_a_pause_is_in_effect_once_all_stand_still_also_those_that_left(tmp_path: Path) -> None:
    with driven(tmp_path, FAMILY) as program:
        program.grows()
        level, *states = program.level("paused").split()
        assert (level, set(states)) == ("paused", {"T"})
        assert len(states) >= 2
        before = program.sizes()
        time.sleep(0.3)  # in which it would write fifteen times
        assert program.sizes() == before
        assert program.level("running").startswith("running")
        program.grows()


@pytest.mark.parametrize("script", [FAMILY, STUBBORN], ids=["ends", "by force"])
@pytest.mark.parametrize("paused", [False, True])
def test_an_abort_is_in_effect_once_none_is_left(tmp_path: Path, script: str, paused: bool) -> None:
    with driven(tmp_path, script) as program:
        program.grows()
        if paused:
            program.level("paused")
        assert program.level("aborted") == "aborted"
        word, status, left = program.says().split()
        assert (word, left) == ("status", "0")
        assert int(status) in {128 + signal.SIGTERM, 128 + signal.SIGKILL}
        before = program.sizes()
        time.sleep(0.1)
        assert program.sizes() == before


def test_the_status_is_that_of_the_program(tmp_path: Path) -> None:
    with driven(tmp_path, "until test -e {0}; do sleep 0.02; done; exit 7") as program:
        (tmp_path / "one").touch()
        assert program.says() == "status 7 0"


@pytest.mark.parametrize("paused", [False, True])
def test_who_ends_the_wrapper_ends_all_of_it(tmp_path: Path, paused: bool) -> None:
    with driven(tmp_path, FAMILY) as program:
        program.grows()
        if paused:
            program.level("paused")
        program.process.send_signal(signal.SIGTERM)
        assert program.says() == f"status {128 + signal.SIGTERM} 0"


def test_ctrl_c_is_the_programs_own_unless_it_stands_still(tmp_path: Path) -> None:
    with driven(tmp_path, FAMILY) as program:
        program.process.send_signal(signal.SIGINT)
        program.grows()
        program.level("paused")
        program.process.send_signal(signal.SIGINT)
        assert program.says().startswith("status")


def test_what_somebody_else_continues_is_stopped_again(tmp_path: Path) -> None:
    with driven(tmp_path, "echo $$ > {0}.pid; " + WRITES.replace("x >>", "x | tee -a {1} >>")) as program:
        program.grows()
        program.level("paused")
        pid = int((tmp_path / "one.pid").read_text())
        before = program.sizes()[0]
        subprocess.run(["/bin/kill", "-CONT", str(pid)], check=True)
        deadline = time.monotonic() + _PATIENCE_S
        while Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "T":
            assert time.monotonic() < deadline
            time.sleep(0.01)
        assert program.sizes()[0] >= before


def test_what_multiplies_too_fast_to_be_stopped_is_never_called_stopped() -> None:
    gone = iter(range(2**22 - 10_000, 2**22))
    assert not stopped(lambda: [Descendant(next(gone), "0", "R")])

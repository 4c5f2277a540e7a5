"""A process can be told at which stage of which epoch to die, and does so by SIGKILL and not before."""

import os
import signal
import subprocess
import sys

import pytest

from streams.worker.crash_point import AT_LEAST_ONCE, EXACTLY_ONCE, VARIABLE, CrashPoint, crash_point

PROGRAM = """
from streams.worker.crash_point import CrashPoint, crash_point
on_crash_point = crash_point()
for number in range(5):
    for point in CrashPoint:
        print(number, point, flush=True)
        on_crash_point(point)
"""


def live(specification: str | None) -> subprocess.CompletedProcess[str]:
    environment = {name: value for name, value in os.environ.items() if name != VARIABLE}
    if specification is not None:
        environment[VARIABLE] = specification
    return subprocess.run(
        [sys.executable, "-c", PROGRAM], env=environment, capture_output=True, text=True, check=False
    )


@pytest.mark.parametrize(
    ("specification", "last"),
    [("stored", "0 stored"), ("folded:3", "2 folded"), ("committed:5", "4 committed")],
)
def test_it_dies_at_the_point_the_time_it_is_told(specification: str, last: str) -> None:
    died = live(specification)
    assert died.returncode == -signal.SIGKILL
    assert died.stdout.splitlines()[-1] == last


def test_it_is_suspended_there_when_it_is_told_so() -> None:
    environment = {**os.environ, VARIABLE: "stored:2:stop"}
    with subprocess.Popen(
        [sys.executable, "-c", PROGRAM], env=environment, stdout=subprocess.PIPE, text=True
    ) as process:
        _, status = os.waitpid(process.pid, os.WUNTRACED)
        assert os.WIFSTOPPED(status)
        process.send_signal(signal.SIGCONT)
        printed, _ = process.communicate()
    assert printed.splitlines()[-1] == "4 committed"


@pytest.mark.parametrize("specification", [None, "", "committed:6"])
def test_it_lives_otherwise(specification: str | None) -> None:
    assert live(specification).returncode == 0


@pytest.mark.parametrize("specification", ["nowhere", "stored:x", "STORED", ":1", "stored:1:jump"])
def test_a_point_that_does_not_exist_is_an_error(specification: str) -> None:
    with pytest.raises(ValueError):
        crash_point(specification)


def test_a_point_of_somebody_else_is_passed() -> None:
    died = live("aggregates.stored")
    assert died.returncode == 0
    with pytest.raises(ValueError):
        crash_point("aggregates.nowhere", scope="aggregates")


def test_a_point_with_a_scope_is_that_scopes() -> None:
    program = PROGRAM.replace("crash_point()", 'crash_point(scope="aggregates")')
    for specification, status in (("aggregates.folded", -signal.SIGKILL), ("folded", 0)):
        died = subprocess.run(
            [sys.executable, "-c", program],
            env={**os.environ, VARIABLE: specification},
            capture_output=True,
            check=False,
        )
        assert died.returncode == status


def test_every_point_is_reached_under_one_guarantee_or_the_other() -> None:
    assert {*AT_LEAST_ONCE, *EXACTLY_ONCE} == {*CrashPoint}

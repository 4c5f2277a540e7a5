"""State goes by the brokers' time, whatever this machine's clock shows."""

from __future__ import annotations

import logging

import pytest

from streams.kafka.clock import ClusterClock

_DAY_MS = 86_400_000
_NOW_MS = 1_700_000_000_000


class Machine:
    """A machine whose clocks one can set."""

    def __init__(self) -> None:
        self.wall_ms = _NOW_MS
        self.up_s = 100.0
        self.clock = ClusterClock(lambda: self.wall_ms, lambda: self.up_s)

    def passes(self, seconds: float) -> None:
        self.up_s += seconds
        self.wall_ms += int(1000 * seconds)


@pytest.fixture
def machine() -> Machine:
    return Machine()


def test_before_a_broker_tells_its_time_it_is_that_of_the_machine(machine: Machine) -> None:
    clock = machine.clock
    assert (clock.now_ms(), clock.ahead_s, clock.asked) == (_NOW_MS, None, False)
    machine.passes(5)
    assert clock.now_ms() == _NOW_MS + 5_000
    assert clock.at_ms(machine.up_s - 2) == _NOW_MS + 3_000


def test_brokers_that_tell_no_time_leave_it_at_that(machine: Machine) -> None:
    machine.clock.heard(None)
    assert (machine.clock.now_ms(), machine.clock.ahead_s, machine.clock.asked) == (_NOW_MS, None, True)


@pytest.mark.parametrize("ahead_ms", [_DAY_MS, -_DAY_MS])
def test_from_the_first_answer_on_it_is_that_of_the_brokers(machine: Machine, ahead_ms: int) -> None:
    machine.wall_ms += ahead_ms
    asked_at = machine.up_s
    machine.passes(2)
    machine.clock.heard(_NOW_MS)
    assert machine.clock.now_ms() == _NOW_MS
    # What was noted before counts by the brokers' time as well.
    assert machine.clock.at_ms(asked_at) == _NOW_MS - 2_000
    machine.passes(3_600)
    assert machine.clock.now_ms() == _NOW_MS + 3_600_000
    assert machine.clock.ahead_s == ahead_ms / 1000 + 2


def test_a_machine_whose_clock_is_set_while_it_runs_goes_on_by_the_brokers_time(machine: Machine) -> None:
    machine.clock.heard(_NOW_MS)
    machine.wall_ms += _DAY_MS
    assert machine.clock.now_ms() == _NOW_MS


def test_each_answer_counts_anew(machine: Machine) -> None:
    machine.clock.heard(_NOW_MS + 10)
    machine.clock.heard(_NOW_MS)
    machine.clock.heard(None)
    assert machine.clock.now_ms() == _NOW_MS


def test_a_clock_that_is_far_off_is_reported_once(machine: Machine, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING):
        machine.clock.heard(_NOW_MS + 60_000)
        assert caplog.messages == []
        machine.clock.heard(_NOW_MS + 3_600_000)
        machine.clock.heard(_NOW_MS - 3_600_000)
    [said] = caplog.messages
    assert said.startswith("The clock of this machine is 3600 s behind that of the brokers.")

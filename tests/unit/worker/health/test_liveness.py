"""Whether a worker lives and is ready, and that one which stands still is ended."""

import asyncio
import logging
import math
import subprocess
import sys
from dataclasses import dataclass, field
from typing import Any

import pytest

from streams.worker.health.liveness import EXIT_STALLED, Health, HealthAnswer, Watchdog, status

STALL_S = 60.0
RESTORE_S = 600.0


@dataclass
class Tables:
    """The part of Faust's table manager that health looks at."""

    actives_ready: bool = True


@dataclass
class Lease:
    """The part of the lease that health looks at."""

    held: bool = True
    session_s: float = 13.5


@dataclass
class Brokers:
    """Whether brokers answer: they do, unless the test says otherwise."""

    why: str | None = None

    def silence(self) -> str | None:
        return self.why


@dataclass
class App:
    """What health looks at of a worker's app: one that is ready and has nothing to do."""

    should_stop: bool = False
    rebalancing: bool = False
    crashed: bool = False
    crash_reason: BaseException | None = None
    progress_at: dict[tuple[str, int], float] = field(default_factory=dict)
    tables: Tables = field(default_factory=Tables)
    settings_ready: asyncio.Event = field(default_factory=asyncio.Event)
    lag: dict[tuple[str, int], int] = field(default_factory=dict)
    polls: int = 1
    delivered_at: float = 1_000.0
    left_out: set[tuple[str, int]] = field(default_factory=set)
    unknown: set[tuple[str, int]] = field(default_factory=set)
    lease: Lease = field(default_factory=Lease)
    held: dict[tuple[str, int], int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.settings_ready.set()

    def source_partitions(self) -> set[tuple[str, int]]:
        return self.unknown | self.lag.keys()

    def lags(self) -> dict[tuple[str, int], int]:
        return self.lag

    def held_back(self) -> dict[tuple[str, int], int]:
        return self.held

    def polled(self) -> tuple[int, float]:
        return self.polls, self.delivered_at

    def is_left_out(self, partition: tuple[str, int]) -> bool:
        return partition in self.left_out


class Clock:
    """Time that passes when it is told to."""

    def __init__(self) -> None:
        self.now = 1_000.0

    def __call__(self) -> float:
        return self.now

    def passes(self, seconds: float) -> None:
        self.now += seconds


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    clock = Clock()
    monkeypatch.setattr("streams.worker.health.liveness.time.monotonic", clock)
    return clock


@pytest.fixture
def app() -> App:
    return App()


@pytest.fixture
def brokers() -> Brokers:
    return Brokers()


@pytest.fixture
def health(app: Any, brokers: Brokers, clock: Clock) -> Health:
    async def owner(topic: str, partition: int) -> str | None:
        return f"the producer of {topic}[{partition}]" if partition == 0 else None

    return Health(app, brokers, owner, stall_timeout_s=STALL_S, restore_timeout_s=RESTORE_S)


def unready(app: App) -> None:
    app.tables.actives_ready = False


# -- ready ---------------------------------------------------------------------------------------------------


def test_a_worker_is_ready_once_state_and_settings_are_there(app: App, health: Health) -> None:
    assert health.ready() == HealthAnswer(True, "ready")


@pytest.mark.parametrize(
    ("change", "detail"),
    [
        ({"should_stop": True}, "stopping"),
        ({"rebalancing": True}, "restoring state"),
        ({"tables": Tables(actives_ready=False)}, "restoring state"),
        ({"settings_ready": asyncio.Event()}, "reading the settings"),
        ({"lease": Lease(held=False)}, "no heartbeat was answered for more than 13.5 s"),
    ],
)
def test_a_worker_is_not_ready_while(app: App, health: Health, change: dict[str, Any], detail: str) -> None:
    for name, value in change.items():
        setattr(app, name, value)
    assert health.ready() == HealthAnswer(False, detail)


SILENCE = "No broker of 3 answers since 2026-03-01T20:14:00Z (95 s)"


def test_a_worker_is_not_ready_while_no_broker_answers(health: Health, brokers: Brokers) -> None:
    brokers.why = SILENCE
    assert health.ready() == HealthAnswer(False, SILENCE)


def test_a_stop_is_told_before_that_no_broker_answers(app: App, health: Health, brokers: Brokers) -> None:
    brokers.why, app.should_stop = SILENCE, True
    assert health.ready() == HealthAnswer(False, "stopping")


@pytest.mark.parametrize("ok", [True, False])
def test_an_answer_is_a_status_and_a_body(ok: bool) -> None:
    assert status(HealthAnswer(ok, "why")) == (200 if ok else 503, {"ok": ok, "detail": "why"})


# -- live ----------------------------------------------------------------------------------------------------


FIRST, SECOND = ("decision-logs", 0), ("decision-logs", 1)


def test_a_worker_without_lag_lives_however_long_nothing_comes(
    app: App, health: Health, clock: Clock
) -> None:
    app.lag = {FIRST: 0}
    for _ in range(3):
        assert health.live() == HealthAnswer(True, "0 records of lag")
        clock.passes(10 * STALL_S)


def test_lag_without_progress_is_a_stall_after_a_while(app: App, health: Health, clock: Clock) -> None:
    app.lag = {FIRST: 3, SECOND: 4}
    assert health.live() == HealthAnswer(True, "7 records of lag")
    clock.passes(STALL_S)
    assert health.live() == HealthAnswer(True, "7 records of lag")
    clock.passes(1)
    assert health.live() == HealthAnswer(
        False, "decision-logs[0] has 3 records of lag and no progress for 61 s"
    )


def test_a_partition_that_waits_until_a_large_poll_of_others_is_delivered_is_no_stall(
    app: App, health: Health, clock: Clock
) -> None:
    app.lag, app.left_out = {FIRST: 9_000, SECOND: 4}, {SECOND}
    for _ in range(10):
        app.progress_at[FIRST] = app.delivered_at = clock()
        assert health.live().ok
        clock.passes(STALL_S - 1)


def test_a_partition_that_the_polls_of_others_pass_over_is_a_stall(
    app: App, health: Health, clock: Clock
) -> None:
    app.lag, app.left_out = {FIRST: 9_000, SECOND: 4}, {SECOND}
    assert health.live().ok
    clock.passes(STALL_S + 1)
    app.progress_at[FIRST] = app.delivered_at = clock()
    app.polls += 1
    assert health.live().ok
    app.polls += 1
    assert health.live() == HealthAnswer(
        False, "decision-logs[1] has 4 records of lag and no progress for 61 s"
    )


def test_a_delivery_that_stands_still_is_a_stall(app: App, health: Health, clock: Clock) -> None:
    app.lag, app.left_out = {FIRST: 4}, {FIRST}
    assert health.live().ok
    clock.passes(STALL_S + 1)
    assert health.live() == HealthAnswer(
        False, "decision-logs[0] has 4 records of lag and no progress for 61 s"
    )


def test_progress_puts_a_stall_off(app: App, health: Health, clock: Clock) -> None:
    app.lag = {FIRST: 1}
    assert health.live().ok
    clock.passes(STALL_S)
    app.progress_at[FIRST] = clock()
    clock.passes(STALL_S)
    assert health.live().ok
    clock.passes(1)
    assert not health.live().ok


def test_a_partition_that_stands_still_does_not_hide_behind_one_that_gets_on(
    app: App, health: Health, clock: Clock
) -> None:
    app.lag = {FIRST: 1, SECOND: 1}
    assert health.live().ok
    clock.passes(STALL_S + 1)
    app.progress_at[FIRST] = clock()
    answer = health.live()
    assert not answer.ok
    assert answer.detail.startswith("decision-logs[1]")


def test_a_stop_that_does_not_end_is_a_stall(app: App, health: Health, clock: Clock) -> None:
    assert health.live().ok
    app.should_stop = True
    clock.passes(STALL_S)
    assert health.live().ok
    clock.passes(1)
    assert not health.live().ok


def test_lag_after_idle_hours_is_no_stall_yet(app: App, health: Health, clock: Clock) -> None:
    app.lag = {FIRST: 0}
    for _ in range(10):
        clock.passes(STALL_S)
        assert health.live().ok
    app.lag = {FIRST: 1}
    clock.passes(STALL_S)
    assert health.live().ok
    clock.passes(1)
    assert not health.live().ok


def test_a_long_restore_lives_until_its_time_is_over(app: App, health: Health, clock: Clock) -> None:
    unready(app)
    clock.passes(RESTORE_S)
    assert health.live() == HealthAnswer(True, "getting ready")
    clock.passes(1)
    assert health.live() == HealthAnswer(False, "not ready for 601 s")


def test_each_rebalance_has_its_own_time(app: App, health: Health, clock: Clock) -> None:
    for _ in range(3):
        app.rebalancing = True
        clock.passes(RESTORE_S)
        assert health.live().ok
        app.rebalancing = False
        assert health.live().ok


def test_lag_that_gathered_during_a_restore_is_no_stall_yet(app: App, health: Health, clock: Clock) -> None:
    unready(app)
    clock.passes(RESTORE_S)
    assert health.live().ok
    app.tables.actives_ready, app.lag = True, {("decision-logs", 0): 1_000_000}
    assert health.live().ok
    clock.passes(STALL_S)
    assert health.live().ok
    clock.passes(1)
    assert not health.live().ok


@pytest.mark.parametrize("restored", [True, False])
def test_a_worker_lives_while_no_broker_answers_and_does_not_pretend_to_know_the_lag(
    app: App, health: Health, brokers: Brokers, clock: Clock, restored: bool
) -> None:
    app.lag, app.tables.actives_ready, brokers.why = {FIRST: 3}, restored, SILENCE
    for _ in range(3):
        assert health.live() == HealthAnswer(True, f"{SILENCE}: the lag is not known")
        clock.passes(RESTORE_S)


def test_every_wait_begins_again_when_brokers_answer_again(
    app: App, health: Health, brokers: Brokers, clock: Clock
) -> None:
    app.lag = {FIRST: 3}
    assert health.live().ok
    brokers.why = SILENCE
    clock.passes(RESTORE_S)
    assert health.live().ok
    brokers.why = None
    assert health.live() == HealthAnswer(True, "3 records of lag")
    clock.passes(STALL_S + 1)
    assert not health.live().ok


def test_a_stop_that_does_not_end_is_a_stall_though_no_broker_answers(
    app: App, health: Health, brokers: Brokers, clock: Clock
) -> None:
    assert health.live().ok
    brokers.why, app.should_stop = SILENCE, True
    clock.passes(STALL_S + 1)
    assert not health.live().ok


def test_lag_that_is_not_known_is_no_lag_of_nothing(app: App, health: Health) -> None:
    app.lag, app.unknown = {FIRST: 2}, {SECOND}
    assert health.live() == HealthAnswer(True, "2 records of lag; not known of 1 of 2 partitions")


def test_lag_that_was_not_known_for_long_is_no_stall_yet(app: App, health: Health, clock: Clock) -> None:
    app.lag = {FIRST: 0}
    assert health.live().ok
    app.lag, app.unknown = {}, {FIRST}
    clock.passes(STALL_S + 1)
    assert health.live().ok
    app.lag = {FIRST: 5}
    assert health.live() == HealthAnswer(True, "5 records of lag")


def test_a_crashed_worker_does_not_live(app: App, health: Health) -> None:
    app.crashed, app.crash_reason = True, RuntimeError("no disk")
    assert health.live() == HealthAnswer(False, "crashed: RuntimeError('no disk')")


# -- the watchdog --------------------------------------------------------------------------------------------


def test_a_worker_that_does_not_get_on_is_reported_once(
    app: App, health: Health, caplog: pytest.LogCaptureFixture
) -> None:
    watchdog = Watchdog(health, stall_timeout_s=STALL_S)
    app.crashed = True
    for _ in range(3):
        watchdog.beat()
    assert [record.levelno for record in caplog.records] == [logging.CRITICAL]
    app.crashed = False
    watchdog.beat()
    app.crashed = True
    watchdog.beat()
    assert len(caplog.records) == 2


WATCHED = """
import asyncio, sys, time
from streams.worker.health.liveness import HealthAnswer, Watchdog

class Health:
    def live(self):
        return HealthAnswer({alive}, "as told")

async def main():
    watchdog = Watchdog(Health(), stall_timeout_s={patience})
    watchdog.beat()
    watchdog.start()
    until = time.monotonic() + {seconds}
    while time.monotonic() < until:
        watchdog.beat()
        {wait}
    watchdog.stop()
    print("went on")

asyncio.run(main())
"""
BEATING = "await asyncio.sleep(0.05)"
BLOCKED = "time.sleep(60)"


def watched(*, alive: bool, wait: str, seconds: float, patience: float) -> subprocess.CompletedProcess[str]:
    """Run an event loop for so many seconds under a watchdog, which looks every second."""
    code = WATCHED.format(alive=alive, wait=wait, seconds=seconds, patience=patience)
    return subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=90, check=False
    )


def test_a_blocked_event_loop_ends_the_process_and_shows_where_it_stood() -> None:
    done = watched(alive=True, wait=BLOCKED, seconds=60, patience=0.3)
    assert done.returncode == EXIT_STALLED == 70
    assert "in main" in done.stderr
    last = done.stderr.splitlines()[-1]
    assert last.startswith("eddy: The worker has ended itself: its event loop has stood still for")
    assert done.stdout == ""


def test_a_worker_that_does_not_live_is_ended_though_its_event_loop_turns() -> None:
    done = watched(alive=False, wait=BEATING, seconds=60, patience=0.3)
    assert done.returncode == EXIT_STALLED
    assert "The worker is about to end itself: as told" in done.stderr
    assert done.stderr.splitlines()[-1].startswith("eddy: The worker has ended itself: as told. ")


def test_a_worker_that_lives_is_left_alone() -> None:
    done = watched(alive=True, wait=BEATING, seconds=1.5, patience=20)
    assert (done.returncode, done.stdout) == (0, "went on\n"), done.stderr


async def test_a_partition_behind_an_open_transaction_of_others_is_no_stall_and_is_named(
    app: App, health: Health, clock: Clock, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("INFO")
    app.lag, app.held = {("t", 0): 40, ("t", 1): 0}, {("t", 0): 40}
    for _ in range(4 * int(STALL_S)):
        assert health.live().ok
        await asyncio.sleep(0)
        clock.passes(1.0)
    waited = f"{4 * STALL_S:.0f} s"
    said = f"wait for an open transaction of another producer: t[0]: 40 records for {waited}"
    assert said in health.live().detail
    warned = [line for line in caplog.messages if "has left a transaction open" in line]
    assert len(warned) == 1 + int(math.log2(4 * STALL_S / 10))
    assert warned[0].startswith(
        "t[0] waits for the producer of t[0], which has left a transaction open for 10 s: 40 records after it"
    )
    app.lag, app.held = {("t", 0): 0, ("t", 1): 0}, {}
    assert "transaction" not in health.live().detail
    assert caplog.messages[-1] == f"t[0] waited {waited} for a transaction; it is over."
    app.lag = {("t", 0): 5}
    assert health.live().ok
    clock.passes(STALL_S + 1)
    assert not health.live().ok, "its wait began with the end of the transaction"

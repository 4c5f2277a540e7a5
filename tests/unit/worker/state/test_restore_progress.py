"""Who waits for a long restore reads how far it is; a short one is worth no line."""

import logging

import pytest

from streams.worker.state.restore import RestoreProgress


class Clock:
    now = 0.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture(autouse=True)
def at_info(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)


def test_a_long_restore_is_reported_every_ten_seconds_with_what_is_left(
    caplog: pytest.LogCaptureFixture,
) -> None:
    clock = Clock()
    progress = RestoreProgress("sessions-changelog", clock)
    for _ in range(2):
        progress.expect(50_000)
    for _ in range(25):
        clock.now += 1
        progress.advance(2_000)
    assert [record.getMessage() for record in caplog.records] == [
        "Restoring from sessions-changelog: 20,000 of 100,000 offsets (20 %), 40 s left at 2,000 a second.",
        "Restoring from sessions-changelog: 40,000 of 100,000 offsets (40 %), 30 s left at 2,000 a second.",
    ]


def test_a_short_restore_and_the_end_of_a_long_one_are_no_progress(caplog: pytest.LogCaptureFixture) -> None:
    clock = Clock()
    progress = RestoreProgress("sessions-changelog", clock)
    progress.expect(100)
    clock.now = 9
    progress.advance(50)
    clock.now = 30
    progress.advance(50)
    assert caplog.records == []


def test_what_comes_while_it_restores_does_not_make_it_more_than_all(
    caplog: pytest.LogCaptureFixture,
) -> None:
    clock = Clock()
    progress = RestoreProgress("sessions-changelog", clock)
    progress.expect(100)
    clock.now = 30
    progress.advance(150)
    progress.advance(1)
    assert caplog.records == []

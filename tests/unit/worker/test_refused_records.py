"""A flood of bad records is a few lines of the log, which say why, where, how many and what to do."""

from collections.abc import Callable

import pytest

from schemas.reason import Reason
from streams.worker.refused_records import PAUSE_SECONDS, RefusedRecords
from streams.worker.run_result import Violation


class Timer:
    """Calls what it was given when a test says that the time has come."""

    def __init__(self) -> None:
        self.waiting: list[Callable[[], None]] = []

    def __call__(self, delay: float, callback: Callable[[], None]) -> None:
        assert delay == PAUSE_SECONDS
        self.waiting.append(callback)

    def passes(self) -> None:
        due, self.waiting = self.waiting, []
        for callback in due:
            callback()


def bad(offset: int, reason: Reason | None = Reason.KEY, detail: str = "key: missing") -> Violation:
    return Violation(offset, reason, detail)


def test_a_run_is_one_line_with_reasons_the_first_record_and_what_to_do(
    caplog: pytest.LogCaptureFixture,
) -> None:
    run = [bad(17), *(bad(n, Reason.SCHEMA_VIOLATION, "action.status: missing") for n in range(18, 318))]
    RefusedRecords(Timer()).add("decision-logs", 3, run)
    assert caplog.messages == [
        (
            "301 records of decision-logs[3] went to the dead letters: schema_violation 300, key 1. "
            "The first is decision-logs[3]@17: key: missing. `eddy dlq list` shows them."
        )
    ]


def test_a_flood_is_one_line_for_each_pause_and_partition(caplog: pytest.LogCaptureFixture) -> None:
    timer = Timer()
    refused = RefusedRecords(timer)
    for offset in range(1_000):
        refused.add("decision-logs", offset % 2, [bad(offset)])
    assert len(caplog.messages) == 2
    timer.passes()
    assert [message.split(":")[0] for message in caplog.messages[2:]] == [
        "499 records of decision-logs[0] went to the dead letters",
        "499 records of decision-logs[1] went to the dead letters",
    ]


def test_nothing_is_said_of_a_quiet_partition_and_the_next_bad_record_is_said_at_once(
    caplog: pytest.LogCaptureFixture,
) -> None:
    timer = Timer()
    refused = RefusedRecords(timer)
    refused.add("decision-logs", 0, [])
    assert timer.waiting == []
    refused.add("decision-logs", 0, [bad(1)])
    timer.passes()
    assert timer.waiting == []
    refused.add("decision-logs", 0, [bad(2)])
    assert [message.split("@")[1][0] for message in caplog.messages] == ["1", "2"]


def test_a_record_without_an_agent_is_told_apart_from_dead_letters(caplog: pytest.LogCaptureFixture) -> None:
    RefusedRecords(Timer()).add("decision-logs", 0, [bad(9, None, "missing_agent_id")])
    [message] = caplog.messages
    assert message.startswith("schema_violation in 1 record of decision-logs[0], accepted all the same: ")
    assert "missing_agent_id, the first time at decision-logs[0]@9." in message
    assert "dead letters" not in message

"""Each condition turns bad by what it is about, is good without it, and unknown before anything was said."""

import pytest

from streams.console.read_model.rows import SampleRow
from streams.console.watch.conditions import CONDITIONS, ConditionState, told
from streams.console.watch.history import MINUTE_MS, WorkerHistory

NOW = 1_760_000_040_000
GOOD = {
    "records": lambda minute: 600.0 * minute,
    "lag": lambda minute: 10.0 + minute % 3,
    "dead_letters": lambda minute: float(minute // 5),
    "lost": lambda _: 2.0,
    "late": lambda _: 0.0,
    "redated": lambda _: 0.0,
    "set_aside": lambda _: 1.0,
    "standby_errors": lambda _: 0.0,
    "standby_lag": lambda _: 2.0,
    "brokers": lambda _: 3.0,
    "brokers_known": lambda _: 3.0,
    "silence": lambda _: 1.0,
    "ahead": lambda _: -2.0,
}


def states(**changed: object) -> dict[str, ConditionState]:
    figures = {**GOOD, **changed}
    rows = [
        SampleRow("w", name, "", NOW - (120 - minute) * MINUTE_MS, value(minute))  # type: ignore[operator]
        for name, value in figures.items()
        for minute in range(121)
    ]
    return {each.name: each.state for each in told(WorkerHistory(rows), NOW)}


def test_a_job_that_is_well_has_no_bad_condition() -> None:
    assert set(states().values()) == {ConditionState.GOOD}


@pytest.mark.parametrize(
    ("name", "figure", "value"),
    [
        ("Brokers", "brokers", lambda _: 2.0),
        ("Brokers", "silence", lambda _: 31.0),
        ("Lag", "lag", lambda minute: 100.0 * minute),
        ("Lost records", "lost", lambda minute: float(minute > 100)),
        ("Dead letters", "dead_letters", lambda minute: float(minute // 5 + 40 * (minute > 115))),
        ("Late records", "late", lambda minute: float(minute > 70)),
        ("Standby errors", "standby_errors", lambda minute: float(minute > 115)),
        ("Standby lag", "standby_lag", lambda _: 61.0),
        ("Clock", "ahead", lambda _: -70.0),
        ("Redated records", "redated", lambda minute: float(minute > 100)),
        ("Damaged state", "set_aside", lambda minute: float(minute // 40)),
    ],
)
def test_a_condition_turns_bad_and_no_other_does(name: str, figure: str, value: object) -> None:
    found = states(**{figure: value})
    assert [each for each, state in found.items() if state is ConditionState.BAD] == [name]


def test_before_anything_was_said_nothing_is_known() -> None:
    found = told(WorkerHistory(()), NOW)
    assert {each.state for each in found} == {ConditionState.UNKNOWN}
    assert len(found) == len(CONDITIONS)


def test_what_is_long_past_is_not_bad_any_more() -> None:
    assert states(lost=lambda minute: float(minute > 30))["Lost records"] is ConditionState.GOOD

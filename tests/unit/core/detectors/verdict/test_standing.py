"""How far each rule is from its limits, told from the state alone."""

from itertools import islice
from typing import Any

from streams.core.detectors.settings import DEFAULTS
from streams.core.detectors.verdict.standing import Standing, standings
from streams.core.domain.level import Level
from streams.core.settings_document import resolve
from tests.stream import Stream
from tests.unit.core.detectors.verdict.sequences import (
    MINUTE_MS,
    call,
    circle,
    command,
    failing,
    new,
    other,
    spread,
)

LOOK = call('{"job": 7}', "job 7: still running", tool="get_job")


def standing(
    values: list[dict[str, Any]], rule: str, period: int | None = None, every_ms: int = 1000, **changes: Any
) -> Standing:
    stream = Stream(**changes)
    stream.run(spread(values, every_ms))
    state = stream.sessions["s1"].states["verdict"]
    (found,) = [
        each
        for each in standings(state, stream.settings)
        if each.rule == rule and each.period == (1 if rule == "R1" else period)
    ]
    return found


def test_two_of_three_equal_calls() -> None:
    found = standing([call()] * 2, "R1")
    assert (found.count, found.warn, found.loop, found.tool, found.level) == (
        2,
        3,
        4,
        "get_user",
        Level.NORMAL,
    )


def test_limits_are_those_of_the_newest_record() -> None:
    failed = standing([failing()], "R1", identical_failing_warn=5, identical_failing_loop=6)
    assert (failed.warn, failed.loop) == (5, 6)
    clicked = standing([call('{"at": "next"}', "clicked", tool="click")], "R1")
    assert (clicked.warn, clicked.loop) == (10, 20)
    policies = {"get_*": {"mode": "limits", "warn": 7, "loop": 9}}
    assert standing([call()], "R1", tool_policies=policies).loop == 9


def test_a_cycle_counts_once_its_second_turn_is_complete() -> None:
    values = [other(1), other(2)] * 3
    counts = [standing(values[:length], "R2", 2).count for length in range(1, 7)]
    assert counts == [0, 0, 1, 2, 2, 3]


def test_a_longer_cycle_has_a_row_while_a_circle_is_open() -> None:
    found = standing(list(islice(circle(8), 17)), "R2", 8)
    assert (found.count, found.warn, found.loop, found.tool, found.level) == (2, 2, 3, None, Level.WARNING)
    assert found.onset is not None
    assert found.onset[0] == 8
    assert standing(list(islice(circle(8), 12)), "R2", 8).count == 0


def test_the_stuck_score_is_measured_and_its_records_are_counted() -> None:
    found = standing([new(1), new(2), new(1), new(2)], "R7")
    assert (found.measure, found.count, found.warn, found.loop, found.tool) == (3.0, 2, 3.0, 5.0, None)
    assert found.onset is not None
    assert found.onset[0] == 2


def test_the_stuck_score_stands_after_a_record_that_does_not_raise_it() -> None:
    found = standing([failing()] * 4 + [new(1)], "R7")
    assert (found.measure, found.count, found.level) == (5.0, 3, Level.NORMAL)


def test_waiting_is_measured_in_whole_minutes_and_its_looks_are_counted() -> None:
    found = standing([LOOK] * 13, "R9", every_ms=MINUTE_MS)
    assert (found.measure, found.count, found.warn, found.loop, found.tool) == (12, 13, 10, 60, "get_job")
    assert (found.level, found.onset and found.onset[0]) == (Level.WARNING, 0)


def test_waiting_stands_after_a_step_that_tells_nothing_and_does_not_fire_at_it() -> None:
    found = standing([*[LOOK] * 13, command("true", "")], "R9", every_ms=MINUTE_MS)
    assert (found.count, found.level) == (13, Level.NORMAL)


def test_what_is_switched_off_is_left_out() -> None:
    stream = Stream(verdict_rules=["R2", "R9"], cycle_max_period=3)
    stream.run(spread([call()]))
    state = stream.sessions["s1"].states["verdict"]
    assert [(each.rule, each.period) for each in standings(state, stream.settings)] == [
        ("R2", 2),
        ("R2", 3),
        ("R9", None),
    ]
    off, _ = resolve({"verdict_enabled": False}, DEFAULTS, 1)
    assert standings(state, off) == ()

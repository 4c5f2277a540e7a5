"""How far each rule is from its limits, told from the state alone."""

from typing import Any

from streams.detectors.settings import DEFAULTS
from streams.detectors.verdict.standing import Standing, standings
from streams.domain.level import Level
from streams.settings_document.document import resolve
from tests.stream import Stream
from tests.unit.detectors.verdict.sequences import ROWS, SINGLE_RULES, call, failing, other, spread


def standing(values: list[dict[str, Any]], rule: str, period: int | None = None, **changes: Any) -> Standing:
    stream = Stream(**changes)
    stream.run(spread(values))
    state = stream.sessions["s1"].states["verdict"]
    (found,) = [
        each
        for each in standings(state, stream.settings)
        if each.rule == rule and each.period == (1 if rule == "R1" else period)
    ]
    return found


def test_two_of_three_equal_calls() -> None:
    found = standing([call()] * 2, "R1", identical_warn=3)
    assert (found.count, found.warn, found.loop, found.tool, found.level) == (
        2,
        3,
        4,
        "get_user",
        Level.NORMAL,
    )


def test_limits_are_those_of_the_newest_record() -> None:
    assert (standing([failing()], "R1").warn, standing([failing()], "R1").loop) == (2, 3)
    policies = {"get_*": {"mode": "limits", "warn": 7, "loop": 9}}
    assert standing([call()], "R1", tool_policies=policies).loop == 9


def test_a_cycle_counts_once_its_second_turn_is_complete() -> None:
    values = [other(1), other(2)] * 3
    counts = [standing(values[:length], "R2", 2).count for length in range(1, 7)]
    assert counts == [0, 0, 1, 2, 2, 3]


def test_failures_of_one_tool_are_seen_behind_those_of_others() -> None:
    values = [failing("no such key", f'{{"n": {n}}}') for n in range(3)]
    found = standing([*values, other(1)], "R3", **SINGLE_RULES)
    assert (found.count, found.tool, found.warn) == (3, "run", 4)
    assert found.onset is not None
    assert found.onset[0] == 0


def test_equal_calls_are_no_varied_ones() -> None:
    assert [standing([failing()] * 3, rule, **SINGLE_RULES).count for rule in ("R3", "R4", "R5")] == [0, 0, 0]


def test_rows_are_counted_from_their_first_record() -> None:
    found = standing([other(1), *(call(f'{{"q": {n}}}', ROWS) for n in range(3))], "R4")
    assert found.onset is not None
    assert (found.count, found.onset[0], found.tool) == (3, 1, "get_user")


def test_the_stuck_score_is_measured_and_its_records_are_counted() -> None:
    values = [other(1), other(2), other(1), other(2)]
    found = standing(values, "R7")
    assert (found.measure, found.count, found.warn, found.loop, found.tool) == (1.0, 2, 3.0, 5.0, None)
    assert found.onset is not None
    assert found.onset[0] == 2


def test_the_stuck_score_stands_after_a_record_that_does_not_raise_it() -> None:
    found = standing([failing()] * 3 + [other(1)], "R7")
    assert (found.measure, found.count, found.level) == (3.0, 2, Level.NORMAL)


def test_what_is_switched_off_is_left_out() -> None:
    stream = Stream(verdict_rules=["R2", "R4"], cycle_max_period=3)
    stream.run(spread([call()]))
    state = stream.sessions["s1"].states["verdict"]
    assert [(each.rule, each.period) for each in standings(state, stream.settings)] == [
        ("R2", 2),
        ("R2", 3),
        ("R4", None),
    ]
    off, _ = resolve({"verdict_enabled": False}, DEFAULTS, 1)
    assert standings(state, off) == ()

"""R2 over more than five steps: the circle (specification 6.5)."""

from itertools import islice
from typing import Any

import pytest

from streams.core.detectors.verdict.cycle import rounds_of
from tests.unit.core.detectors.verdict.sequences import (
    at,
    call,
    circle,
    command,
    episodes,
    failing,
    new,
    raws,
    verdicts,
)

ALONE = {"verdict_rules": ["R2"]}


def going(steps: int, records: int) -> list[dict[str, Any]]:
    return list(islice(circle(steps), records))


@pytest.mark.parametrize("steps", [6, 7, 13, 31, 60])
def test_it_warns_when_the_second_round_is_complete_and_loops_when_the_third_is(steps: int) -> None:
    expected = "N" * (2 * steps - 1) + "W" * steps + "L"
    assert raws(going(steps, 3 * steps), **ALONE) == expected


def test_five_steps_are_compared_whole_and_reported_once() -> None:
    fired = verdicts(going(5, 10), **ALONE)[-1]["fired"]
    assert [(each["period"], each["count"]) for each in fired] == [(5, 2)]


def test_more_than_sixty_steps_are_none() -> None:
    assert raws(going(61, 200), **ALONE) == "N" * 200


def test_circles_above_the_setting_are_not_reported() -> None:
    assert raws(going(7, 30), cycle_max_period=6, **ALONE) == "N" * 30


def test_a_circle_is_counted_while_it_is_not_reported() -> None:
    assert verdicts(going(7, 21), cycle_max_period=7, **ALONE)[-1]["count"] == 3


def test_one_step_in_seven_may_be_another() -> None:
    values = going(8, 24)
    # The 15th record: six have matched since the 9th.
    values[14] = new(99)
    assert raws(values, **ALONE) == "N" * 15 + "W" * 8 + "L"


def test_a_step_missed_too_soon_breaks_it() -> None:
    values = going(8, 24)
    values[13] = new(99)
    # The 15th record opens another, whose second round is complete with the 22nd.
    assert raws(values, **ALONE) == "N" * 21 + "WWW"


def test_a_second_miss_needs_twelve_matches() -> None:
    values = going(8, 40)
    values[14], values[19] = new(98), new(99)
    assert raws(values, **ALONE)[15:20] == "WWWWN"
    values[19], values[22] = going(8, 40)[19], new(99)
    assert raws(values, **ALONE)[15:24] == "WWWWWWWWL"


def test_the_smallest_period_is_taken() -> None:
    assert verdicts(going(6, 40), **ALONE)[-1]["period"] == 6


def test_a_pause_breaks_it() -> None:
    values = [at(number, value) for number, value in enumerate(going(6, 18))]
    late = [*values[:10], *(at(60, value) for value in values[10:])]
    # The 11th record opens another.
    assert raws(late, 0, **ALONE) == "N" * 15 + "WWW"
    soon = [*values[:10], *(at(58.999, value) for value in values[10:])]
    assert raws(soon, 0, **ALONE) == "N" * 11 + "W" * 6 + "L"


def test_a_failure_after_a_longer_time_does_not() -> None:
    steps = [failing(f"e{number} f{number}", f'{{"n": {number}}}') for number in range(6)]
    assert raws(steps * 2, 599_999, **ALONE)[-1] == "W"
    assert raws(steps * 2, 600_000, **ALONE)[-1] == "N"


def test_a_step_that_waits_breaks_it_and_leaves_no_trace() -> None:
    values = going(6, 12)
    values.insert(8, command("sleep 5", ""))
    assert raws(values, **ALONE) == "N" * 13
    # Two rounds are complete six steps after the pause.
    assert raws([*values, *going(6, 2)], **ALONE) == "N" * 13 + "NW"


def test_a_step_that_moved_something_breaks_it() -> None:
    values = going(6, 12)
    values[8] = {**values[8], "state_delta": {"progress_delta": 0.1}}
    assert raws(values, **ALONE) == "N" * 12


def test_its_first_record_is_the_one_that_closed_the_first_round() -> None:
    (opened,) = episodes(going(7, 14), **ALONE)
    assert (opened["period"], opened["count"], opened["first_offset"]) == (7, 2, 7)
    assert len(opened["tools"]) == len(opened["signatures"]) == 5


def test_the_same_period_again_is_the_same_episode() -> None:
    values = [*going(6, 12), *(new(number) for number in range(20, 23)), *going(6, 6)]
    other = [call(f'{{"z": {number}}}', f"z{number}") for number in range(6)]
    events = episodes([*values, *other * 2], **ALONE)
    assert [(each["phase"], each["reopened"]) for each in events[:2]] == [
        ("opened", False),
        ("recovered", False),
    ]
    assert [(each["phase"], each["reopened"]) for each in events[2:3]] == [("opened", True)]


def test_rounds_count_matches_and_misses_alike() -> None:
    assert [rounds_of((6, matched, 1, ())) for matched in (4, 5, 10, 11)] == [0, 2, 2, 3]

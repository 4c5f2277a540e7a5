"""R9: time that an agent waits, and what of it is no waiting (specification 6.5c)."""

from typing import Any

import pytest

from streams.core.detectors.verdict.waiting import minutes_of
from tests.unit.core.detectors.verdict.sequences import (
    MINUTE_MS,
    at,
    by_person,
    call,
    command,
    episodes,
    failing,
    kinds,
    levels,
    new,
    raws,
    verdicts,
)

ALONE = {"verdict_rules": ["R9"]}
LOOK = call('{"job": 7}', "job 7: still running", tool="get_job")
SLEEP = command("sleep 60", "")


def at_minutes(*placed: tuple[float, dict[str, Any]]) -> list[dict[str, Any]]:
    return [at(60 * minutes, value) for minutes, value in placed]


def test_it_warns_after_ten_minutes_and_loops_after_an_hour() -> None:
    assert raws([LOOK] * 62, MINUTE_MS, **ALONE) == "N" * 10 + "W" * 50 + "LL"


def test_looks_in_any_number_are_free_before() -> None:
    assert raws([LOOK] * 400, 1000) == "N" * 400


def test_the_third_look_is_the_first_that_fires() -> None:
    looks = at_minutes((0, LOOK), (100, LOOK), (200, LOOK))
    assert raws(looks, 0, **ALONE) == "NNL"


def test_waiting_begins_with_the_record_before_the_first_look() -> None:
    values = at_minutes((0, new(1)), (8, LOOK), (9, LOOK), (10, LOOK))
    found = verdicts(values, 0, **ALONE)
    assert [each["raw"] for each in found] == ["NORMAL", "NORMAL", "NORMAL", "WARNING"]
    assert found[-1]["count"] == 3
    (opened,) = episodes(values, 0, **ALONE)
    assert (opened["rule"], opened["period"], opened["first_offset"]) == ("R9", None, 0)


def test_time_before_a_person_spoke_was_no_waiting() -> None:
    values = at_minutes((0, new(1)), (600, by_person(LOOK)), (601, LOOK), (602, LOOK))
    assert raws(values, 0, **ALONE) == "NNNN"


def test_less_than_a_whole_minute_is_none() -> None:
    looks = [at(0, LOOK), at(1, LOOK), at(599.999, LOOK), at(600, LOOK)]
    assert raws(looks, 0, **ALONE) == "NNNW"


def test_a_look_that_brings_something_new_begins_anew() -> None:
    output = call('{"id": 1}', "compiled module alpha", tool="BashOutput")
    looks = at_minutes((0, LOOK), (5, LOOK), (9, output), (11, LOOK), (18, LOOK), (19, LOOK))
    assert raws(looks, 0, **ALONE) == "NNNNNW"


def test_the_same_output_again_is_nothing_new() -> None:
    output = call('{"id": 1}', "compiled module alpha", tool="BashOutput")
    looks = at_minutes((0, output), (5, output), (9, output), (10, output))
    assert raws(looks, 0, **ALONE) == "NNNW"


def test_new_words_around_an_answer_that_tells_to_wait_are_nothing_new() -> None:
    looks = [call('{"job": 7}', f"step{number} is still running", tool="get_job") for number in range(11)]
    assert raws(looks, MINUTE_MS, **ALONE) == "N" * 10 + "W"


@pytest.mark.parametrize(
    "between",
    [
        command("true", ""),
        command("echo waiting", "waiting"),
        failing("cancelled: sibling tool call errored", '{"n": 1}'),
        call('{"q": 1}', None, tool="search"),
    ],
)
def test_it_goes_on_over_steps_that_tell_nothing(between: dict[str, Any]) -> None:
    values = at_minutes((0, LOOK), (4, LOOK), (6, between), (10, LOOK))
    assert raws(values, 0, **ALONE) == "NNNW"


@pytest.mark.parametrize("between", [new(1), failing("no such job", '{"job": 7}', tool="cancel_job")])
def test_any_other_step_ends_it(between: dict[str, Any]) -> None:
    values = at_minutes((0, LOOK), (4, LOOK), (6, between), (10, LOOK), (11, LOOK), (12, LOOK))
    assert raws(values, 0, **ALONE) == "N" * 6


def test_it_does_not_fire_on_a_step_that_is_no_look() -> None:
    values = at_minutes((0, LOOK), (4, LOOK), (10, LOOK), (11, command("true", "")))
    assert raws(values, 0, **ALONE) == "NNWN"


def test_a_tool_that_polls_by_policy_is_a_look() -> None:
    policies = {"get_user": {"mode": "polling"}}
    assert raws([call()] * 11, MINUTE_MS, tool_policies=policies, **ALONE) == "N" * 10 + "W"


def test_a_look_is_no_quiet_record() -> None:
    values = [failing()] * 4 + [LOOK] * 5 + [new(1), new(2), new(3)]
    assert levels(values) == "NNWL" + "L" * 7 + "N"


def test_a_check_repeated_around_a_look_is_apart() -> None:
    assert kinds([call(), SLEEP, call(), SLEEP, call()]) == ["first", "waiting", "apart", "waiting", "apart"]


def test_a_failing_check_around_a_look_is_not() -> None:
    assert kinds([failing(), SLEEP, failing()])[-1] == "back"


def test_waiting_for_the_same_tool_again_reopens_the_episode() -> None:
    ready = [new(number) for number in range(3)]
    first = at_minutes((0, LOOK), (5, LOOK), (10, LOOK), *((10, each) for each in ready))
    again = at_minutes((11, LOOK), (15, LOOK), (22, LOOK))
    events = episodes([*first, *again], 0, **ALONE)
    assert [(each["at"], each["phase"], each["reopened"]) for each in events] == [
        (3, "opened", False),
        (6, "recovered", False),
        (9, "opened", True),
    ]


def test_time_that_goes_back_is_no_minute() -> None:
    assert minutes_of((5, [0, 600_000, 0, None], True), 0) == 0

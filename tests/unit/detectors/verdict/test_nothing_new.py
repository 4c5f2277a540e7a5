"""R6, off by default: calls in a row that were all made before, with the results they had before."""

from typing import Any

import pytest

from streams.detectors.verdict.standing import standings
from tests.stream import Stream
from tests.unit.detectors.verdict.sequences import (
    SINGLE_RULES,
    call,
    episodes,
    failing,
    other,
    raws,
    spread,
    verdicts,
)

ALONE = {"verdict_rules": ["R6"]}
BESIDE = {"verdict_rules": [*SINGLE_RULES["verdict_rules"], "R6"]}
SEVEN = [other(number) for number in range(7)]


def mixed(order: str) -> list[dict[str, Any]]:
    """The same few calls in this order."""
    return [other(ord(letter)) for letter in order]


def test_a_circle_longer_than_any_cycle_of_r2() -> None:
    assert raws(SEVEN * 2, **SINGLE_RULES) == "N" * 14
    assert raws(SEVEN * 2, **BESIDE) == "N" * 7 + "NNWWLLL"


def test_a_circle_walked_in_another_order_each_time() -> None:
    order = "abcacbbca"
    assert raws(mixed(order), identical_warn=3, **SINGLE_RULES) == "N" * 9
    assert raws(mixed(order), **BESIDE) == "NNNNNWWLL"


def test_one_call_never_made_before_ends_the_row() -> None:
    assert raws(mixed("abcabxcabc"), **ALONE) == "NNNNNNNNWW"


def test_a_call_made_before_with_another_result_is_new() -> None:
    tail = [call("log", f"{number} rows") for number in range(9)]
    assert raws(tail, **ALONE) == "N" * 9


def test_an_edit_and_its_test_are_work() -> None:
    edits = [call(f'{{"text": "try {n}"}}', "saved", tool="edit_file") for n in range(8)]
    assert raws([value for edit in edits for value in (edit, failing())], **ALONE) == "N" * 16


def test_a_batch_over_many_files_is_work() -> None:
    checks = [
        call(f'{{"command": "ruff check {n}.py"}}', "All checks passed!", tool="bash") for n in range(9)
    ]
    assert raws(checks, **ALONE) == "N" * 9


def test_turning_pages_is_work() -> None:
    pages = [call('{"next": true}', f"page {n} of 9", tool="turn") for n in range(9)]
    assert raws(pages, **ALONE) == "N" * 9


@pytest.mark.parametrize(("every_ms", "expected"), [(60_000, "N" * 8), (59_999, "NNNWWLLL")])
def test_waiting_is_no_repetition(every_ms: int, expected: str) -> None:
    assert raws([call()] * 8, every_ms, **ALONE) == expected


def test_failing_slowly_is_one() -> None:
    assert raws([failing()] * 6, 300_000, **ALONE) == "NNNWWL"


def test_a_tool_that_polls_ends_the_row() -> None:
    order = [other(1), other(2), other(1), other(2), call(), other(1), call(), other(2), other(1), other(2)]
    assert raws(order, **ALONE) == "NNNNNNNWWL"
    assert raws(order, **ALONE, tool_policies={"get_*": {"mode": "polling"}}) == "NNNNNNNNNW"


def test_what_left_the_window_is_new_again() -> None:
    assert raws(SEVEN * 2, **ALONE, verdict_window=8) == "N" * 9 + "WWLLL"
    assert raws(SEVEN * 2, **ALONE, verdict_window=7) == "N" * 14


def test_it_counts_from_the_first_repetition_and_has_limits_of_its_own() -> None:
    *_, last = verdicts(SEVEN + SEVEN[:2], **ALONE, nothing_new_warn=2, nothing_new_loop=9)
    assert last["fired"] == [{"rule": "R6", "level": "WARNING", "count": 2, "period": None}]
    assert (last["rule"], last["count"], last["period"]) == ("R6", 2, None)


def test_rules_of_the_table_go_first_at_the_same_level() -> None:
    assert [each["rule"] for each in verdicts([call()] * 7, **BESIDE)[3:]] == ["R1"] * 4


def test_its_episode_begins_with_the_first_repetition_and_shows_the_newest_five() -> None:
    opened, escalated = episodes(SEVEN * 2, **ALONE)[:2]
    assert (opened["at"], opened["phase"], opened["first_offset"]) == (10, "opened", 7)
    assert opened["tools"] == ["look_at_0", "look_at_1", "look_at_2"]
    assert (escalated["at"], escalated["phase"], escalated["count"]) == (12, "escalated", 5)
    assert escalated["tools"] == [f"look_at_{number}" for number in range(5)]
    assert len(escalated["signatures"]) == 5


def test_the_next_row_within_the_window_is_the_same_episode() -> None:
    news = [other(number) for number in range(20, 24)]
    told = episodes([*SEVEN, *SEVEN[:4], *news, *SEVEN[:4]], **ALONE)
    assert [each["phase"] for each in told] == ["opened", "recovered", "opened"]
    assert told[2]["reopened"] is True
    assert told[2]["episode_id"] == told[0]["episode_id"]


def test_off_it_is_not_even_counted() -> None:
    stream = Stream()
    stream.run(spread([call()] * 3))
    state = stream.sessions["s1"].states["verdict"]
    assert state.nothing_new == ()
    assert "R6" not in {each.rule for each in standings(state, stream.settings)}


def test_its_standing_says_how_far_it_is() -> None:
    stream = Stream(**ALONE)
    stream.run(spread([call()] * 3))
    (found,) = standings(stream.sessions["s1"].states["verdict"], stream.settings)
    assert (found.rule, found.count, found.warn, found.loop, found.tool) == ("R6", 2, 3, 5, None)
    assert found.onset is not None
    assert found.onset[0] == 1

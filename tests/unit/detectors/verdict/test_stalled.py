"""R8, off by default: many steps that told the agent nothing new."""

from typing import Any

import pytest

from streams.detectors.verdict.presentation import VerdictPresentation
from streams.detectors.verdict.standing import standings
from tests.stream import Stream
from tests.unit.detectors.verdict.sequences import call, episodes, failing, raws, spread, verdicts

ALONE = {"verdict_rules": ["R8"]}
BESIDE = {"verdict_rules": ["R1", "R2", "R4", "R5", "R7", "R8"]}


def failures(number: int, first: int = 0) -> list[dict[str, Any]]:
    """Different queries, each with an error of its own."""
    return [
        failing(f"column c{n} of table t{n} is not there", f'{{"q": "attempt {n}"}}', tool="query")
        for n in range(first, first + number)
    ]


def news(number: int) -> dict[str, Any]:
    """A look at something else, that tells something new."""
    return call(f'{{"k": {number}}}', f"three rows about topic {number}", tool="look")


def test_an_agent_that_fails_in_ever_new_ways_is_stalled() -> None:
    assert raws(failures(11)) == "N" * 11
    assert raws(failures(11), **BESIDE) == "N" * 7 + "WWLL"


def test_a_new_result_in_between_makes_up_for_three_steps() -> None:
    assert raws([*failures(7), news(1), *failures(5, 20)], **ALONE) == "N" * 11 + "WW"


def test_an_agent_that_reads_and_tries_in_turn_is_not_stalled() -> None:
    turns = [step for n in range(12) for step in (news(n), *failures(2, 2 * n))]
    assert raws(turns, **ALONE) == "N" * 36


def test_edits_between_failing_tests_do_not_count_and_the_tests_do() -> None:
    edits = [call(f'{{"text": "try {n}"}}', "saved", tool="edit_file") for n in range(8)]
    turns = [value for edit in edits for value in (edit, failing())]
    assert raws(turns, **ALONE) == "N" * 13 + "WNW"


@pytest.mark.parametrize(("every_ms", "expected"), [(60_000, "N" * 10), (59_999, "N" * 7 + "WWL")])
def test_waiting_is_no_stall(every_ms: int, expected: str) -> None:
    assert raws([call()] * 10, every_ms, **ALONE) == expected


def test_off_it_is_not_even_counted() -> None:
    stream = Stream()
    stream.run(spread(failures(9)))
    state = stream.sessions["s1"].states["verdict"]
    assert state.stalled == ()
    assert "R8" not in {each.rule for each in standings(state, stream.settings)}


def test_its_standing_says_how_far_it_is() -> None:
    stream = Stream(**ALONE)
    stream.run(spread(failures(4)))
    (found,) = standings(stream.sessions["s1"].states["verdict"], stream.settings)
    assert (found.rule, found.count, found.warn, found.loop, found.tool) == ("R8", 3, 7, 9, None)
    assert found.onset is not None
    assert found.onset[0] == 1


def test_its_count_is_told_and_other_rules_go_first_at_the_same_level() -> None:
    *_, last = verdicts(failures(9), **ALONE)
    assert last["fired"] == [{"rule": "R8", "level": "WARNING", "count": 8, "period": None}]
    assert [each["rule"] for each in verdicts([failing()] * 10, **BESIDE)][-1] == "R1"


def test_its_episode_begins_with_the_first_step_that_counted() -> None:
    opened, escalated = episodes(failures(10), **ALONE)[:2]
    assert (opened["at"], opened["phase"], opened["first_offset"]) == (8, "opened", 1)
    assert (escalated["at"], escalated["phase"], escalated["count"]) == (10, "escalated", 9)
    assert escalated["tools"] == ["query"]
    assert (
        VerdictPresentation()
        .sentence(escalated)
        .startswith("9 steps that told the agent nothing new, the newest of query (R8); since ")
    )


def test_the_next_stall_within_the_window_is_the_same_episode() -> None:
    told = episodes([*failures(8), *map(news, range(9)), *failures(8, 20)], **ALONE)
    assert [each["phase"] for each in told] == ["opened", "recovered", "opened"]
    assert told[2]["reopened"] is True

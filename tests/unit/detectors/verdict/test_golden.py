"""The golden examples of specification 6.9, under the default settings."""

from collections.abc import Iterable
from typing import Any

import pytest

from tests.unit.detectors.verdict.sequences import (
    ROWS,
    SINGLE_RULES,
    WORDS,
    call,
    episodes,
    failing,
    levels,
    other,
    phases,
    verdicts,
)

A, B, C = (call(f'{{"k": "{name}"}}', f"body of file {name}", tool="t") for name in "abc")
READ = call('{"path": "a.py"}', "def f(): return 1", tool="read_file")
EDIT = failing("old string not found", '{"old": "x"}', tool="edit_file")
TEST = failing("1 failed", '{"command": "pytest"}', tool="bash")
NOISE = ("in 0.12s at /tmp/x1 id 3f2a9c1b77aa", "in 1.05s at /tmp/y2 id 99ac01b7e0ff")


def scores(values: Iterable[dict[str, Any]]) -> list[float]:
    return [each["stuck"]["score"] for each in verdicts(values)]


def test_the_same_call_with_the_same_result() -> None:
    assert scores([call()] * 5) == [0, 2, 4, 6, 8]
    assert levels([call()] * 5) == "NWWLL"


def test_the_same_call_with_the_same_error() -> None:
    assert levels([failing()] * 4) == "NWLL"


def test_the_same_call_with_a_new_result_each_time_is_progress() -> None:
    assert levels(call(result=f"chunk {number} of 8192") for number in range(12)) == "N" * 12


def test_results_that_differ_only_in_noise_are_the_same() -> None:
    assert levels(call(result=f"3 passed {NOISE[number % 2]}") for number in range(4)) == "NWWL"


def test_a_number_and_the_same_number_as_text_are_one_argument() -> None:
    assert levels(call(['{"id": 61}', '{"id": "61"}'][number % 2]) for number in range(4)) == "NWWL"


def test_two_steps_of_one_tool_in_turns() -> None:
    assert levels([A, B] * 3) == "NNNWLL"
    assert scores([A, B] * 3) == [0, 0, 2, 4, 6, 8]
    assert [(each["rule"], each["period"]) for each in verdicts([A, B] * 3)[3:]] == [
        ("R2", 2),
        ("R7", None),
        ("R2", 2),
    ]


def test_two_steps_of_two_tools_in_turns() -> None:
    assert levels([A, READ] * 3) == "NNNWWL"
    assert scores([A, READ] * 3) == [0, 0, 1, 2, 3, 4]


def test_three_steps_of_one_tool_in_turns() -> None:
    assert levels([A, B, C] * 3) == "NNNNWLLLL"
    assert scores([A, B, C] * 2)[3:] == [2, 4, 6]


def test_three_steps_of_three_tools_in_turns() -> None:
    three = [A, READ, call(ROWS, ROWS, tool="search")]
    assert levels(three * 3) == "NNNNNWWLL"
    assert scores(three * 3)[7] == 5


def test_six_steps_of_one_tool_in_turns() -> None:
    six = [call(f'{{"k": "{name}"}}', f"body of file {name}", tool="t") for name in "abcdef"]
    assert levels(six * 2) == "N" * 8 + "WWLL"
    assert {each["rule"] for each in verdicts(six * 2)[8:]} == {"R7"}


def test_read_failing_edit_failing_test() -> None:
    assert levels([READ, EDIT, TEST] * 3) == "NNNNNWWLL"


def test_a_new_edit_before_each_failing_test_is_work_for_six_tests() -> None:
    edits = [call(f'{{"new": "{number}"}}', "ok", tool="edit_file") for number in range(7)]
    blocks = verdicts([record for edit in edits for record in (edit, TEST)])
    assert [each["level"] for each in blocks] == ["NORMAL"] * 13 + ["WARNING"]
    assert [each["stuck"]["score"] for each in blocks[11::2]] == [2.5, 3.0]


def test_the_same_error_for_new_arguments() -> None:
    values = [failing("old string not found", f'{{"old": "v{n}"}}', tool="edit_file") for n in range(7)]
    assert levels(values) == levels(values, **SINGLE_RULES) == "NNNWWLL"
    assert verdicts(values)[-1]["rule"] == "R7"
    assert verdicts(values, **SINGLE_RULES)[-1]["rule"] == "R3"


def test_the_same_rows_for_each_reworded_search() -> None:
    values = [call(f'{{"q": "wording {n}"}}', ROWS, tool="search") for n in range(6)]
    assert levels(values) == "NNNWLL"
    assert verdicts(values)[-1]["rule"] == "R4"


def test_ten_shared_words_and_one_new_in_arguments_and_results() -> None:
    values = [call(f'{{"q": "{WORDS} w{n}"}}', f"{WORDS} r{n}", tool="search") for n in range(7)]
    assert levels(values) == "NNNWWLL"
    assert verdicts(values)[-1]["rule"] == "R5"


def test_a_rate_limit_is_not_judged() -> None:
    blocks = verdicts([failing("429 Too Many Requests")] * 6)
    assert [(each["visible"], each["why"], each["infra_streak"]) for each in blocks] == [
        (False, "infrastructure", number) for number in range(1, 7)
    ]


@pytest.mark.parametrize(("every_ms", "expected"), [(60_000, "NNNNNN"), (59_999, "NWWLLL")])
def test_polling_is_told_from_a_loop_by_its_pace(every_ms: int, expected: str) -> None:
    assert levels([call()] * 6, every_ms) == expected


def test_failing_slowly_is_no_polling() -> None:
    assert levels([failing()] * 3, every_ms=300_000) == "NWL"


def test_the_same_failure_soon_after_keeps_the_episode_open() -> None:
    values = [failing()] * 3 + [other(1), other(2)] + [failing()] * 2
    assert levels(values) == "NWLLLLL"
    assert (verdicts(values)[5]["rule"], scores(values)[5]) == ("R7", 3.0)


def test_the_same_failure_after_recovery_reopens_the_episode() -> None:
    values = [failing()] * 3 + [other(1), other(2), other(3)] + [failing()] * 2
    assert levels(values) == "NWLLLNNW"
    assert phases(values) == [(2, "opened"), (3, "escalated"), (6, "recovered"), (8, "opened")]
    first, *_, again = episodes(values)
    assert (first["reopened"], again["reopened"]) == (False, True)
    assert again["episode_id"] == first["episode_id"]


def test_an_episode_says_what_was_spent_since_its_first_record() -> None:
    def spending(number: int) -> dict[str, Any]:
        return {"tokens_consumed": 100, "cumulative_session_cost": number / 10}

    opened, event = episodes(call(delta=spending(number)) for number in range(1, 5))
    assert (opened["at"], opened["tokens_since_onset"]) == (2, 100)
    assert (event["at"], event["phase"], event["count"]) == (4, "escalated", 4)
    assert (event["tokens_since_onset"], event["cost_since_onset"]) == (300, 0.3)

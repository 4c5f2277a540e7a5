"""The golden examples of specification 6.9, under the default settings."""

from typing import Any

import pytest

from tests.unit.detectors.verdict.sequences import (
    ROWS,
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


def test_the_same_call_with_the_same_result() -> None:
    assert levels([call()] * 5) == "NNWLL"


def test_the_same_call_with_the_same_error() -> None:
    assert levels([failing()] * 4) == "NWLL"


def test_the_same_call_with_a_new_result_each_time_is_progress() -> None:
    assert levels(call(result=f"chunk {number} of 8192") for number in range(12)) == "N" * 12


def test_results_that_differ_only_in_noise_are_the_same() -> None:
    assert levels(call(result=f"3 passed {NOISE[number % 2]}") for number in range(4)) == "NNWL"


def test_two_steps_in_turns() -> None:
    assert levels([A, B] * 3) == "NNNWWL"
    assert {(each["rule"], each["period"]) for each in verdicts([A, B] * 3)[3:]} == {("R2", 2)}


def test_three_steps_in_turns() -> None:
    assert levels([A, B, C] * 3) == "NNNNNWWWL"


def test_read_failing_edit_failing_test() -> None:
    assert levels([READ, EDIT, TEST] * 3) == "NNNNNWWWL"


def test_a_new_edit_before_each_failing_test_is_work() -> None:
    edits = (
        call(f'{{"new": "{number}"}}', f"edit {number} applied", tool="edit_file") for number in range(6)
    )
    blocks = verdicts([record for edit in edits for record in (edit, TEST)])
    assert {each["level"] for each in blocks} == {"NORMAL"}


def test_the_same_error_for_new_arguments() -> None:
    values = [failing("old string not found", f'{{"old": "v{n}"}}', tool="edit_file") for n in range(7)]
    assert levels(values) == "NNNWWLL"
    assert verdicts(values)[-1]["rule"] == "R3"


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


@pytest.mark.parametrize(("every_ms", "expected"), [(60_000, "NNNNNN"), (59_999, "NNWLLL")])
def test_polling_is_told_from_a_loop_by_its_pace(every_ms: int, expected: str) -> None:
    assert levels([call()] * 6, every_ms) == expected


def test_failing_slowly_is_no_polling() -> None:
    assert levels([failing()] * 3, every_ms=300_000) == "NWL"


def test_the_same_failure_after_recovery_reopens_the_episode() -> None:
    values = [failing()] * 3 + [other(1), other(2)] + [failing()] * 2
    assert levels(values) == "NWLLLNW"
    assert phases(values) == [(2, "opened"), (3, "escalated"), (6, "recovered"), (7, "opened")]
    first, *_, again = episodes(values)
    assert (first["reopened"], again["reopened"]) == (False, True)
    assert again["episode_id"] == first["episode_id"]


def test_an_episode_says_what_was_spent_since_its_first_record() -> None:
    def spending(number: int) -> dict[str, Any]:
        return {"tokens_consumed": 100, "cumulative_session_cost": number / 10}

    event = episodes(call(delta=spending(number)) for number in range(1, 5))[-1]
    assert (event["at"], event["phase"], event["count"]) == (4, "escalated", 4)
    assert (event["tokens_since_onset"], event["cost_since_onset"]) == (300, 0.3)

"""The golden examples of specification 6.9, under the default settings."""

from itertools import islice
from typing import Any

import pytest

from tests.unit.core.detectors.verdict.sequences import (
    ROWS,
    WORDS,
    by_person,
    call,
    circle,
    command,
    episodes,
    failing,
    in_rounds,
    kinds,
    levels,
    new,
    other,
    phases,
    raws,
    scores,
    text,
    verdicts,
)

A, B, C = (call(f'{{"k": "{name}"}}', f"body of file {name}", tool="t") for name in "abc")
READ = call('{"path": "a.py"}', "def f(): return 1", tool="read_file")
SEARCH = call('{"q": "customers"}', ROWS, tool="search")
EDIT = failing("old string not found", '{"old": "x"}', tool="edit_file")
TEST = failing("1 failed", '{"command": "pytest"}', tool="bash")
NOISE = ("in 0.12s at /tmp/x1 id 3f2a9c1b77aa", "in 1.05s at /tmp/y2 id 99ac01b7e0ff")


def test_the_same_call_with_the_same_result() -> None:
    assert levels([call()] * 5) == "NNWLL"
    assert scores([call()] * 5) == [0, 2, 4, 6, 8]


def test_the_same_call_with_the_same_error() -> None:
    assert levels([failing()] * 4) == "NNWL"


def test_the_same_call_with_a_new_result_each_time_is_progress() -> None:
    assert levels(call(result=f"chunk {number} of 8192") for number in range(12)) == "N" * 12


def test_results_that_differ_only_in_noise_are_the_same() -> None:
    assert levels(call(result=f"3 passed {NOISE[number % 2]}") for number in range(4)) == "NNWL"


def test_a_number_and_the_same_number_as_text_are_one_argument() -> None:
    assert levels(call(['{"id": 61}', '{"id": "61"}'][number % 2]) for number in range(4)) == "NNWL"


def test_the_same_text_without_a_tool() -> None:
    assert levels([text("thinking about the next step")] * 4) == "NNWL"


def test_an_action_again_that_was_only_acknowledged() -> None:
    values = [call('{"at": "next"}', "clicked", tool="click")] * 11
    assert levels(values) == "NNNNNNWWWWL"
    assert scores(values) == [0.5 * number for number in range(11)]


def test_the_same_edit_again() -> None:
    assert levels([call('{"new": "v"}', "ok", tool="edit_file")] * 4) == "NNWL"


def test_two_steps_of_one_tool_in_turns() -> None:
    assert levels([A, B] * 3) == "NNNWLL"
    assert scores([A, B] * 3) == [0, 0.5, 2.5, 4.5, 6.5, 8]
    assert [(each["rule"], each["period"]) for each in verdicts([A, B] * 3)[3:]] == [
        ("R2", 2),
        ("R7", None),
        ("R2", 2),
    ]


def test_two_steps_of_two_tools_in_turns() -> None:
    assert levels([A, READ] * 3) == "NNNWWL"
    assert scores([A, READ] * 3) == [0, 0, 1.5, 3, 4.5, 6]


def test_three_steps_of_one_tool_in_turns() -> None:
    assert levels([A, B, C] * 3) == "NNNWLLLLL"
    assert scores([A, B, C] * 2) == [0, 0.5, 1, 3, 5, 7]


def test_three_steps_of_three_tools_in_turns() -> None:
    assert levels([A, READ, SEARCH] * 3) == "NNNNWWLLL"
    assert scores([A, READ, SEARCH] * 2) == [0, 0, 0, 1.5, 3, 4.5]


def test_six_steps_of_one_tool_in_turns() -> None:
    six = [call(f'{{"k": "{name}"}}', f"body of file {name}", tool="t") for name in "abcdef"]
    assert levels(six * 2) == "NNNNNNWLLLLL"


def test_forty_steps_round_and_round_are_seen_when_the_second_and_the_third_round_is_complete() -> None:
    blocks = verdicts(islice(circle(40), 121))
    assert [each["level"] for each in blocks] == ["NORMAL"] * 79 + ["WARNING"] * 40 + ["LOOP"] * 2
    assert {(each["rule"], each["period"]) for each in blocks[79:]} == {("R2", 40)}


def test_read_failing_edit_failing_test() -> None:
    assert levels([READ, EDIT, TEST] * 3) == "NNNNWLLLL"


def test_a_new_edit_before_each_failing_test_is_work_for_eleven_tests() -> None:
    edits = [call(f'{{"new": "{number}"}}', "ok", tool="edit_file") for number in range(20)]
    blocks = verdicts([record for edit in edits for record in (edit, TEST)])
    after_tests = [each["level"] for each in blocks[1::2]]
    assert after_tests == ["NORMAL"] * 11 + ["WARNING"] * 8 + ["LOOP"]
    assert [each["stuck"]["score"] for each in blocks[21::2]][:2] == [2.75, 3.0]


def test_the_same_error_for_new_arguments() -> None:
    values = [failing("old string not found", f'{{"old": "v{n}"}}', tool="edit_file") for n in range(7)]
    assert levels(values) == "NNNWLLL"


def test_the_same_rows_for_each_reworded_search() -> None:
    values = [call(f'{{"q": "wording {n}"}}', ROWS, tool="search") for n in range(11)]
    assert levels(values) == "NNNNNNWWWWL"


def test_a_new_word_in_each_result_is_no_loop() -> None:
    values = [call(f'{{"q": "{WORDS} w{n}"}}', f"{WORDS} r{n}", tool="search") for n in range(12)]
    assert levels(values) == "N" * 12


def test_searches_that_find_nothing_are_free_for_nine() -> None:
    values = [call(f'{{"q": "v{n}"}}', "No files found", tool="glob") for n in range(19)]
    assert levels(values) == "N" * 14 + "WWWW" + "L"


def test_calls_that_are_refused_each_in_other_words() -> None:
    values = [failing(f"hook denied: rule r{n} of s{n}", f'{{"command": "deploy {n}"}}') for n in range(6)]
    assert levels(values) == "NNNWWL"


def test_a_rate_limit_is_not_judged() -> None:
    blocks = verdicts([failing("429 Too Many Requests")] * 6)
    assert [(each["visible"], each["why"], each["infra_streak"]) for each in blocks] == [
        (False, "infrastructure", number) for number in range(1, 7)
    ]


@pytest.mark.parametrize(("every_ms", "expected"), [(60_000, "NNNNNN"), (59_999, "NNWLLL")])
def test_polling_is_told_from_a_loop_by_its_pace(every_ms: int, expected: str) -> None:
    assert levels([call()] * 6, every_ms) == expected


@pytest.mark.parametrize(("every_ms", "expected"), [(300_000, "NNWL"), (600_000, "NNNN")])
def test_failing_slowly_is_a_loop_up_to_a_point(every_ms: int, expected: str) -> None:
    assert levels([failing()] * 4, every_ms) == expected


def test_sleeping_is_counted_by_time() -> None:
    assert levels([command("sleep 300", "")] * 13, 300_000) == "NN" + "W" * 10 + "L"


def test_the_same_call_after_a_person_spoke_is_another_matter() -> None:
    values = [call()] * 3 + [by_person(call())] + [call()] * 2
    assert raws(values) == "NNWNNW"
    assert kinds(values)[3:] == ["first", "again", "again"]


def test_the_same_round_again_and_again() -> None:
    assert levels(in_rounds([failing()] * 12, calls=3)) == "NNNNNNWWWLLL"


def test_a_round_that_brings_anything_new_is_no_repetition() -> None:
    values = [record for number in range(8) for record in (new(number), call())]
    assert levels(in_rounds(values, calls=2)) == "N" * 16


def test_the_same_failure_soon_after_keeps_the_episode_open() -> None:
    values = [failing()] * 3 + [other(1), other(2)] + [failing()] * 2
    assert levels(values) == "NNWWWWL"
    assert scores(values) == [0, 2, 4, 3.5, 3, 4.5, 6.5]


def test_the_same_failure_after_recovery_reopens_the_episode() -> None:
    errors = [failing("old string not found", f'{{"old": "v{n}"}}', tool="edit_file") for n in range(6)]
    values = [*errors[:4], new(1), new(2), new(3), *errors[4:]]
    assert levels(values) == "NNNWWWNNW"
    assert scores(values) == [0, 1.25, 2.5, 3.75, 2.75, 1.75, 0.75, 2, 3.25]
    assert phases(values) == [(4, "opened"), (7, "recovered"), (9, "opened")]
    first, _, again = episodes(values)
    assert (first["reopened"], again["reopened"]) == (False, True)
    assert again["episode_id"] == first["episode_id"]


def test_an_episode_says_what_was_spent_since_its_first_record() -> None:
    def spending(number: int) -> dict[str, Any]:
        return {"tokens_consumed": 100, "cumulative_session_cost": number / 10}

    opened, event = episodes(call(delta=spending(number)) for number in range(1, 5))
    assert (opened["at"], opened["tokens_since_onset"]) == (3, 200)
    assert (event["at"], event["phase"], event["count"]) == (4, "escalated", 4)
    assert (event["tokens_since_onset"], event["cost_since_onset"]) == (300, 0.3)

"""What R7 makes of work that looks stuck, and of loops that look like work; docs/detection.md says it too."""

from typing import Any

import pytest

from tests.unit.core.detectors.verdict.sequences import call, command, failing, kinds, levels, new, scores

ABSENT = "no such customer was found in the archive of this year"


class TestABatchOfLookUpsWithOneFixedAnswer:
    """Each look-up is new, its answer is not: half a point each."""

    def test_the_score_warns_at_the_7th_and_loops_at_the_11th(self) -> None:
        batch = [call(f'{{"id": {number}}}', ABSENT) for number in range(11)]
        assert levels(batch) == "NNNNNNWWWWL"
        assert kinds(batch) == ["first"] + ["old_result"] * 10

    def test_one_answer_of_another_kind_takes_one_back_that_is_one_of_few_words_half(self) -> None:
        batch = [call(f'{{"id": {number}}}', ABSENT) for number in range(6)]
        assert scores([*batch, new(1)])[-2:] == [2.5, 1.5]
        assert scores([*batch, call('{"id": 77}', "Ada Lovelace")])[-2:] == [2.5, 2.0]

    @pytest.mark.parametrize("answer", ["no rows", "not found", "none"])
    def test_a_short_answer_is_free_for_nine(self, answer: str) -> None:
        batch = [call(f'{{"id": {number}}}', answer) for number in range(40)]
        assert levels(batch) == "N" * 14 + "WWWW" + "L" * 22
        assert kinds(batch)[:10] == ["first", *["echo"] * 8, "nothing_found"]

    def test_a_number_is_an_answer(self) -> None:
        batch = [call(f'{{"id": {number}}}', f"{number * 317} rows") for number in range(40)]
        assert levels(batch) == "N" * 40

    def test_the_acknowledgement_of_an_action_adds_nothing(self) -> None:
        batch = [
            call(f'{{"id": {number}}}', "the row was updated", tool="update_row") for number in range(40)
        ]
        assert levels(batch) == "N" * 40
        assert set(kinds(batch)[1:]) == {"acted"}

    def test_nor_does_a_command_that_answers_nothing(self) -> None:
        batch = [command(f"python job.py {number}", "") for number in range(40)]
        assert levels(batch) == "N" * 40

    def test_a_tool_that_no_word_tells_counts_as_one_that_answers(self) -> None:
        batch = [
            call(f'{{"id": {number}}}', "the row was updated", tool="frobnicate") for number in range(11)
        ]
        assert levels(batch) == "NNNNNNWWWWL"

    def test_a_batch_that_fails_alike_is_a_loop_of_errors(self) -> None:
        batch = [failing(ABSENT, f'{{"id": {number}}}') for number in range(6)]
        assert levels(batch) == "NNNWLL"


class TestPolling:
    CHECK = call('{"job": 7}', "the state of job seven is green", tool="get_job")
    SLEEP = command("sleep 5", "")

    def test_a_minute_between_checks_adds_nothing(self) -> None:
        assert kinds([self.CHECK] * 5, 60_000) == ["first"] + ["apart"] * 4

    def test_nor_does_any_time_from_check_to_check_with_a_sleep_between(self) -> None:
        turns = [self.CHECK, self.SLEEP] * 6
        assert levels(turns, 1_000) == "N" * 12
        assert kinds(turns, 1_000)[2:] == ["apart", "waiting"] * 5

    def test_checks_without_a_sleep_count_like_any_repeated_call(self) -> None:
        assert levels([self.CHECK] * 4, 59_999) == "NNWL"

    def test_the_policies_exempt_them(self) -> None:
        checks = [self.CHECK] * 9
        assert levels(checks, tool_policies={"get_job": {"mode": "polling"}}) == "N" * 9
        assert (
            levels(checks, tool_policies={"get_job": {"mode": "limits", "warn": 20, "loop": 30}}) == "N" * 9
        )
        assert levels(checks, tool_policies={"get_job": {"mode": "exempt"}}) == "N" * 9

    def test_a_check_that_fails_is_polling_from_ten_minutes_on(self) -> None:
        gone = failing("the job is gone", tool="get_job")
        assert levels([gone] * 4, 599_999) == "NNWL"
        assert levels([gone] * 4, 600_000) == "NNNN"


class TestANewEditBeforeEachRunOfOneFailingTest:
    TEST = failing("1 failed, 8 passed", '{"command": "pytest"}', tool="bash")

    def turns(self, times: int, answer: str) -> list[dict[str, Any]]:
        edits = [
            call(f'{{"new": "{number}"}}', answer.format(number), tool="edit_file") for number in range(times)
        ]
        return [record for edit in edits for record in (edit, self.TEST)]

    def test_it_warns_at_the_12th_run_if_edits_are_only_acknowledged(self) -> None:
        turns = self.turns(12, "ok")
        assert levels(turns) == "N" * 23 + "W"
        assert set(kinds(turns)[3::2]) == {"back_changed"}

    def test_edits_with_answers_of_their_own_take_it_back(self) -> None:
        turns = self.turns(30, "line{0} of module{0} now reads it from table{0} at start{0}")
        assert levels(turns) == "N" * 60

    def test_a_failed_edit_changes_nothing_so_the_test_is_a_plain_return(self) -> None:
        edit = failing("old string not found", '{"old": "x"}', tool="edit_file")
        assert kinds([edit, self.TEST] * 2)[2:] == ["back", "back"]


class TestAnAgentThatReportsNoArguments:
    def test_results_that_differ_keep_the_score_at_0(self) -> None:
        calls = [call("", f"page {number} of the manual") for number in range(30)]
        assert set(kinds(calls)) == {"first", "again_other"}
        assert scores(calls) == [0] * 30

    def test_without_results_too_two_calls_in_a_row_look_like_one_made_twice(self) -> None:
        assert levels([call("", None)] * 4) == "NNWL"

    def test_two_tools_in_turns_look_like_a_return_to_each(self) -> None:
        turns = [call("", None, tool=name) for name in ("read", "grep")] * 8
        assert set(kinds(turns)[2:]) == {"back_trivial"}
        assert levels(turns, verdict_rules=["R7"]) == "N" * 7 + "W" * 4 + "L" * 5

    def test_an_exempt_tool_is_left_alone(self) -> None:
        assert levels([call("", None)] * 9, tool_policies={"get_user": {"mode": "exempt"}}) == "N" * 9


class TestWhatIsNotSeen:
    def test_an_answer_with_new_words_each_time_is_work_whatever_it_says(self) -> None:
        turns = [call(result=f"still nothing{n} here{n} again{n} today{n}") for n in range(30)]
        assert levels(turns) == "N" * 30

    def test_a_return_that_always_comes_with_new_work_is_none(self) -> None:
        turns = [record for n in range(12) for record in (new(2 * n), new(2 * n + 1), call())]
        assert levels(turns) == "N" * 36

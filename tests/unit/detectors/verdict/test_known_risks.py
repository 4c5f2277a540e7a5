"""What R7 makes of work that looks stuck, and of loops that look like work; docs/detection.md says it too."""

from typing import Any

import pytest

from tests.unit.detectors.verdict.sequences import call, failing, levels, verdicts

ABSENT = "no such customer was found in the archive of this year"
ALONE = {"verdict_rules": ["R7"]}


def kinds(values: list[dict[str, Any]], every_ms: int = 1000, **settings: Any) -> list[str]:
    return [each["stuck"]["kind"] for each in verdicts(values, every_ms, **settings)]


def scores(values: list[dict[str, Any]], every_ms: int = 1000, **settings: Any) -> list[float]:
    return [each["stuck"]["score"] for each in verdicts(values, every_ms, **settings)]


class TestABatchOfLookUpsWithOneFixedAnswer:
    """Each look-up is new, its answer is not: half a point each."""

    def test_the_score_warns_at_the_7th_and_loops_at_the_11th(self) -> None:
        batch = [call(f'{{"id": {number}}}', ABSENT) for number in range(11)]
        assert levels(batch, **ALONE) == "NNNNNNWWWWL"
        assert kinds(batch) == ["first"] + ["old_result"] * 10

    def test_r4_reports_it_before(self) -> None:
        batch = [call(f'{{"id": {number}}}', ABSENT) for number in range(6)]
        assert levels(batch) == "NNNWLL"

    def test_one_answer_of_another_kind_takes_two_back(self) -> None:
        batch = [call(f'{{"id": {number}}}', ABSENT) for number in range(6)]
        found = call('{"id": 77}', "Ada Lovelace, born in 1815")
        assert scores([*batch, found]) == [0, 0.5, 1, 1.5, 2, 2.5, 1.5]

    @pytest.mark.parametrize("answer", ["not found", "the record was not updated", "ok"])
    def test_a_short_answer_adds_nothing(self, answer: str) -> None:
        batch = [call(f'{{"id": {number}}}', answer) for number in range(40)]
        assert levels(batch, **ALONE) == "N" * 40

    @pytest.mark.parametrize("tool", ["write_file", "bash"])
    def test_nor_does_the_answer_of_a_tool_that_writes_or_runs(self, tool: str) -> None:
        batch = [call(f'{{"id": {number}}}', ABSENT, tool=tool) for number in range(40)]
        assert levels(batch) == "N" * 40

    def test_a_batch_that_fails_alike_is_a_loop_of_errors(self) -> None:
        batch = [failing(ABSENT, f'{{"id": {number}}}') for number in range(6)]
        assert levels(batch) == "NNNWWL"


class TestPolling:
    CHECK = call('{"job": 7}', "the job is still running", tool="get_job")
    SLEEP = call('{"seconds": 30}', "slept", tool="sleep")

    def test_a_minute_between_checks_adds_nothing(self) -> None:
        assert kinds([self.CHECK] * 5, 60_000) == ["first"] + ["apart"] * 4

    def test_nor_does_a_minute_from_check_to_check_with_a_sleep_between(self) -> None:
        turns = [self.CHECK, self.SLEEP] * 6
        assert levels(turns, 30_000) == "N" * 12
        assert set(kinds(turns, 30_000)[2:]) == {"apart"}

    def test_faster_checks_count_like_any_return(self) -> None:
        assert levels([self.CHECK, self.SLEEP] * 4, 29_999) == "NNNWWLLL"

    def test_the_policies_exempt_them(self) -> None:
        turns = [self.CHECK, self.SLEEP] * 6
        assert levels(turns, tool_policies={"get_job": {"mode": "polling"}}) == "N" * 12
        exempt = {"sleep": {"mode": "exempt"}, "get_job": {"mode": "limits", "warn": 20, "loop": 30}}
        assert levels(turns, tool_policies=exempt) == "N" * 12

    def test_a_check_that_fails_is_no_polling_however_slow(self) -> None:
        assert levels([failing("the job is gone", tool="get_job")] * 3, 300_000) == "NWL"


class TestANewEditBeforeEachRunOfOneFailingTest:
    TEST = failing("1 failed, 8 passed", '{"command": "pytest"}', tool="bash")

    def turns(self, times: int, answer: str) -> list[dict[str, Any]]:
        edits = [
            call(f'{{"new": "{number}"}}', answer.format(number), tool="edit_file") for number in range(times)
        ]
        return [record for edit in edits for record in (edit, self.TEST)]

    def test_it_warns_at_the_7th_run_if_edits_answer_with_little(self) -> None:
        turns = self.turns(11, "ok")
        assert levels(turns) == "N" * 13 + "W" * 8 + "L"
        assert set(kinds(turns)[3::2]) == {"back_changed"}

    def test_edits_with_answers_of_their_own_take_it_back(self) -> None:
        turns = self.turns(30, "line {} of the module now reads it at once")
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
        assert levels([call("", None)] * 4) == "NWWL"

    def test_two_tools_in_turns_look_like_a_return_to_each(self) -> None:
        turns = [call("", None, tool=name) for name in ("read", "grep")] * 8
        assert set(kinds(turns)[2:]) == {"back_trivial"}
        assert levels(turns, **ALONE) == "N" * 7 + "W" * 4 + "L" * 5

    def test_an_exempt_tool_is_left_alone(self) -> None:
        assert levels([call("", None)] * 9, tool_policies={"get_user": {"mode": "exempt"}}) == "N" * 9

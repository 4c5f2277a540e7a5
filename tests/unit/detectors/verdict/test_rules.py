"""Where the rules draw their lines (specification 6.2 to 6.6)."""

from typing import Any

import pytest

from tests.stream import Stream, block
from tests.unit.detectors.verdict.sequences import (
    ROWS,
    SINGLE_RULES,
    WORDS,
    call,
    failing,
    levels,
    other,
    raws,
    spread,
    verdicts,
)

POLLING = {"get_*": {"mode": "polling"}}


def near(number: int, **fields: Any) -> dict[str, Any]:
    return call(f'{{"q": "{WORDS} w{number}"}}', f"{WORDS} r{number}", **{"tool": "search", **fields})


class TestR1:
    def test_a_skipped_call_is_not_the_call_that_succeeded(self) -> None:
        assert raws([call(), call(status="skipped")] * 2, **SINGLE_RULES)[:3] == "NNN"

    def test_a_session_without_tools_repeats_its_intent(self) -> None:
        assert levels([call(tool=None, intent="thinking about it", result=None)] * 4) == "NWWL"

    def test_the_count_is_not_capped_by_the_window(self) -> None:
        assert verdicts([call()] * 40, verdict_window=6)[-1]["run"] == 40

    @pytest.mark.parametrize(
        ("policy", "expected"),
        [
            ({"mode": "polling"}, "N" * 9 + "W" * 10 + "L"),
            ({"mode": "polling", "loop": 5}, "N" * 9 + "L" * 11),
            ({"mode": "polling", "warn": 3}, "NN" + "W" * 17 + "L"),
            ({"mode": "limits", "warn": 5, "loop": 7}, "NNNNWW" + "L" * 14),
        ],
    )
    def test_a_policy_has_limits_of_its_own(self, policy: dict[str, Any], expected: str) -> None:
        policies = {"GET_NONE": policy, "get_*": policy}
        assert raws([call()] * 20, tool_policies=policies) == expected

    def test_the_first_policy_that_matches_holds(self) -> None:
        policies = {"*": {"mode": "exempt"}, "get_user": {"mode": "limits", "warn": 2, "loop": 2}}
        assert raws([call()] * 3, tool_policies=policies) == "---"


class TestR2:
    def test_waiting_inside_the_cycle_is_no_loop(self) -> None:
        assert raws([other(1), other(2)] * 3, every_ms=30_000) == "N" * 6

    def test_a_failure_inside_the_cycle_makes_the_gap_no_excuse(self) -> None:
        assert raws([other(1), failing()] * 3, every_ms=30_000) == "NNNWWL"

    def test_a_polling_tool_takes_no_part(self) -> None:
        assert raws([call(), other(1)] * 3, tool_policies=POLLING) == "N" * 6

    def test_periods_above_the_setting_are_not_looked_for(self) -> None:
        cycle = [other(1), other(2), other(3)] * 3
        assert raws(cycle, cycle_max_period=2, **SINGLE_RULES) == "N" * 9

    def test_a_period_that_is_switched_on_counts_from_where_it_began(self) -> None:
        stream = Stream(cycle_max_period=2)
        *before, last = spread([other(1), other(2), other(3)] * 3)
        stream.run(before)
        stream.set(cycle_max_period=3)
        verdict = block(stream.scored(last), "verdict")
        assert (verdict["raw"], verdict["rule"], verdict["period"], verdict["count"]) == ("LOOP", "R2", 3, 3)

    def test_every_period_that_fired_is_listed_the_shortest_is_reported(self) -> None:
        verdict = verdicts([other(1), other(2)] * 4, **SINGLE_RULES)[-1]
        assert [(each["rule"], each["period"], each["count"]) for each in verdict["fired"]] == [
            ("R2", 2, 4),
            ("R2", 4, 2),
        ]
        assert (verdict["period"], verdict["count"]) == (2, 4)


class TestR3:
    def test_equal_calls_are_left_to_the_other_rules(self) -> None:
        values = [value for n in range(6) for value in (failing(), other(n))]
        assert raws(values, **SINGLE_RULES) == "N" * 12

    def test_it_needs_an_error_text(self) -> None:
        assert raws(failing("", f'{{"n": {n}}}') for n in range(6)) == "N" * 6

    def test_a_polling_tool_is_counted(self) -> None:
        values = [failing("no such key", f'{{"n": {n}}}', tool="get_key") for n in range(4)]
        assert raws(values, tool_policies=POLLING, **SINGLE_RULES) == "NNNW"

    def test_the_earlier_call_must_still_be_in_the_window(self) -> None:
        def calls(between: int) -> list[dict[str, Any]]:
            errors = [failing("no such key", f'{{"n": {n}}}') for n in range(4)]
            return [*errors[:3], *map(other, range(between)), errors[3]]

        assert raws(calls(4), verdict_window=6, **SINGLE_RULES)[-1] == "W"
        assert raws(calls(5), verdict_window=6, **SINGLE_RULES)[-1] == "N"


class TestR4:
    @pytest.mark.parametrize("tool", ["write_file", "bash"])
    def test_tools_that_change_or_run_something_are_left_out(self, tool: str) -> None:
        assert raws(call(f'{{"n": {n}}}', ROWS, tool=tool) for n in range(6)) == "N" * 6

    def test_only_records_of_kind_tool_have_a_class(self) -> None:
        assert raws(call(f'{{"n": {n}}}', ROWS, tool="bash", kind="mcp") for n in range(5)) == "NNNWL"

    @pytest.mark.parametrize(
        ("result", "fires"),
        [
            ("two words", False),
            ("now three words", True),
            ("the file was saved", False),
            ("saved " + " ".join(f"w{n}" for n in range(18)), False),
            ("saved " + " ".join(f"w{n}" for n in range(19)), True),
        ],
    )
    def test_a_trivial_result_says_nothing(self, result: str, fires: bool) -> None:
        assert (raws(call(f'{{"n": {n}}}', result) for n in range(4))[-1] == "W") is fires

    def test_a_skipped_call_may_stand_in_the_row(self) -> None:
        status = ("success", "skipped", "success", "skipped")
        assert raws(call(f'{{"n": {n}}}', ROWS, status=status[n]) for n in range(4)) == "NNNW"

    def test_equal_calls_of_different_status_are_equal_calls(self) -> None:
        status = ("success", "skipped", "skipped", "success")
        values = [call(result=ROWS, status=status[n]) for n in range(4)]
        assert raws(values, verdict_rules=["R4"]) == "NNNN"

    def test_waiting_ends_the_row(self) -> None:
        assert raws((call(f'{{"n": {n}}}', ROWS) for n in range(6)), every_ms=60_000) == "N" * 6


class TestR5:
    @pytest.mark.parametrize(
        "spoilt",
        [
            {"delta": {"progress_delta": 0.1}},
            {"delta": {"added_to_memory": ["a fact"]}},
            {"content_hash": "h1"},
            {"status": "skipped"},
            {"tool": "find"},
        ],
    )
    def test_one_record_that_differs_ends_the_row(self, spoilt: dict[str, Any]) -> None:
        values = [near(number, **(spoilt if number == 3 else {})) for number in range(6)]
        assert raws(values) == "N" * 6

    def test_a_record_that_made_progress_begins_no_row(self) -> None:
        values = [near(0, delta={"progress_delta": 0.1}), *map(near, range(1, 5))]
        assert raws(values) == "NNNNW"

    @pytest.mark.parametrize("fields", [{"delta": {"progress_delta": 0.0}}, {"content_hash": "h1"}])
    def test_no_progress_and_the_same_content_do_not_end_it(self, fields: dict[str, Any]) -> None:
        assert raws(near(number, **fields) for number in range(4)) == "NNNW"

    def test_a_long_content_hash_is_compared_whole(self) -> None:
        assert raws(near(number, content_hash="h" * 64) for number in range(4)) == "NNNW"
        assert raws(near(number, content_hash="h" * 64 + str(number)) for number in range(4)) == "NNNN"

    def test_it_needs_arguments(self) -> None:
        assert raws(call("", f"{WORDS} r{number}") for number in range(6)) == "N" * 6

    @pytest.mark.parametrize(("similarity", "last"), [(0.8333, "W"), (0.8334, "N")])
    def test_similarity_is_compared_as_it_is_rounded(self, similarity: float, last: str) -> None:
        def value(number: int) -> dict[str, Any]:
            return call(f'{{"q": "{WORDS} w{number}"}}', f"{WORDS} r{number}")

        # 10 shared of 12 results: 0.83333..., compared as 0.8333; arguments share 11 of 13.
        assert raws(map(value, range(4)), near_duplicate_similarity=similarity)[-1] == last


class TestSwitches:
    @pytest.mark.parametrize(("rules", "raw"), [([], "NNNN"), (["R1"], "NWWL"), (["R2", "R5"], "NNNN")])
    def test_a_rule_that_is_off_does_not_fire(self, rules: list[str], raw: str) -> None:
        assert raws([call()] * 4, verdict_rules=rules) == raw

    def test_a_rule_that_is_switched_on_counts_what_was_before(self) -> None:
        stream = Stream(verdict_rules=[])
        *before, last = spread([call()] * 4)
        stream.run(before)
        stream.set(verdict_rules=["R1"])
        assert block(stream.scored(last), "verdict")["raw"] == "LOOP"

    def test_the_run_is_reported_all_the_same(self) -> None:
        assert [each["run"] for each in verdicts([call()] * 3, verdict_rules=[])] == [1, 2, 3]


def in_rounds(values: list[dict[str, Any]], calls: int) -> list[dict[str, Any]]:
    """Put so many calls in a row into one round."""
    return [
        {**value, "meta": {**value["meta"], "round_id": f"m{number // calls}"}}
        for number, value in enumerate(values)
    ]


def test_calls_of_one_round_cannot_repeat_each_other() -> None:
    found = verdicts(in_rounds([call()] * 6, calls=6))
    assert {each["level"] for each in found} == {"NORMAL"}
    assert [each["why"] for each in found] == [None, *["round"] * 5]


def test_a_later_round_that_repeats_an_earlier_one_does() -> None:
    assert levels(in_rounds([failing()] * 9, calls=3)) == "NNNWWWLLL"


def test_rounds_of_one_call_are_judged_as_calls_without_a_round() -> None:
    assert levels(in_rounds([failing()] * 4, calls=1)) == levels([failing()] * 4) == "NWLL"

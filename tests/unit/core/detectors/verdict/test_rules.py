"""Where R1, R2 and R7 draw their lines (specification 6.2 to 6.6)."""

from typing import Any

import pytest

from tests.stream import Stream, block
from tests.unit.core.detectors.verdict.sequences import (
    call,
    command,
    failing,
    kinds,
    levels,
    new,
    other,
    points,
    raws,
    spread,
    text,
    verdicts,
    with_meta,
)

POLLING = {"get_*": {"mode": "polling"}}
ROWS_ALONE = {"verdict_rules": ["R1", "R2"]}
PROGRESS = {"progress_delta": 0.1}


class TestR1:
    def test_a_skipped_call_is_not_the_call_that_succeeded(self) -> None:
        assert [each["run"] for each in verdicts([call(), call(status="skipped")] * 2)] == [1] * 4

    def test_a_session_without_tools_repeats_its_intent(self) -> None:
        assert raws([text("thinking about it")] * 4, **ROWS_ALONE) == "NNWL"

    def test_the_count_is_not_capped_by_the_window(self) -> None:
        assert verdicts([call()] * 40, verdict_window=6)[-1]["run"] == 40

    def test_a_failure_has_limits_of_its_own(self) -> None:
        limits = {"identical_failing_warn": 2, "identical_failing_loop": 2, **ROWS_ALONE}
        assert raws([failing()] * 2, **limits) == "NL"
        assert raws([call()] * 2, **limits) == "NN"

    def test_an_action_that_was_acknowledged_is_given_patience(self) -> None:
        clicks = [call('{"at": "next"}', "clicked", tool="click")] * 20
        assert raws(clicks, **ROWS_ALONE) == "N" * 9 + "W" * 10 + "L"

    def test_the_same_text_written_again_is_not(self) -> None:
        edits = [call('{"new": "v"}', "ok", tool="edit_file")] * 4
        assert raws(edits, **ROWS_ALONE) == "NNWL"
        assert kinds(edits) == ["first", "again", "again", "again"]

    def test_an_action_that_failed_was_not_acknowledged(self) -> None:
        clicks = [failing("clicked nothing", '{"at": "next"}', tool="click")] * 4
        assert raws(clicks, **ROWS_ALONE) == "NNWL"

    @pytest.mark.parametrize("moved", [{"progress_delta": 0.1}, {"added_to_memory": ["a fact"]}])
    def test_a_record_that_moved_something_begins_a_new_run(self, moved: dict[str, Any]) -> None:
        values = [call()] * 3 + [call(delta=moved)] + [call()] * 2
        assert [each["run"] for each in verdicts(values)] == [1, 2, 3, 1, 2, 3]

    def test_new_content_of_the_target_is_a_move_and_the_first_content_is_none(self) -> None:
        hashes = (None, "h1", "h1", "h2", "h2")
        values = [call(**({} if each is None else {"content_hash": each})) for each in hashes]
        assert [each["run"] for each in verdicts(values)] == [1, 2, 3, 1, 2]

    def test_long_hashes_are_compared_whole(self) -> None:
        values = [call(content_hash="h" * 64 + end) for end in ("a", "a", "b")]
        assert [each["run"] for each in verdicts(values)] == [1, 2, 1]

    def test_a_pause_begins_a_new_run_and_the_next_call_goes_on_from_it(self) -> None:
        values = spread([call()] * 5)
        values[3:] = [with_meta(each, timestamp=each["meta"]["timestamp"] + 60_000) for each in values[3:]]
        assert [block(outcome, "verdict")["run"] for outcome in Stream().run(values)] == [1, 2, 3, 1, 2]

    def test_time_that_goes_back_is_no_pause(self) -> None:
        values = [
            with_meta(call(), timestamp=9_000_000 - 100_000 * number, round_id=f"m{number}")
            for number in (0, 1)
        ]
        assert [block(outcome, "verdict")["run"] for outcome in Stream().run(values)] == [1, 2]

    def test_a_policy_has_limits_of_its_own(self) -> None:
        policies = {
            "GET_NONE": {"mode": "limits", "warn": 2, "loop": 2},
            "get_*": {"mode": "limits", "warn": 5, "loop": 7},
        }
        assert raws([call()] * 8, tool_policies=policies, **ROWS_ALONE) == "NNNNWWLL"

    @pytest.mark.parametrize(
        ("policy", "expected"),
        [
            ({"mode": "polling"}, "N" * 9 + "W" * 10 + "L"),
            ({"mode": "polling", "loop": 5}, "N" * 9 + "L" * 11),
            ({"mode": "polling", "warn": 3}, "NN" + "W" * 17 + "L"),
        ],
    )
    def test_a_tool_that_polls_is_given_patience(self, policy: dict[str, Any], expected: str) -> None:
        assert raws([call()] * 20, tool_policies={"get_*": policy}) == expected

    def test_a_record_that_waits_by_itself_is_counted_by_time_alone(self) -> None:
        looks = verdicts([command("sleep 1", "")] * 25)
        assert {(each["raw"], each["run"]) for each in looks} == {("NORMAL", 1)}

    def test_the_first_policy_that_matches_holds(self) -> None:
        policies = {"*": {"mode": "exempt"}, "get_user": {"mode": "limits", "warn": 2, "loop": 2}}
        assert raws([call()] * 3, tool_policies=policies) == "---"


class TestR2:
    def test_waiting_inside_the_cycle_is_no_loop(self) -> None:
        assert raws([other(1), other(2)] * 3, every_ms=60_000) == "N" * 6

    def test_an_agent_whose_steps_take_half_a_minute_each_does_not_wait(self) -> None:
        assert raws([other(1), other(2)] * 3, every_ms=59_999, **ROWS_ALONE) == "NNNWWL"

    def test_a_failure_inside_the_cycle_makes_the_gap_no_excuse(self) -> None:
        assert raws([other(1), failing()] * 3, every_ms=60_000, **ROWS_ALONE) == "NNNWWL"
        assert raws([other(1), failing()] * 3, every_ms=600_000, **ROWS_ALONE) == "NNNNNN"

    def test_a_tool_that_waits_takes_no_part(self) -> None:
        assert raws([call(), other(1)] * 3, tool_policies=POLLING, **ROWS_ALONE) == "N" * 6

    def test_a_record_that_moved_something_breaks_the_cycle(self) -> None:
        values = [other(1), other(2), other(1), call('{"k": 2}', "r2", tool="look_at_2", delta=PROGRESS)]
        assert raws([*values, other(1), other(2)], **ROWS_ALONE) == "N" * 5 + "W"

    def test_periods_above_the_setting_are_not_looked_for(self) -> None:
        cycle = [other(1), other(2), other(3)] * 3
        assert raws(cycle, cycle_max_period=2, **ROWS_ALONE) == "N" * 9

    def test_a_period_that_is_switched_on_counts_from_where_it_began(self) -> None:
        stream = Stream(cycle_max_period=2)
        *before, last = spread([other(1), other(2), other(3)] * 3)
        stream.run(before)
        stream.set(cycle_max_period=3)
        verdict = block(stream.scored(last), "verdict")
        assert (verdict["raw"], verdict["rule"], verdict["period"], verdict["count"]) == ("LOOP", "R2", 3, 3)

    def test_every_period_that_fired_is_listed_the_shortest_is_reported(self) -> None:
        verdict = verdicts([other(1), other(2)] * 4, **ROWS_ALONE)[-1]
        assert [(each["rule"], each["period"], each["count"]) for each in verdict["fired"]] == [
            ("R2", 2, 4),
            ("R2", 4, 2),
        ]
        assert (verdict["period"], verdict["count"]) == (2, 4)


class TestR7:
    def test_it_fires_only_on_a_record_that_raises_the_score(self) -> None:
        found = verdicts([failing()] * 4 + [other(1)], verdict_rules=["R7"])
        assert [each["raw"] for each in found[2:]] == ["WARNING", "LOOP", "NORMAL"]
        assert found[-1]["stuck"]["score"] == 5.5

    def test_the_score_is_kept_while_it_is_off(self) -> None:
        stream = Stream(verdict_rules=[])
        *before, last = spread([call()] * 4)
        stream.run(before)
        stream.set(verdict_rules=["R7"])
        assert block(stream.scored(last), "verdict")["raw"] == "LOOP"

    def test_an_identical_call_of_a_tool_with_limits_adds_nothing(self) -> None:
        policies = {"get_*": {"mode": "limits", "warn": 50, "loop": 60}}
        assert points([call()] * 5, tool_policies=policies) == [0] * 5
        assert kinds([call()] * 5, tool_policies=policies) == ["first"] + ["again"] * 4

    def test_the_longest_time_between_neighbours_counts_not_the_distance(self) -> None:
        returning = [other(1), new(2), new(3), other(1)]
        assert kinds(returning, every_ms=59_999)[-1] == "back_trivial"
        assert kinds(returning, every_ms=60_000)[-1] == "apart"

    def test_a_failure_returns_across_a_longer_time(self) -> None:
        returning = [failing(), new(2), new(3), failing()]
        assert kinds(returning, every_ms=599_999)[-1] == "back"
        assert kinds(returning, every_ms=600_000)[-1] == "apart"

    def test_a_call_of_two_or_three_steps_before_counts_more_if_the_tool_stayed_the_same(self) -> None:
        a, b, c, d = (
            call(f'{{"q": "{letter}"}}', f"{letter}1 {letter}2 {letter}3 {letter}4") for letter in "abcd"
        )
        assert kinds([a, b, a])[-1] == "retry"
        assert kinds([a, b, c, a])[-1] == "retry"
        assert kinds([a, b, c, d, a])[-1] == "back"
        assert kinds([a, new(1), a])[-1] == "back"

    def test_what_was_done_in_between_makes_a_return_cheap(self) -> None:
        edit = call('{"new": "v"}', "ok", tool="edit_file")
        assert kinds([failing(), edit, failing()])[-1] == "back_changed"
        assert kinds([failing(), failing("no", '{"new": "v"}', tool="edit_file"), failing()])[-1] == "back"

    def test_an_action_that_itself_came_again_changes_nothing(self) -> None:
        edit = call('{"new": "v"}', "ok", tool="edit_file")
        assert kinds([edit, failing(), edit, failing()])[2:] == ["acknowledged_back", "back"]

    def test_a_return_with_progress_is_a_move(self) -> None:
        assert kinds([call(), call(delta=PROGRESS)]) == ["first", "moved"]

    def test_a_call_that_was_called_off_is_no_failure(self) -> None:
        off = failing("cancelled: sibling tool call errored", '{"n": 1}')
        assert kinds([other(1), off, off]) == ["first", "cancelled", "cancelled"]

    def test_a_result_that_hardly_differs_is_counted_and_one_that_differs_is_not(self) -> None:
        shared = " ".join(f"word{number}" for number in range(9))
        values = [call(result=f"{shared} at {number}") for number in range(3)]
        assert kinds(values) == ["first", "counted", "counted"]
        different = [call(result=" ".join(f"w{at}of{number}" for at in range(9))) for number in range(3)]
        assert kinds(different) == ["first", "again_other", "again_other"]

    def test_a_command_after_others_that_do_nothing_is_idle_from_the_fourth_on(self) -> None:
        idle = [call(f'{{"command": "echo {word}"}}', word, tool="bash") for word in "abcdef"]
        assert kinds([new(0), *idle]) == ["first", "echo", "echo", "echo", "idle", "idle", "idle"]

    def test_a_command_that_does_nothing_and_tells_something_begins_the_count_and_is_not_in_it(self) -> None:
        idle = [command(f"echo {word}", word) for word in "abcd"]
        found = kinds([new(0), command("pwd", "here there"), *idle])
        assert found == ["first", "few", "echo", "echo", "echo", "idle"]

    def test_a_new_result_makes_idle_commands_free_again(self) -> None:
        idle = [call(f'{{"command": "echo {word}"}}', word, tool="bash") for word in "abcdefgh"]
        assert kinds([*idle[:4], new(0), *idle[4:]])[3:] == ["idle", "new", "echo", "echo", "echo", "idle"]

    def test_a_result_of_which_nothing_was_captured_is_no_search_in_vain(self) -> None:
        values = [new(0), *(call(f'{{"q": {number}}}', None, tool="search") for number in range(20))]
        assert set(kinds(values)[1:]) == {"silent"}

    def test_text_after_text_counts_if_it_has_no_new_word(self) -> None:
        values = [text("one two three four"), text("four three two one"), text("five six seven eight")]
        assert kinds(values) == ["first", "said", "silent"]
        assert kinds([text("one two three"), text("three two one")]) == ["first", "silent"]

    def test_text_after_a_call_is_talk_about_it(self) -> None:
        assert kinds([text("one two three four"), new(1), text("four three two one")])[-1] == "silent"

    @pytest.mark.parametrize(
        ("words", "kind"),
        [
            ("w0 w1 w2 w3 w4 w5 w6 w7 w8", "old_result"),
            ("w8 w7 w6 w5 w4 w3 w2 w1", "old_words"),
            ("w5 w4 w3 w2", "like"),
            ("w0 w1 w2 w3 w4 new", "like"),
            ("w0 w1 w2 new newer", "few"),
            ("w0 new newer newest other", "new"),
            ("w0 new", "few"),
            ("w0 w1", "echo"),
        ],
    )
    def test_a_new_call_counts_by_how_much_of_its_answer_is_new(self, words: str, kind: str) -> None:
        first = call('{"q": "a"}', "w0 w1 w2 w3 w4 w5 w6 w7 w8", tool="search")
        assert kinds([first, call('{"q": "b"}', words, tool="search")])[-1] == kind

    @pytest.mark.parametrize(
        ("error", "kind"),
        [
            ("cannot find module alpha", "old_error"),
            ("alpha module find", "old_error"),
            ("disk full", "new_error"),
            ("", "silent"),
        ],
    )
    def test_a_new_call_that_fails_counts_by_whether_the_error_is_known(self, error: str, kind: str) -> None:
        first = failing("cannot find module alpha", '{"n": 1}')
        assert kinds([first, failing(error, '{"n": 2}')])[-1] == kind

    def test_an_action_with_a_new_error_counts_half(self) -> None:
        assert points([new(0), failing("disk full", '{"n": 2}', tool="edit_file")])[-1] == 0.5

    def test_a_refusal_is_remembered_for_eight_records(self) -> None:
        def refused(number: int) -> dict[str, Any]:
            return failing(f"permission denied for r{number} and s{number}", f'{{"n": {number}}}')

        def after(records: int) -> str:
            return kinds([refused(0), *map(new, range(records)), refused(1)])[-1]

        assert (after(7), after(8)) == ("refused_again", "new_error")

    def test_a_denial_counts_as_a_failure_though_the_call_did_not_fail(self) -> None:
        denied = [
            call(f'{{"n": {n}}}', f"BLOCKED: goal g{n} of team{n} is active", tool="deploy") for n in range(3)
        ]
        assert kinds(denied) == ["first", "refused_again", "refused_again"]

    def test_a_denial_because_of_another_step_is_not_remembered(self) -> None:
        denied = [
            call(f'{{"n": {n}}}', f"Rejected: it was cancelled by u{n} of v{n}", tool="deploy")
            for n in range(3)
        ]
        assert kinds(denied) == ["first", "new_error", "new_error"]

    def test_a_question_to_nobody_counts_half(self) -> None:
        asked = [failing("no human available to answer", f'{{"q": {n}}}', tool="ask_user") for n in range(3)]
        assert kinds(asked) == ["first", "absent_again", "absent_again"]
        assert points(asked) == [0, 0.5, 0.5]


class TestSwitches:
    @pytest.mark.parametrize(("rules", "raw"), [([], "NNNN"), (["R1"], "NNWL"), (["R2", "R9"], "NNNN")])
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

    def test_levels_are_those_of_the_highest_rule(self) -> None:
        assert levels([call()] * 4, identical_warn=2, identical_loop=9) == "NWWL"

"""Calls decided together are one step; a person's turn begins anew (specification 6.1, 6.5b)."""

from typing import Any

import pytest

from tests.unit.core.detectors.verdict.sequences import (
    at,
    by_person,
    call,
    command,
    episodes,
    failing,
    in_rounds,
    kinds,
    levels,
    new,
    phases,
    raws,
    scores,
    verdicts,
    with_meta,
)


def round_of(name: str, *values: dict[str, Any]) -> list[dict[str, Any]]:
    return [with_meta(value, round_id=name) for value in values]


class TestRounds:
    def test_calls_of_one_round_cannot_repeat_each_other(self) -> None:
        found = verdicts(in_rounds([call()] * 6, calls=6))
        assert {each["level"] for each in found} == {"NORMAL"}
        assert [each["why"] for each in found] == [None, *["round"] * 5]

    def test_a_later_round_that_repeats_an_earlier_one_does(self) -> None:
        assert raws(in_rounds([failing()] * 12, calls=3)) == "N--N--W--L--"

    def test_rounds_of_one_call_are_judged_as_calls_without_a_round(self) -> None:
        assert levels(in_rounds([failing()] * 4, calls=1)) == levels([failing()] * 4) == "NNWL"

    def test_the_same_two_calls_in_each_round_are_counted_once_a_round(self) -> None:
        values = in_rounds([call(), failing()] * 4, calls=2)
        assert scores(values) == [0, 2, 4, 6]

    def test_the_same_call_twice_in_each_round_is_counted_once_a_round(self) -> None:
        assert scores(in_rounds([call()] * 8, calls=2)) == [0, 2, 4, 6]

    def test_the_round_counts_as_the_call_of_it_that_brings_most(self) -> None:
        values = [call(), *round_of("m1", call(), new(1)), *round_of("m2", call())]
        # Where the score stood before the round, and one lower: 0, then back to the call two records before.
        assert scores(values) == [0, 2, 2]
        assert kinds(values) == ["first", "again", "round", "retry"]

    def test_a_round_without_an_id_counts_as_the_call_that_brings_most_too(self) -> None:
        values = [at(0, call()), at(1, call()), at(2, call()), at(1.5, new(1)), at(3, new(2))]
        assert kinds(values, 0) == ["first", "again", "again", "round", "new"]
        # 2 before the round, 1.5 after it (few words are new), then lower again.
        assert scores(values, 0) == [0, 2, 4, 1]

    def test_one_that_ended_before_the_newest_is_of_its_round(self) -> None:
        values = [at(2, call()), at(1, call()), at(3, call())]
        assert kinds(values, 0) == ["first", "round", "again"]

    def test_all_that_ended_before_the_first_that_was_reported_are_of_its_round(self) -> None:
        values = [at(3, call()), at(1, failing()), at(2, new(1))]
        assert kinds(values, 0) == ["first", "round", "round"]

    def test_where_rounds_are_known_time_that_goes_back_says_nothing(self) -> None:
        values = [*round_of("m1", at(2, call())), *round_of("m2", at(1, call()))]
        assert kinds(values, 0) == ["first", "again"]

    def test_a_record_without_a_round_after_one_with_is_of_another(self) -> None:
        assert kinds([*round_of("m1", call()), call()]) == ["first", "again"]

    def test_rows_are_counted_over_the_first_of_each_round(self) -> None:
        values = [record for _ in range(4) for record in (call(), failing())]
        assert [each["run"] for each in verdicts(in_rounds(values, calls=2))[::2]] == [1, 2, 3, 4]

    def test_a_further_call_that_brings_something_ends_the_row(self) -> None:
        values = [record for number in range(5) for record in (call(), new(number))]
        found = verdicts(in_rounds([new(98), new(99), *values], calls=2))
        assert [each["run"] for each in found[::2]] == [1] * 6
        assert {each["level"] for each in found} == {"NORMAL"}

    def test_a_further_call_that_brings_something_ends_cycles_and_circles(self) -> None:
        for steps in (2, 6):
            values = [
                record for number in range(4 * steps) for record in (new(number % steps), new(50 + number))
            ]
            assert set(raws(in_rounds(values, calls=2), verdict_rules=["R2"])) == {"N", "-"}

    def test_what_a_further_call_of_a_round_told_is_known_later(self) -> None:
        values = [*round_of("m1", new(1), new(2)), new(2)]
        assert kinds(values) == ["first", "round", "again"]

    def test_cycles_take_the_time_from_the_first_of_a_round_to_the_first_of_the_next(self) -> None:
        first, second = [(new(1), call()), (new(2), failing())]
        values = [
            with_meta(at(70 * number + 50 * place, value), round_id=f"m{number}")
            for number, pair in enumerate([first, second] * 2)
            for place, value in enumerate(pair)
        ]
        assert raws(values, 0, verdict_rules=["R2"]) == "N-N-N-N-"

    def test_a_further_call_that_waits_sets_what_comes_after_it_apart(self) -> None:
        values = [call(), *round_of("m1", failing(), command("sleep 1", "")), call()]
        assert kinds(values) == ["first", "new_error", "round", "apart"]

    def test_an_episode_counts_the_records_that_are_visible(self) -> None:
        escalated = episodes(in_rounds([failing()] * 12, calls=3))[-1]
        assert (escalated["phase"], escalated["records"]) == ("escalated", 2)

    def test_heartbeats_count_the_records_that_are_visible(self) -> None:
        values = in_rounds([failing()] * 16, calls=2)
        beats = [at for at, phase in phases(values, alert_heartbeat_records=4) if phase == "still_open"]
        # LOOP with the 4th round, so the 8th beats; it begins with record 15.
        assert beats == [15]


class TestAPersonsTurn:
    @pytest.mark.parametrize("turn", ["task", "correction", "interruption", "shrug"])
    def test_what_repeats_after_it_is_another_matter(self, turn: str) -> None:
        values = [call()] * 2 + [by_person(call(), turn)] + [call()] * 2
        assert raws(values) == "NNNNW"
        assert scores(values) == [0, 2, 0, 2, 4]
        assert [each["repeat_distance"] for each in verdicts(values)] == [None, 1, None, 1, 1]

    @pytest.mark.parametrize("turn", ["approval", ""])
    def test_an_approval_is_no_new_task(self, turn: str) -> None:
        assert scores([call()] * 2 + [by_person(call(), turn)]) == [0, 2, 4]

    def test_a_refused_call_is_not_judged_and_changes_nothing(self) -> None:
        found = verdicts([call(), call(), by_person(failing(), "refusal"), call()])
        assert (found[2]["visible"], found[2]["why"]) == (False, "refused")
        assert (found[3]["stuck"]["score"], found[3]["run"]) == (4, 3)

    def test_a_question_that_a_person_answered_begins_anew(self) -> None:
        asked = call('{"q": "which?"}', "the second one", tool="AskUserQuestion")
        assert kinds([call(), call(), asked, call()]) == ["first", "again", "first", "new"]

    def test_a_question_that_failed_does_not(self) -> None:
        asked = failing("nobody came", '{"q": "which?"}', tool="AskUserQuestion")
        assert kinds([call(), call(), asked, call()])[2:] == ["new_error", "back"]

    def test_the_words_that_were_told_are_forgotten(self) -> None:
        again = call('{"q": "b"}', "w0 w1 w2 w3 w4 w5", tool="search")
        first = call('{"q": "a"}', "w0 w1 w2 w3 w4 w5", tool="search")
        assert kinds([first, by_person(new(1)), again])[-1] == "new"

    def test_the_open_episode_and_its_keys_stay(self) -> None:
        values = [*[call()] * 3, by_person(call()), *[call()] * 3]
        assert levels(values) == "NNWWWWL"

    def test_a_cycle_does_not_reach_across_it(self) -> None:
        values = [new(1), new(2), new(1), by_person(new(2)), new(1), new(2)]
        assert raws(values, verdict_rules=["R2"]) == "N" * 6

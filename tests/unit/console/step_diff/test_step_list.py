"""The lens: letters for equal steps, rounds of an episode, folds that hide nothing else."""

from dataclasses import replace

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from streams.console.step_diff.rounds import episodes, letters, signature_of
from streams.console.step_diff.step_list import lens, scores
from streams.console.view import RecordStep
from streams.core.detectors.settings import DEFAULTS
from streams.core.entry import Entry
from tests.stream import decision_log
from tests.unit.console.step_diff.recorded import NAMES, recorded, steps_of

STEPS = {name: recorded(name) for name in NAMES}


def shown(steps: list[RecordStep], *, folded: bool) -> list[str]:
    """Write a lens down: numbers, letters, rounds, and folds in brackets."""
    found = []
    for each in lens(steps, folded=folded).content()["steps"]:
        if "fold" in each:
            fold = each["fold"]
            found.append(f"[{fold['from']}-{fold['to']}: {fold['rounds']} rounds, {fold['tokens']} tokens]")
        else:
            found.append(" ".join(str(part) for part in (each["n"], each["letter"], each["round"]) if part))
    return found


def test_the_rounds_between_the_first_and_the_newest_of_one_call_are_folded() -> None:
    assert shown(STEPS["same_call"], folded=True) == [
        *("1", "2", "3", "4", "5 A 1"),
        "[6-12: 7 rounds, 14280 tokens]",
        "13 A 9",
        *("14", "15", "16", "17", "18"),
    ]


def test_steps_after_the_newest_event_of_an_open_episode_are_rounds_of_it() -> None:
    steps = STEPS["read_loop"]
    told = [
        step.number
        for step in steps
        for event in step.record["eddy"]["events"]
        if event["event_type"] == "loop_episode" and event["phase"] != "recovered"
    ]
    for length in range(told[-1], told[-1] + 6):
        [episode] = episodes(steps[:length])
        assert episode.rounds[-1] == (length,)


def test_the_rounds_of_a_stuck_session_are_the_steps_that_raised_its_score() -> None:
    [episode] = episodes(STEPS["read_loop"])
    assert episode.newest["rule"] == "R7"
    assert [number for (number,) in episode.rounds] == [
        step.number
        for step in STEPS["read_loop"][6:]
        if step.record["eddy"]["verdict"]["stuck"]["points"] > 0
    ]


def test_a_step_says_what_it_is_beside_an_earlier_one() -> None:
    steps = lens(STEPS["read_loop"], folded=False).content()["steps"]
    seventh, second = steps[6]["stuck"], steps[1]["stuck"]
    assert seventh == {
        "kind": "back",
        "means": "an earlier step with the same result",
        "points": "+1.5",
        "sign": "plus",
        "score": 1.5,
        "offset": 4,
        "number": 5,
    }
    assert (second["kind"], second["points"], second["sign"], second["number"]) == (
        "new",
        "-1",
        "minus",
        None,
    )


def test_a_step_that_was_not_judged_or_has_a_kind_of_a_later_version_is_shown_too() -> None:
    [step, *_] = STEPS["read_loop"]
    verdict = step.record["eddy"]["verdict"]
    told = {"kind": "sideways", "points": 0.0, "score": 0.0, "refers_to": 900}
    later, unseen = (
        step._replace(
            record={**step.record, "eddy": {**step.record["eddy"], "verdict": {**verdict, "stuck": each}}}
        )
        for each in (told, None)
    )
    assert lens([later], folded=False).steps[0]["stuck"]["means"] == "sideways"
    assert lens([later], folded=False).steps[0]["stuck"]["number"] is None
    assert lens([unseen], folded=False).steps[0]["stuck"] is None


def test_an_episode_is_shown_by_the_rule_that_holds_now_not_by_that_of_its_newest_event() -> None:
    [episode] = episodes(STEPS["flip_flop"])
    assert (episode.newest["rule"], episode.newest["period"], len(episode.rounds)) == ("R2", 4, 3)
    assert episode.varies == ()


def edits() -> list[Entry]:
    """One edit after the other, each with other arguments and the same error but for its time."""
    return [
        Entry(
            "s1",
            None,
            decision_log(
                "mend it",
                "edit",
                number=number,
                tool_input=orjson.dumps({"text": f"attempt {number}"}).decode(),
                error=f"12:00:0{number} old_string was not found in the file",
            ),
            None,
        )
        for number in range(9)
    ]


def test_rounds_with_other_arguments_are_not_called_alike_and_times_in_results_are_not_compared() -> None:
    steps = steps_of(edits())
    [episode] = episodes(steps)
    assert episode.newest["rule"] not in ("R1", "R2")
    assert episode.constant == ("tool", "status", "error")
    assert episode.varies == ("arguments",)
    [fold] = [each["fold"] for each in lens(steps, folded=True).steps if "fold" in each]
    assert (fold["constant"], fold["varies"], fold["tokens"]) == (
        ["tool", "status", "error"],
        ["arguments"],
        None,
    )


def test_steps_of_no_round_are_counted_apart_in_a_fold() -> None:
    [fold] = [each["fold"] for each in lens(STEPS["read_loop"], folded=True).steps if "fold" in each]
    assert (fold["from"], fold["to"], fold["rounds"], fold["others"]) == (8, 17, 9, 1)


def test_the_stuck_score_is_a_strip_with_its_two_limits() -> None:
    found = scores(STEPS["read_loop"], DEFAULTS)
    assert found["stuck"][:9] == [0, 0, 0, 0, 0, 0, 1.5, 3.5, 5.5]
    assert found["thresholds"]["stuck"] == [3, 5]


@pytest.mark.parametrize("name", NAMES)
def test_what_the_signals_add_is_the_drift(name: str) -> None:
    found = scores(STEPS[name], DEFAULTS)
    assert any(found["drift"])
    for row, overall in enumerate(found["drift"]):
        added = [column[row] for column in found["contributions"].values()]
        if overall is None:
            assert added == [None] * 5
        else:
            # Each of the five is rounded to four decimals.
            assert sum(added) == pytest.approx(overall, abs=3e-4)


def test_the_advice_of_a_step_is_the_band_that_its_drift_is_in() -> None:
    found = scores(STEPS["read_loop"], DEFAULTS)
    assert len(set(found["advice"])) > 2
    for overall, advice in zip(found["drift"], found["advice"], strict=True):
        reached = [level for level, begin in found["thresholds"]["drift"].items() if overall >= begin]
        assert advice == (reached or ["CONTINUE"])[-1]


def test_a_step_without_drift_adds_nothing_to_it() -> None:
    [step, *_] = STEPS["read_loop"]
    bare = step._replace(record={**step.record, "eddy": {**step.record["eddy"], "drift": None}})
    found = scores([bare], DEFAULTS)
    assert found["drift"] == found["advice"] == [None]
    assert set(map(tuple, found["contributions"].values())) == {(None,)}


def test_a_cycle_of_steps_has_rounds_of_as_many_steps() -> None:
    steps = recorded("flip_flop", replace(DEFAULTS, verdict_rules=frozenset({"R2"})))
    [episode] = episodes(steps)
    assert (episode.newest["rule"], episode.newest["period"]) == ("R2", 4)
    assert {len(each) for each in episode.rounds} == {4}
    assert len(episode.rounds) > 2
    for each in episode.rounds[1:]:
        by_number = {step.number: signature_of(step) for step in steps}
        assert [by_number[number] for number in each] == [by_number[number] for number in episode.rounds[0]]


def test_a_loop_of_other_words_says_what_stays_and_what_varies() -> None:
    [episode] = episodes(STEPS["paraphrased_loop"])
    assert "result" in episode.constant
    assert "arguments" in episode.varies


@pytest.mark.parametrize("name", NAMES)
def test_a_twin_has_the_same_signature_and_stands_before(name: str) -> None:
    steps = STEPS[name]
    by_number = {step.number: step for step in steps}
    for number, letter in letters(steps).items():
        if letter.twin is not None:
            assert letter.twin < number
            assert signature_of(by_number[letter.twin]) == signature_of(by_number[number])


@given(name=st.sampled_from(NAMES), begin=st.integers(0, 40), length=st.integers(0, 40))
def test_each_step_is_shown_or_in_exactly_one_fold(name: str, begin: int, length: int) -> None:
    steps = STEPS[name][begin : begin + length]
    numbers = []
    for each in lens(steps, folded=True).content()["steps"]:
        fold = each.get("fold")
        numbers += list(range(fold["from"], fold["to"] + 1)) if fold else [each["n"]]
    assert numbers == [step.number for step in steps]
    unfolded = lens(steps, folded=False).content()["steps"]
    assert [each["n"] for each in unfolded] == numbers


def test_a_fold_tells_when_the_loop_was_found_in_it() -> None:
    [fold] = [
        each["fold"] for each in lens(STEPS["same_call"], folded=True).content()["steps"] if "fold" in each
    ]
    assert [event["level"] for event in fold["events"]][:2] == ["WARNING", "LOOP"]

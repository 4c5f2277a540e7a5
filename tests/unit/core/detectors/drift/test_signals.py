from typing import Any

import pytest

from streams.core.detectors.drift.signals import (
    LEVELS,
    SIGNALS,
    GoalState,
    advance,
    contributions,
    drift_level,
    drift_overall,
    goal_words,
    one_higher,
)
from streams.core.detectors.settings import DEFAULTS, DetectionSettings
from streams.core.domain.decision import Decision
from tests.stream import decision_log


@pytest.mark.parametrize(
    ("overall", "level"),
    [
        (0.0, "CONTINUE"),
        (0.2999, "CONTINUE"),
        (0.3, "INJECT_REMINDER"),
        (0.4999, "INJECT_REMINDER"),
        (0.5, "SUMMARIZE_REPLAN"),
        (0.6999, "SUMMARIZE_REPLAN"),
        (0.7, "CHECKPOINT_RESET"),
        (0.8999, "CHECKPOINT_RESET"),
        (0.9, "ASK_USER"),
        (1.0, "ASK_USER"),
    ],
)
def test_a_threshold_belongs_to_the_level_it_begins(overall: float, level: str) -> None:
    assert drift_level(overall, DEFAULTS) == level


def test_the_thresholds_are_settings() -> None:
    settings = DetectionSettings(
        nudge_threshold=0, replan_threshold=0.1, checkpoint_threshold=0.2, stop_threshold=1
    )
    levels = [drift_level(overall, settings) for overall in (0.0, 0.1, 0.2, 1.0)]
    assert levels == [*LEVELS[1:]]


def test_one_higher_ends_at_the_highest() -> None:
    assert [one_higher(level) for level in LEVELS] == [*LEVELS[1:], "ASK_USER"]


WEIGHTS = DEFAULTS.signal_weights


def signals(*values: float | None) -> dict[str, float | None]:
    return dict(zip(SIGNALS, values, strict=True))


@pytest.mark.parametrize(
    ("values", "overall"),
    [
        ((0.45, 0.20, -0.30, 0.15, 0.10), 0.295),
        ((1.0, 1.0, 1.0, 1.0, 1.0), 1.0),
        ((None, None, None, None, None), 0.0),
        ((7, -1, -9, 0.15, 0.1), 0.5775),
    ],
)
def test_it_is_the_weighted_sum_of_what_is_known(values: tuple[float | None, ...], overall: float) -> None:
    assert drift_overall(signals(*values), WEIGHTS) == overall


def test_the_weights_are_not_scaled_up_for_what_is_not_known() -> None:
    assert drift_overall(signals(1.0, None, None, None, None), WEIGHTS) == 0.35


def test_each_signal_contributes_its_weight_times_what_enters_the_sum() -> None:
    assert contributions(signals(7, -1, -0.3, None, 0.33333), WEIGHTS) == signals(0.35, 0, 0.06, 0, 0.0167)


def drift(values: list[dict[str, Any]], windows: list[int] | None = None) -> list[float | None]:
    """The drift after each record; the window of each record is 10, or as given."""
    state, found = GoalState(), []
    for value, window in zip(values, windows or [10] * len(values), strict=True):
        state = advance(state, Decision.of(0, 0, value), window)
        found.append(state.drift)
    return found


def record(intent: str | None, goal: str | None = None, **action: Any) -> dict[str, Any]:
    value = decision_log(intent, action.pop("tool", None), **action)
    if goal is not None:
        value["cognition"]["goal"] = goal
    return value


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("Fix the LOGIN bug, in auth_module!", ["auth", "bug", "fix", "login", "module"]),
        ("you must not do it for all of them, please", ["them"]),
        ("", []),
        (None, []),
    ],
)
def test_short_and_common_words_say_nothing_of_a_goal(text: str | None, words: list[str]) -> None:
    assert sorted(goal_words(text)) == words


def test_of_many_words_the_first_256_count() -> None:
    words = [f"w{number:03}" for number in range(300)]
    assert goal_words(" ".join(reversed(words))) == words[:256]
    text = " ".join([*words, "the", "of"])
    assert goal_words(text) == words[:256]


def test_a_goal_is_spoken_of_in_intent_tool_arguments_and_target() -> None:
    one = record("fix", "fix login bug auth", tool="login", tool_input='["bug"]', target="auth")
    assert drift([one]) == [0.0]


def test_neither_the_result_nor_the_goal_itself_counts() -> None:
    assert drift([record("", "login", error="login", status="failure")]) == [1.0]


def test_words_keep_counting_until_their_record_leaves_the_window() -> None:
    values = [record("login", "login bug"), record("bug"), record("music"), record("music")]
    assert drift(values, [2, 2, 2, 2]) == [0.5, 0.0, 0.5, 1.0]


def test_a_window_of_one_is_the_newest_record() -> None:
    assert drift([record("login", "login"), record("music")], [1, 1]) == [0.0, 1.0]


def test_a_window_that_grows_again_restores_nothing() -> None:
    values = [record("login", "login bug"), record("bug"), record("music"), record("music"), record("music")]
    assert drift(values, [9, 9, 2, 9, 9]) == [0.5, 0.0, 0.5, 0.5, 0.5]
    assert drift(values, [9, 9, 1, 9, 9]) == [0.5, 0.0, 1.0, 1.0, 1.0]


def test_the_first_goal_with_a_word_in_it_stays_the_goal() -> None:
    values = [record("a", "!"), record("music", "of it"), record("a", "music"), record("a", "paint")]
    assert drift(values) == [None, None, 0.0, 0.0]


def test_a_record_without_a_cognition_speaks_too() -> None:
    assert drift([record("", "login"), record(None, tool="login")]) == [1.0, 0.0]


def test_what_was_said_before_the_goal_counts_while_it_is_in_the_window() -> None:
    values = [record("paint"), record("login"), record("music", "paint login"), record("music")]
    assert drift(values, [3, 3, 3, 3]) == [None, None, 0.0, 0.5]
    assert drift(values, [2, 2, 2, 2]) == [None, None, 0.5, 1.0]
    assert drift(values, [3, 1, 3, 3]) == [None, None, 0.5, 0.5]


def test_once_the_goal_is_known_no_record_is_kept() -> None:
    state = GoalState()
    for value in (record("paint"), record("login", "paint login")):
        state = advance(state, Decision.of(0, 0, value), 10)
    assert (state.newest, state.earlier, state.order) == (None, (), "")
    assert sorted(state.ages) == ["A", "B"]

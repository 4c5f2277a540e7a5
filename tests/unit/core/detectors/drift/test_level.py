import pytest

from streams.core.detectors.drift.level import (
    LEVELS,
    SIGNALS,
    contributions,
    drift_level,
    drift_overall,
    one_higher,
)
from streams.core.detectors.settings import DEFAULTS, DetectionSettings


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

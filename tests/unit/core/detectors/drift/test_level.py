import pytest

from streams.core.detectors.drift.level import LEVELS, drift_level, one_higher
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

import pytest

from streams.core.detectors.drift.detector import drift_trend


@pytest.mark.parametrize(
    ("overalls", "velocity", "accelerating"),
    [
        ([0.4], None, False),
        ([0.4, 0.9], 0.5, False),
        ([0.25, 0.30, 0.38, 0.50], 0.0833, True),
        ([0.9, 0.25, 0.30, 0.38, 0.50], 0.0833, True),
        ([0.1, 0.2, 0.3], 0.1, False),
        ([0.1, 0.3, 0.4], 0.15, False),
        ([0.1, 0.1, 0.4], 0.15, False),
        ([0.1, 0.3, 0.2, 0.9], 0.2667, False),
        ([0.1, 0.2, 0.25, 0.4], 0.1, True),
        ([0.5, 0.4, 0.2], -0.15, False),
        ([0.2, 0.2, 0.2], 0.0, False),
    ],
)
def test_it_accelerates_when_it_rises_all_along_and_more_at_the_end(
    overalls: list[float], velocity: float | None, accelerating: bool
) -> None:
    assert drift_trend(overalls, window=4) == (velocity, accelerating)

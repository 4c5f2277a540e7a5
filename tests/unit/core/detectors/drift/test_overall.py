import pytest

from streams.core.detectors.drift.overall import SIGNALS, contributions, drift_overall
from streams.core.detectors.settings import DEFAULTS

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

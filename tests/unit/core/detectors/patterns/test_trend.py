import pytest

from streams.core.detectors.patterns.detector import PatternTrend, turn
from streams.core.detectors.settings import DEFAULTS, DetectionSettings


def test_the_average_is_carried_unrounded_and_reported_rounded() -> None:
    trend = PatternTrend()
    for step in range(1, 4):
        trend, reported, _, _ = turn(trend, True, step, DEFAULTS)
    assert trend.ema == pytest.approx(0.657, abs=1e-15)
    trend, reported, _, _ = turn(PatternTrend(0.33333), False, 1, DEFAULTS)
    assert (trend.ema, reported) == (0.7 * 0.33333, 0.2333)


@pytest.mark.parametrize(("gap", "alert"), [(5, False), (6, True)])
def test_the_gap_must_exceed_the_cooldown(gap: int, alert: bool) -> None:
    assert turn(PatternTrend(alerted_at=3), True, 3 + gap, DEFAULTS).alert is alert


def test_a_record_that_does_not_match_never_alerts() -> None:
    assert turn(PatternTrend(), False, 100, DEFAULTS).alert is False


def test_an_alert_is_remembered_until_the_next() -> None:
    assert turn(PatternTrend(), True, 7, DEFAULTS).trend.alerted_at == 7
    assert turn(PatternTrend(alerted_at=7), True, 8, DEFAULTS).trend.alerted_at == 7
    assert turn(PatternTrend(alerted_at=7), False, 80, DEFAULTS).trend.alerted_at == 7


@pytest.mark.parametrize(
    ("ema", "escalated", "after", "escalation"),
    [
        (0.5, False, False, False),
        (0.5001, False, True, True),
        (0.50004, False, False, False),
        (0.5001, True, True, False),
        (0.3, True, True, False),
        (0.2999, True, False, False),
        (0.29996, True, True, False),
    ],
)
def test_it_escalates_above_saturation_and_clears_below_clear(
    ema: float, escalated: bool, after: bool, escalation: bool
) -> None:
    settings = DetectionSettings(pattern_alpha=1e-12)
    turned = turn(PatternTrend(ema, None, escalated), False, 1, settings)
    assert (turned.trend.escalated, turned.escalation) == (after, escalation)


def test_it_clears_and_escalates_on_different_records() -> None:
    settings = DetectionSettings(pattern_alpha=1.0, pattern_saturation=0.0, pattern_clear=0.0)
    cleared = turn(PatternTrend(1.0, None, True), False, 1, settings)
    assert (cleared.trend.escalated, cleared.escalation) == (True, False)
    assert turn(PatternTrend(0.0, None, False), False, 2, settings).escalation is False


@pytest.mark.parametrize(("ema", "gap", "alert"), [(0.79, 9, True), (0.81, 9, False), (0.81, 10, True)])
def test_the_adaptive_cooldown_is_floored(ema: float, gap: int, alert: bool) -> None:
    settings = DetectionSettings(pattern_adaptive_cooldown=True, pattern_alpha=1e-12)
    assert turn(PatternTrend(ema, 1), True, 1 + gap, settings).alert is alert

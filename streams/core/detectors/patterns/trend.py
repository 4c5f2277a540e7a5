"""How a pattern behaves over time: its average, its alerts, its escalation (specification 5.3)."""

from __future__ import annotations

from math import floor
from typing import NamedTuple

from streams.core.detectors.patterns.settings import PatternsSettings
from streams.core.domain.number import r4


class Trend(NamedTuple):
    """What is kept of one pattern.

    Attributes:
        ema: exponential moving average of "this record completes the pattern", unrounded, 0 to 1.
        alerted_at: step of the last alert, None before the first.
        escalated: whether the pattern stands escalated.
    """

    ema: float = 0.0
    alerted_at: int | None = None
    escalated: bool = False


class Turn(NamedTuple):
    """What one record made of a trend; ``ema`` is the average as it is reported."""

    trend: Trend
    ema: float
    alert: bool
    escalation: bool


def turn(trend: Trend, matched: bool, step: int, settings: PatternsSettings) -> Turn:
    """Advance a trend by one record.

    Args:
        trend: the trend until now.
        matched: whether this record completes the pattern.
        step: number of the record among the scored ones of its session.
        settings: `pattern_alpha`, `pattern_cooldown`, `pattern_saturation` and their kin.

    >>> DEFAULTS = PatternsSettings()
    >>> trend, alerts = Trend(), []
    >>> for step in range(1, 10):
    ...     trend, _, alert, _ = turn(trend, step >= 3, step, DEFAULTS)
    ...     alerts += [step] if alert else []
    >>> alerts
    [3, 9]
    """
    ema, alerted_at, escalated = trend
    alpha = settings.pattern_alpha
    ema = alpha * matched + (1 - alpha) * ema
    reported = r4(ema)

    alert = matched and (alerted_at is None or step - alerted_at > _cooldown(reported, settings))
    escalation = not escalated and reported > settings.pattern_saturation
    escalated = escalation or (escalated and reported >= settings.pattern_clear)
    return Turn(Trend(ema, step if alert else alerted_at, escalated), reported, alert, escalation)


def _cooldown(ema: float, settings: PatternsSettings) -> int:
    cooldown = settings.pattern_cooldown
    return floor(cooldown * (1 + ema)) if settings.pattern_adaptive_cooldown else cooldown

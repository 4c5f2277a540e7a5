"""Five signals, one number (specification 5.5)."""

from __future__ import annotations

from collections.abc import Mapping

from streams.core.domain.number import r4

#: The names of the signals, in the order in which they are added up.
SIGNALS = ("goal_dna_drift", "loop_risk", "budget_velocity", "quality_degradation", "stuck_time")

Signals = Mapping[str, float | None]


def drift_overall(signals: Signals, weights: Mapping[str, float]) -> float:
    """Return the overall drift, 0 to 1, 4 decimals: the weighted sum of the signals.

    Args:
        signals: a value for each of `SIGNALS`, None where nothing is known.
        weights: setting `signal_weights`. They are not scaled up for signals that are not known.

    >>> from streams.core.detectors.drift.settings import DriftSettings
    >>> signals = dict(zip(SIGNALS, (0.45, 0.20, -0.30, 0.15, 0.10)))
    >>> drift_overall(signals, DriftSettings().signal_weights)
    0.295
    """
    overall = 0.0
    for name in SIGNALS:
        # Most signals of most records are 0 or not known, and add nothing.
        signal = signals[name]
        if signal:
            overall += weights[name] * _entering(name, signal)
    return r4(overall)


def contributions(signals: Signals, weights: Mapping[str, float]) -> dict[str, float]:
    """Return what each signal adds to the overall drift, 4 decimals, 0 where nothing is known."""
    return {name: r4(weights[name] * _entering(name, signals[name])) for name in SIGNALS}


def _entering(name: str, signal: float | None) -> float:
    """Return a signal as it enters the sum: 0 to 1, the velocity by its amount whatever its direction."""
    if not signal:
        return 0.0
    if name == "budget_velocity":
        signal = abs(signal)
    return clamped(signal)


def clamped(value: float) -> float:
    """Return the value, or the nearer end of 0 to 1."""
    return 0.0 if value <= 0.0 else min(1.0, value)

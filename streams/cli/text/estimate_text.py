"""A figure with its interval, as a cell of a table."""

from __future__ import annotations

from typing import Final

from streams.evaluation.estimate import Estimate

NOTHING: Final = "-"
"""The cell of a figure that there is nothing to compute from."""


def estimate_text(estimate: Estimate, form: str = ".2f", times: int = 1) -> str:
    """Write a figure, multiplied by ``times``, in a format of Python's.

    >>> estimate_text(Estimate(0.5, (0.25, 0.75)), "+.1f")
    '+0.5 (+0.2 to +0.8)'
    """
    if estimate.value is None:
        return NOTHING
    text = f"{times * estimate.value:{form}}"
    if estimate.interval is None:
        return text
    low, high = (f"{times * end:{form}}" for end in estimate.interval)
    return f"{text} ({low} to {high})"


def counted(count: int, estimate: Estimate) -> str:
    """Write a count and the share that it is.

    >>> counted(1, Estimate(0.5, None)), counted(0, Estimate(None, None))
    ('1: 0.50', '0')
    """
    return str(count) if estimate.value is None else f"{count}: {estimate_text(estimate)}"

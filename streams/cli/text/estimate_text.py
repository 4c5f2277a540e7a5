"""A figure with its interval, as a cell of a table."""

from __future__ import annotations

from typing import Final

from streams.core.evaluation.estimate import Estimate
from streams.core.evaluation.first_alarm import Delay

NOTHING: Final = "-"
"""The cell of a figure that there is nothing to compute from."""
UNKNOWN: Final = "unknown"
"""The cell of a figure that records or labels do not tell, though there is something to compute it of."""
DELAY: Final = (
    "lower quartile",
    "median",
    "upper quartile",
    "timed",
    "median, s",
    "90th percentile, s",
)
"""The columns of `delay_texts`."""


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


def known_text(estimate: Estimate, form: str = ".2f", *, of: int) -> str:
    """Write a figure ``of`` so many sessions; if there are some and it has no value, it is unknown.

    >>> known_text(Estimate(None, None), of=2), known_text(Estimate(None, None), of=0)
    ('unknown', '-')
    """
    return UNKNOWN if of and estimate.value is None else estimate_text(estimate, form)


def delay_texts(delay: Delay) -> list[str]:
    """Write the waits of the sessions that were noticed, in records and in seconds of event time."""
    return [
        *(estimate_text(each, ".1f") for each in (delay.lower, delay.median, delay.upper)),
        str(delay.timed),
        *(known_text(each, ".1f", of=delay.noticed) for each in (delay.median_seconds, delay.most_seconds)),
    ]

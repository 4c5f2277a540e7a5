"""How quickly a session uses tokens."""

from __future__ import annotations

from streams.console.read_model.attention import Attention
from streams.console.read_model.points import BUCKET_MS, WINDOW_MS


def rate(about: Attention, now: int) -> float:
    """Return tokens per minute of the last five minutes, by Kafka's time.

    The records of a session are read whole from the moment it is watched. What a young episode used before
    that, its events say.
    """
    session = about.case.session
    points = session.points
    spent = points.spent(now)
    if about.episode is not None and about.since > now - WINDOW_MS and about.newest > now - WINDOW_MS:
        spent = max(spent, about.tokens)
    return spent / points.span(now, session.first_ts or 0)


def shown_at(about: Attention, now: int) -> int:
    """Return the moment that a shown rate is of: its newest record, or since then the last whole 20 seconds.

    A rate falls with every second in which nothing comes. Shown so, it would change every row of every page
    all the time.
    """
    return min(now, max(about.newest, now - now % BUCKET_MS))

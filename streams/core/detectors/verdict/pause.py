"""A pause is not a loop; failing slowly is (specification 6.4)."""

from __future__ import annotations

from streams.core.detectors.verdict.settings import VerdictSettings


def is_pause(ms: int, settings: VerdictSettings, *, failing: bool) -> bool:
    """Tell whether so long a time between two neighbours means that the agent paused.

    Args:
        ms: from one record to the next; going back in time is no pause.
        settings: `poll_gap_ms`, or `failure_gap_ms` for a failure; 0: nothing is a pause.
        failing: whether a record of the block concerned failed.

    >>> defaults = VerdictSettings()
    >>> is_pause(60_000, defaults, failing=False), is_pause(59_999, defaults, failing=False)
    (True, False)
    >>> is_pause(60_000, defaults, failing=True), is_pause(600_000, defaults, failing=True)
    (False, True)
    """
    gap = settings.failure_gap_ms if failing else settings.poll_gap_ms
    return 0 < gap <= ms

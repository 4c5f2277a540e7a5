"""Waiting is not a loop; failing slowly is (specification 6.4)."""

from __future__ import annotations


def is_spaced(timestamp: int, earlier: int, poll_gap_ms: int, *, failing: bool) -> bool:
    """Tell whether a record came so long after an earlier one that the agent waited in between.

    Args:
        timestamp: of the record, ms.
        earlier: timestamp of the earlier record, ms; going back in time is no gap.
        poll_gap_ms: the least gap that counts as waiting; 0: none does.
        failing: whether a record of the block concerned failed.

    >>> is_spaced(60_000, 0, 60_000, failing=False), is_spaced(59_999, 0, 60_000, failing=False)
    (True, False)
    >>> is_spaced(60_000, 0, 60_000, failing=True), is_spaced(60_000, 0, 0, failing=False)
    (False, False)
    """
    return 0 < poll_gap_ms <= timestamp - earlier and not failing

"""Times as web interfaces write them."""

from __future__ import annotations

from datetime import UTC, datetime


def rfc3339(ms: int) -> str:
    """Return a time, UTC; one that no calendar has as the nearest that it has.

    >>> rfc3339(1_700_000_000_120), rfc3339(2**62)
    ('2023-11-14T22:13:20.120Z', '9999-12-31T23:59:59.000Z')
    """
    try:
        at = datetime.fromtimestamp(ms / 1000, UTC)
    except (ValueError, OverflowError, OSError):
        at = datetime.fromtimestamp(0 if ms < 0 else 253_402_300_799, UTC)
    return f"{at:%Y-%m-%dT%H:%M:%S}.{ms % 1000 if at.timestamp() == ms / 1000 else 0:03}Z"

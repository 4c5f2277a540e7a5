"""What has become of the records."""

from __future__ import annotations

from typing import NamedTuple


class Stats(NamedTuple):
    """Counts since the start of this process.

    Attributes:
        sent: records that the brokers, or the file, have.
        dropped_full: records that found the queue full.
        dropped_error: records that could not be made or were refused, and those left at the end.
        truncated: texts that were cut.
        waiting: records in the queue.
    """

    sent: int = 0
    dropped_full: int = 0
    dropped_error: int = 0
    truncated: int = 0
    waiting: int = 0

"""Counts, amounts of money and times in words."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Final


def count(number: int, noun: str) -> str:
    """Return how many there are, with the noun in the singular or the plural.

    >>> count(1, "session"), count(12_304, "record")
    ('1 session', '12,304 records')
    """
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"


_LEAST: Final = 0.0001
"""What a cost is rounded to where it is reported."""


def dollars(amount: float) -> str:
    """Return a cost: US dollars, which every log of an agent that names a cost gives.

    >>> dollars(0.0307), dollars(0.25), dollars(1234.5), dollars(0.0), dollars(0.00002)
    ('$0.0307', '$0.25', '$1,234.50', '$0', 'below $0.0001')
    """
    if amount >= 1:
        return f"${amount:,.2f}"
    if 0 < amount < _LEAST:
        return f"below ${_LEAST}"
    return f"${amount:.4f}".rstrip("0").rstrip(".")


UNTIMED: Final = range(100_000_000_000)
"""Times without a clock, ms: counted from 1970, for the order of the records. No agent ran before 1973."""

#: What is shown for a time that nobody knows.
_NO_TIME = "\u2013"

#: The first millisecond of the year 1, and the last of the year 9999.
_EARLIEST, _LATEST = -62_135_596_800_000, 253_402_300_799_999


def has_time(timestamp: int) -> bool:
    """Tell whether a timestamp is one of a clock, not only a place in an order.

    >>> has_time(1_700_000_000_000), has_time(UNTIMED.start + 3000)
    (True, False)
    """
    return timestamp >= UNTIMED.stop


def duration(milliseconds: float) -> str:
    """A time span in the two largest units that matter.

    >>> duration(80), duration(72_000), duration(7_260_000)
    ('80 ms', '1 min 12 s', '2 h 1 min')
    """
    if milliseconds < 1000:
        return f"{milliseconds:.0f} ms"
    seconds = int(milliseconds // 1000)
    if seconds < 60:
        return f"{seconds} s"
    if seconds < 3600:
        return f"{seconds // 60} min {seconds % 60} s"
    return f"{seconds // 3600:,} h {seconds % 3600 // 60} min"


def clock(timestamp: int) -> str:
    """The time of day, UTC; a time no calendar has as its milliseconds, and a dash without a clock.

    >>> clock(1_700_000_000_000), clock(2**63 - 1), clock(UNTIMED.start)
    ('22:13:20', '9223372036854775807', '\u2013')
    """
    if not has_time(timestamp):
        return _NO_TIME
    try:
        return f"{datetime.fromtimestamp(timestamp / 1000, UTC):%H:%M:%S}"
    except (ValueError, OverflowError, OSError):
        return str(timestamp)


def day(timestamp: int) -> str:
    """The day, UTC; nothing for a time no calendar has, and without a clock.

    >>> day(1_700_000_000_000), day(2**63 - 1)
    ('2023-11-14', '')
    """
    if not has_time(timestamp):
        return ""
    try:
        return f"{datetime.fromtimestamp(timestamp / 1000, UTC):%Y-%m-%d}"
    except (ValueError, OverflowError, OSError):
        return ""


def moment(timestamp: int, beside: int) -> str:
    """The time of day, with its day unless that is the day of another time that is read beside it; UTC.

    >>> moment(1_700_000_000_000, 1_700_000_060_000), moment(1_700_000_000_000, 1_700_086_400_000)
    ('22:13:20', '2023-11-14 22:13:20')
    """
    on = "" if day(timestamp) == day(beside) else day(timestamp)
    return f"{on} {clock(timestamp)}".strip()


def rfc3339(timestamp: int) -> str:
    """The moment for programs, UTC; one that no calendar has as the nearest that it has.

    >>> rfc3339(1_700_000_000_120), rfc3339(2**62)
    ('2023-11-14T22:13:20.120Z', '9999-12-31T23:59:59.999Z')
    """
    timestamp = min(max(timestamp, _EARLIEST), _LATEST)
    return f"{datetime.fromtimestamp(timestamp // 1000, UTC):%Y-%m-%dT%H:%M:%S}.{timestamp % 1000:03}Z"


def money(amount: float) -> str:
    """Return an amount of money with as many digits as tell it from nothing.

    >>> money(1234.5), money(0.0034), money(0)
    ('1,234.50', '0.0034', '0.00')
    """
    return f"{amount:,.2f}" if not amount or abs(amount) >= 0.1 else f"{amount:.4f}"

"""How values are written on a page: numbers, times, texts of agents."""

from __future__ import annotations

from datetime import UTC, datetime
from hashlib import blake2b
from typing import Final

from streams.core.domain.text.figures import has_time
from streams.core.domain.text.printable import escaped, printable

LONGEST_TEXT: Final = 8_000
"""Characters of a text of an agent that a page shows."""

_LONGEST_KEY: Final = 200

_SECOND, _MINUTE, _HOUR, _DAY = 1_000, 60_000, 3_600_000, 86_400_000
_ABSENT: Final = "\u2013"


def number(value: float | None) -> str:
    """Return a count with its thousands.

    >>> number(25630), number(None), number(0.604)
    ('25,630', '\u2013', '0.604')
    """
    if value is None:
        return _ABSENT
    return f"{value:,}" if isinstance(value, int) else f"{value:,.3f}".rstrip("0").rstrip(".")


def compact(value: float | None) -> str:
    """Return a count in few characters.

    >>> compact(812), compact(25630), compact(812340), compact(1_260_000), compact(None)
    ('812', '25.6k', '812k', '1.3M', '\u2013')
    """
    if value is None:
        return _ABSENT
    for limit, unit in ((1_000_000, "M"), (1_000, "k")):
        if abs(value) >= limit:
            scaled = value / limit
            return f"{scaled:.0f}{unit}" if abs(scaled) >= 100 else f"{scaled:.1f}".removesuffix(".0") + unit
    return number(value)


def money(value: float | None, currency: str) -> str:
    """Return an amount of money.

    >>> money(0.0307, "$"), money(12.5, "$"), money(None, "$")
    ('$0.031', '$12.50', '\u2013')
    """
    if value is None:
        return _ABSENT
    return f"{currency}{value:,.2f}" if abs(value) >= 1 else f"{currency}{value:.3f}"


def duration(ms: float | None) -> str:
    """Return a length of time, coarse.

    >>> [duration(ms) for ms in (400, 41_000, 131_000, 7_320_000, 180_000_000)]
    ['0.4 s', '41 s', '2 min 11 s', '2 h 2 min', '2 d 2 h']
    """
    if ms is None:
        return _ABSENT
    ms = max(0, ms)
    if ms < 10 * _SECOND:
        return f"{ms / _SECOND:.1f}".removesuffix(".0") + " s"
    for unit, below, name, smaller in (
        (_DAY, _HOUR, "d", "h"),
        (_HOUR, _MINUTE, "h", "min"),
        (_MINUTE, _SECOND, "min", "s"),
    ):
        if ms >= unit:
            rest = int(ms % unit) // below
            return f"{int(ms) // unit} {name}" + (f" {rest} {smaller}" if rest else "")
    return f"{int(ms) // _SECOND} s"


def ago(at: int | None, now: int) -> str:
    """Return how long ago something was, in one unit.

    >>> noon = 1_760_000_400_000
    >>> [ago(noon, noon + ms) for ms in (2_000, 130_000, 7_200_000)], ago(None, noon), ago(0, noon)
    (['2 s ago', '2 min ago', '2 h ago'], '\u2013', '\u2013')
    """
    if at is None or not has_time(at):
        return _ABSENT
    ms = now - at
    if ms < _SECOND:
        return "now"
    for unit, name in ((_DAY, "d"), (_HOUR, "h"), (_MINUTE, "min")):
        if ms >= unit:
            return f"{ms // unit} {name} ago"
    return f"{ms // _SECOND} s ago"


def ahead(at: int | None, now: int) -> str:
    """Return how far ahead something is, in one unit.

    >>> noon = 1_760_000_400_000
    >>> [ahead(noon + ms, noon) for ms in (130_000, 7_200_000, -5)], ahead(None, noon)
    (['in 2 min', 'in 2 h', 'now'], '\u2013')
    """
    if at is None or not has_time(at):
        return _ABSENT
    said = ago(now, at)
    return "now" if at <= now else f"in {said.removesuffix(' ago')}"


def clock(at: int | None) -> str:
    """Return the time of the day in UTC.

    >>> clock(1_760_000_061_000)
    '08:54:21'
    """
    return _ABSENT if at is None or not has_time(at) else _utc(at).strftime("%H:%M:%S")


def when(at: int | None, now: int) -> str:
    """Return the time of the day in UTC, with the day if that is another one than now.

    >>> when(1_760_000_061_000, 1_760_003_000_000), when(1_760_000_061_000, 1_760_103_000_000)
    ('08:54:21', '9 Oct 08:54')
    """
    if at is None or not has_time(at):
        return _ABSENT
    then, today = _utc(at), _utc(now)
    if then.date() == today.date():
        return clock(at)
    year = "" if then.year == today.year else f" {then.year}"
    return f"{then.day} {then:%b}{year} {then:%H:%M}"


def moment(at: int | None) -> str:
    """Return day and time in UTC.

    >>> moment(1_760_000_061_000)
    '2025-10-09 08:54:21 UTC'
    """
    return _ABSENT if at is None or not has_time(at) else _utc(at).strftime("%Y-%m-%d %H:%M:%S UTC")


def iso(at: int | None) -> str:
    """Return a time as the attribute ``datetime`` has it; nothing for one that no clock told."""
    return (
        ""
        if at is None or not has_time(at)
        else _utc(at).isoformat(timespec="milliseconds").replace("+00:00", "Z")
    )


def line(text: object, limit: int = 120) -> str:
    """Return a text of an agent as one line that hides nothing."""
    return "" if text is None else printable(str(text), limit)


def row_key(name: str) -> str:
    """Return what tells a row from all others, as an attribute: what was sent in a frame must be found there.

    A name that is long, or has characters that are shown as others, ends with a digest of all of it.

    >>> row_key("s-17"), row_key("a  b")
    ('s-17', 'a b #2f40ee7ba2a37d1d')
    """
    shown = printable(name, _LONGEST_KEY)
    if shown == name and "#" not in name:
        return name
    return f"{shown} #{blake2b(name.encode('utf-8', 'surrogatepass'), digest_size=8).hexdigest()}"


def block(text: object, limit: int = LONGEST_TEXT) -> str:
    r"""Return a text of an agent with its lines, everything that is invisible or reorders escaped.

    >>> block("a\n\x1b[2Jb")
    'a\n\\x1b[2Jb'
    """
    if text is None:
        return ""
    found = str(text)[:limit]
    return found if found.isascii() and found.isprintable() else "\n".join(map(_visible, found.split("\n")))


def _visible(text: str) -> str:
    return "\t".join(escaped(part) for part in text.removesuffix("\r").split("\t"))


def _utc(at: int) -> datetime:
    try:
        return datetime.fromtimestamp(at / 1000, UTC)
    except (OverflowError, ValueError, OSError):
        return datetime.fromtimestamp(0, UTC)

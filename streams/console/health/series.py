"""Samples of an agent or a tool as series: one value for each step of time, none where no record came."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Final, NamedTuple

from streams.console.health.report import DAY_MS, HealthReport
from streams.console.read_model.health import BUCKET_MS, merged_health
from streams.console.read_model.rows import HealthRow

HOUR_MS: Final = 3_600_000

#: What the strips show: the series, its title, its unit, and its colour.
SHOWN: Final = (
    ("wasted_tokens_hour", "Wasted tokens in the hour", "tokens", "critical"),
    ("looping_now", "Sessions looping", "sessions", "critical"),
    ("episodes_hour", "Loops in the hour", "loops", "high"),
    ("sessions_hour", "Sessions in the hour", "sessions", "accent"),
)
SERIES: Final = tuple(name for name, *_ in SHOWN)


class SeriesRange(NamedTuple):
    """How far a page looks back, and the step of its series."""

    name: str
    title: str
    length_ms: int
    step_ms: int


RANGES: Final = (
    SeriesRange("day", "24 hours", DAY_MS, BUCKET_MS),
    SeriesRange("week", "7 days", 7 * DAY_MS, HOUR_MS),
    SeriesRange("month", "30 days", 30 * DAY_MS, HOUR_MS),
)


def range_of(name: str, oldest: int | None, now: int) -> SeriesRange:
    """Return the range with a name; for any other word the shortest that holds the oldest sample.

    >>> range_of("week", 0, 0).title, range_of("", 0, 2 * DAY_MS).title, range_of("", None, 0).title
    ('7 days', '7 days', '24 hours')
    """
    named = (each for each in RANGES if each.name == name)
    long_enough = (each for each in RANGES if oldest is None or oldest > now - each.length_ms)
    return next(named, None) or next(long_enough, RANGES[-1])


def merged(*sources: Iterable[HealthRow]) -> list[HealthRow]:
    """Return samples of several sources, each once, oldest first."""
    found: dict[tuple[str, str, int], HealthRow] = {}
    for row in (row for source in sources for row in source):
        key = row.scope, row.name, row.bucket
        found[key] = merged_health(found[key], row) if key in found else row
    return sorted(found.values(), key=lambda row: row.bucket)


def last_of_each(rows: Iterable[HealthRow], step_ms: int) -> dict[int, HealthRow]:
    """Return the newest sample of each step of time, by the beginning of the step."""
    found: dict[int, HealthRow] = {}
    for row in rows:
        begins = row.bucket // step_ms * step_ms
        if begins not in found or found[begins].bucket <= row.bucket:
            found[begins] = row
    return found


def by_hour(rows: Iterable[HealthRow], now: int, hours: int = 24) -> list[int]:
    """Return the tokens wasted in each of the last hours, oldest first; no record means none.

    The last sample of an hour tells the sliding hour that ends with it.
    """
    newest = now // HOUR_MS
    found = last_of_each(rows, HOUR_MS)
    begins = ((newest - back) * HOUR_MS for back in reversed(range(hours)))
    return [HealthReport.of(found[each]).wasted_tokens_hour if each in found else 0 for each in begins]


def points(rows: Iterable[HealthRow], asked: SeriesRange) -> list[dict[str, int]]:
    """Return what is known of each step of time, oldest first: ``at`` in ms, and each of `SERIES`."""
    found = last_of_each(rows, asked.step_ms)
    reports = ((at, HealthReport.of(row)) for at, row in sorted(found.items()))
    return [{"at": at, **{name: getattr(report, name) for name in SERIES}} for at, report in reports]


def strips(known: Sequence[Mapping[str, int]], asked: SeriesRange, now: int) -> dict[str, list[int | None]]:
    """Return points as series: every step of time of the range, with a value or None for each.

    A step without a sample is None, so that a line breaks where nothing is known. If the first sample is
    young, the series begin a little before it, so that it does not stand alone at the edge.
    """
    by_time = {each["at"]: each for each in known}
    last = now // asked.step_ms
    oldest = min(by_time, default=now) // asked.step_ms
    first = max((now - asked.length_ms) // asked.step_ms + 1, min(oldest - 1, last - _FEWEST_STEPS))
    at = [step * asked.step_ms for step in range(first, last + 1)]
    return {"at": [*at], **{name: [by_time.get(each, _NOTHING).get(name) for each in at] for name in SERIES}}


#: Steps that a strip has at least.
_FEWEST_STEPS: Final = 12

_NOTHING: Final[Mapping[str, int]] = {}

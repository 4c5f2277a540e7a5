"""How agents and tools fare: their ranking, and their samples as series. Pure."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from heapq import nsmallest
from itertools import chain
from typing import Any, Final, NamedTuple, TypeVar

import orjson

from streams.console.inbox.query import cursor_of, position_of
from streams.console.inbox.row import row
from streams.console.inbox.terms import tools
from streams.console.read_model.attention import Attention, Position
from streams.console.read_model.health import BUCKET_MS, merged_health
from streams.console.read_model.model import ReadModel
from streams.console.read_model.rows import HealthRow, VersionRow
from streams.core.domain.text.printable import printable
from streams.core.domain.topic import Topic
from streams.core.errors import ConfigurationError

#: A report is stale if its event time is older than this: the job writes one whenever a record comes.
STALE_MS: Final = 600_000

DAY_MS: Final = 86_400_000

_LARGEST: Final = 2**63
_MOST_CHAINS: Final = 20


class Chain(NamedTuple):
    """A signature that loops in several sessions at once."""

    signature: str
    sessions: int


class HealthReport(NamedTuple):
    """The counts of an agent or a tool, over the sliding hour and day that end with ``as_of``."""

    scope: str
    name: str
    as_of: int
    sessions_hour: int
    sessions_day: int
    looping_now: int
    episodes_hour: int
    episodes_day: int
    wasted_tokens_hour: int
    wasted_tokens_day: int
    wasted_cost_hour: float
    wasted_cost_day: float
    cross_chains: tuple[Chain, ...]

    @classmethod
    def of(cls, row: HealthRow) -> HealthReport:
        """Return what a row says; others than the job may have written the record."""
        said: dict[str, Any] = orjson.loads(row.body)
        values: dict[str, Any] = {name: int(_number(said.get(name))) for name in _COUNTS}
        values |= {name: float(_number(said.get(name))) for name in _COSTS}
        return cls(row.scope, row.name, row.as_of, cross_chains=_chains(said), **values)

    @property
    def share(self) -> float:
        """The part of the sessions of the hour that loop now, 0 to 1.

        >>> def report(looping: int, sessions: int) -> Report:
        ...     return HealthReport("agent", "a", 0, sessions, sessions, looping, 0, 0, 0, 0, 0.0, 0.0, ())
        >>> report(1, 4).share, report(0, 0).share
        (0.25, 0.0)
        """
        return min(1.0, self.looping_now / self.sessions_hour) if self.sessions_hour else 0.0

    def is_stale(self, now: int) -> bool:
        """Tell whether the counts are too old to say how it fares now."""
        return now - self.as_of > STALE_MS


_COSTS: Final = ("wasted_cost_hour", "wasted_cost_day")
_COUNTS: Final = tuple(
    name for name in HealthReport._fields if name not in {"scope", "name", "as_of", "cross_chains", *_COSTS}
)


def _number(value: Any) -> float:  # whatever JSON has
    fits = type(value) in (int, float) and 0 <= value < _LARGEST
    return value if fits else 0


def _chains(said: dict[str, Any]) -> tuple[Chain, ...]:
    given = said.get("cross_chains")
    found = [each for each in given if isinstance(each, dict)] if isinstance(given, list) else []
    return tuple(
        Chain(each["signature"], int(_number(each.get("sessions"))))
        for each in found[:_MOST_CHAINS]
        if isinstance(each.get("signature"), str)
    )


#: Rows of a page.
ROWS: Final = 100

_Word = TypeVar("_Word", bound=StrEnum)


class RankingScope(StrEnum):
    """What the counts are of."""

    AGENT = "agent"
    TOOL = "tool"


class RankingSort(StrEnum):
    """What stands first; the highest value does."""

    WASTE = "waste"
    COST = "cost"
    LOOPING = "looping"
    SHARE = "share"
    EPISODES = "episodes"
    SESSIONS = "sessions"


_VALUES: Final[Mapping[RankingSort, Callable[[HealthReport], float]]] = {
    RankingSort.WASTE: lambda report: report.wasted_tokens_hour,
    RankingSort.COST: lambda report: report.wasted_cost_hour,
    RankingSort.LOOPING: lambda report: report.looping_now,
    RankingSort.SHARE: lambda report: report.share,
    RankingSort.EPISODES: lambda report: report.episodes_hour,
    RankingSort.SESSIONS: lambda report: report.sessions_hour,
}


@dataclass(frozen=True, slots=True)
class HealthQuery:
    """A question to the list: of agents or tools, in which order, with what in the name, from where on."""

    scope: RankingScope = RankingScope.AGENT
    sort: RankingSort = RankingSort.WASTE
    text: str = ""
    after: Position | None = None

    @classmethod
    def parse(cls, params: Mapping[str, str]) -> HealthQuery:
        """Read the parameters of the page.

        Raises:
            ConfigurationError: names what is wrong.
        """
        return cls(
            _word(RankingScope, "scope", params.get("scope") or RankingScope.AGENT),
            _word(RankingSort, "sort", params.get("sort") or RankingSort.WASTE),
            params.get("q", "").strip().casefold(),
            position_of(params.get("cursor", "")),
        )


@dataclass(frozen=True, slots=True)
class Ranking:
    """A page of the list: ``matching`` is how many there are on all pages, ``next`` the cursor."""

    reports: list[HealthReport]
    matching: int
    next: str | None


def ranking(reports: Iterable[HealthReport], query: HealthQuery, now: int) -> Ranking:
    """Return a page of the reports that a query asks for.

    Stale ones stand behind all others, since they say how it was. Ties are broken by name, so that rows of
    equal rank keep their places.
    """
    found = [each for each in reports if each.scope == query.scope and query.text in each.name.casefold()]
    placed = [(position(each, query.sort, now), each) for each in found]
    if query.after is not None:
        placed = [each for each in placed if each[0] > query.after]
    first = nsmallest(ROWS + 1, placed, key=lambda each: each[0])
    following = cursor_of(first[ROWS - 1][0]) if len(first) > ROWS else None
    return Ranking([each for _, each in first[:ROWS]], len(found), following)


def position(report: HealthReport, sort: RankingSort, now: int) -> Position:
    """Return where a report stands: fresh before stale, the greatest value first, then by name."""
    return int(report.is_stale(now)), -float(_VALUES[sort](report)), report.name


def totals(reports: Iterable[HealthReport], scope: RankingScope, now: int) -> dict[str, Any]:
    """Return what a scope adds up to: the hour of what is fresh, the day of what was seen within it.

    The waste of tools is not added up, because an episode counts in full for each of its tools.
    """
    found = [each for each in reports if each.scope == scope and now - each.as_of <= DAY_MS]
    fresh = [each for each in found if not each.is_stale(now)]
    counts: dict[str, Any] = {
        "known": len(found),
        "fresh": len(fresh),
        "with_loops": sum(each.looping_now > 0 for each in fresh),
    }
    if scope is RankingScope.TOOL:
        return counts
    return counts | {
        "sessions_hour": sum(each.sessions_hour for each in fresh),
        "looping_now": sum(each.looping_now for each in fresh),
        "episodes_hour": sum(each.episodes_hour for each in fresh),
        "wasted_tokens_hour": sum(each.wasted_tokens_hour for each in fresh),
        "wasted_cost_hour": sum(each.wasted_cost_hour for each in fresh),
        "wasted_tokens_day": sum(each.wasted_tokens_day for each in found),
        "wasted_cost_day": sum(each.wasted_cost_day for each in found),
    }


def _word(words: type[_Word], name: str, value: str) -> _Word:
    try:
        return words(value)
    except ValueError:
        known = ", ".join(words)
        raise ConfigurationError(f'Unknown {name} "{printable(value, 40)}". Known are {known}.') from None


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
    for sample in chain.from_iterable(sources):
        key = sample.scope, sample.name, sample.bucket
        found[key] = merged_health(found[key], sample) if key in found else sample
    return sorted(found.values(), key=lambda row: row.bucket)


def last_of_each(rows: Iterable[HealthRow], step_ms: int) -> dict[int, HealthRow]:
    """Return the newest sample of each step of time, by the beginning of the step."""
    found: dict[int, HealthRow] = {}
    for sample in rows:
        begins = sample.bucket // step_ms * step_ms
        if begins not in found or found[begins].bucket <= sample.bucket:
            found[begins] = sample
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


#: Open sessions that the page lists.
MOST_OPEN: Final = 50


def open_sessions(model: ReadModel, scope: RankingScope, name: str, now: int) -> dict[str, Any]:
    """Return the sessions of an agent, or those that loop with a tool, that are not over: worst first."""
    found = [
        about
        for about in model.attention(now).values()
        if about.ending is None and _concerns(about, scope, name)
    ]
    found.sort(key=lambda about: about.position)
    shown = found[:MOST_OPEN]
    return {
        "open": [row(about, model.control(about.session_id, now), now) for about in shown],
        "open_count": len(found),
    }


def _concerns(about: Attention, scope: RankingScope, name: str) -> bool:
    if scope is RankingScope.AGENT:
        return about.case.session.agent_id == name
    return name in tools(about)


def shared_loops(model: ReadModel, report: HealthReport, now: int) -> list[dict[str, Any]]:
    """Return the signatures that loop in several sessions, each with its cause: a group of the inbox.

    ``cause_key`` is None if no session that loops with it is in memory.
    """
    causes: dict[str, Attention] = {}
    for about in model.attention(now).values():
        if about.episode is not None and about.case.session.agent_id == report.name:
            for signature in orjson.loads(about.episode.signatures):
                causes.setdefault(str(signature), about)
    return [
        {
            "signature": chain.signature,
            "sessions": chain.sessions,
            "cause_key": about.episode.cause_key if about and about.episode else None,
            "what": row(about, about.control, now)["what"] if about else "",
        }
        for chain in report.cross_chains
        for about in (causes.get(chain.signature),)
    ]


def settings_changes(versions: Iterable[VersionRow], since: int) -> list[dict[str, Any]]:
    """Return the changes of detection settings since a time, oldest first.

    >>> versions = [VersionRow("detector-config", 4, 9_000, 7, None, "ana", "fewer false alarms", "{}")]
    >>> settings_changes(versions, 8_000)
    [{'at': 9000, 'version': 7, 'by': 'ana', 'why': 'fewer false alarms'}]
    """
    made = [
        (each.at or each.ts, each)
        for each in versions
        if each.topic == Topic.DETECTOR_CONFIG and each.body is not None
    ]
    return [
        {"at": at, "version": each.version, "by": each.by, "why": each.why}
        for at, each in sorted(made, key=lambda each: (each[0], each[1].version))
        if at >= since
    ]

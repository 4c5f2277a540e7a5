"""The list of agents or tools, worst first, and the totals above it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from heapq import nsmallest
from typing import Any, Final, TypeVar

from streams.console.health.report import DAY_MS, HealthReport
from streams.console.inbox.query import cursor_of, position_of
from streams.console.read_model.attention import Position
from streams.core.domain.text.printable import printable
from streams.core.errors import ConfigurationError

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

"""What a record of agent-health says of an agent or a tool, with every value that does not fit left out."""

from __future__ import annotations

from typing import Any, Final, NamedTuple

import orjson

from streams.console.read_model.rows import HealthRow

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

"""What would have come of a policy in dry run, counted from what did happen. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from enum import StrEnum
from typing import Final, NamedTuple

from streams.console.interventions.decided import Decided
from streams.console.read_model.source import Fields
from streams.console.whatif import counterfactual

RECOVERS_WITHIN: Final = 10
"""Records after which a recovery is no longer one that a pause would only have disturbed."""


_RECOVERED: Final = "recovered"
#: Its session was silent until its state was removed: how it would have continued is not known.
_EXPIRED: Final = "expired"


class Fate(StrEnum):
    """What the session did after a pause that was not."""

    WENT_ON = "went_on"
    """It looped on."""
    RECOVERED = "recovered"
    """It found its way out by itself within a few records: the pause would have been in vain."""
    OPEN = "open"
    """It is too early to say."""
    UNKNOWN = "unknown"
    """The episode is not held any more."""


class PauseOutcome(NamedTuple):
    """A pause that was not, what the session did, and the records, tokens and cost that it took since."""

    decided: Decided
    fate: Fate
    records: int
    tokens: float
    cost: float | None


class Score(NamedTuple):
    """The outcomes of a rule under a version of the policy, together.

    Tokens and cost are those of the sessions that looped on: what a session spent that found its way out was
    no waste. The cost is None if none of them told one.
    """

    rule: str
    version: int
    paused: int
    went_on: int
    recovered: int
    open: int
    withheld: int
    tokens: float
    cost: float | None


def outcomes(decisions: Iterable[Decided], events: Mapping[str, Iterable[Fields]]) -> list[PauseOutcome]:
    """Return what became of each session that would have been paused, newest first.

    Args:
        decisions: Decisions of policies, oldest first.
        events: Those of each episode, in any order.
    """
    found = [
        _outcome(each, events.get(each.done.episode_id, ())) for each in decisions if not each.done.withheld
    ]
    return found[::-1]


def _outcome(decided: Decided, events: Iterable[Fields]) -> PauseOutcome:
    ordered = sorted(
        events, key=lambda each: (each["partition"], each["offset"], each["phase"] == _RECOVERED)
    )
    if not ordered:
        return PauseOutcome(decided, Fate.UNKNOWN, 0, 0, None)
    course: list[Fields] = []
    for event in ordered:
        if (event["partition"], event["offset"]) > (decided.partition, decided.offset):
            course.append(event)
            if event["phase"] == _RECOVERED:
                break  # an episode that is reopened counts its records and tokens from there
    told = [{"tokens_since_onset": decided.tokens, "cost_since_onset": decided.cost}]
    told += [{name: each[name] for name in ("tokens_since_onset", "cost_since_onset")} for each in course]
    less = counterfactual([{**each, "tokens_since_onset": each["tokens_since_onset"] or 0} for each in told])
    records = max(0, course[-1]["records"] - decided.records) if course else 0
    return PauseOutcome(decided, _fate(course, records), records, max(0, less.tokens), less.cost)


def _fate(course: Sequence[Fields], records: int) -> Fate:
    if records > RECOVERS_WITHIN:
        return Fate.WENT_ON
    is_over = bool(course) and course[-1]["phase"] == _RECOVERED and course[-1]["reason"] != _EXPIRED
    return Fate.RECOVERED if is_over else Fate.OPEN


def scores(decisions: Iterable[Decided], found: Iterable[PauseOutcome]) -> list[Score]:
    """Return the score of each rule and version, the newest version first."""
    rows: dict[tuple[int, str], Score] = {}
    for each in decisions:
        key = each.version, each.done.rule
        row = rows.setdefault(key, Score(each.done.rule, each.version, 0, 0, 0, 0, 0, 0, None))
        rows[key] = row._replace(withheld=row.withheld + each.done.withheld)
    for outcome in found:
        key = outcome.decided.version, outcome.decided.done.rule
        row = rows[key]
        rows[key] = row._replace(
            paused=row.paused + 1,
            went_on=row.went_on + (outcome.fate is Fate.WENT_ON),
            recovered=row.recovered + (outcome.fate is Fate.RECOVERED),
            open=row.open + (outcome.fate in (Fate.OPEN, Fate.UNKNOWN)),
            tokens=row.tokens + (outcome.tokens if outcome.fate is Fate.WENT_ON else 0),
            cost=_plus(row.cost, outcome.cost if outcome.fate is Fate.WENT_ON else None),
        )
    return [rows[key] for key in sorted(rows, key=lambda each: (-each[0], each[1]))]


def _plus(cost: float | None, more: float | None) -> float | None:
    return cost if more is None else round((cost or 0.0) + more, 4)


def open_breakers(decisions: Iterable[Decided], version: int) -> dict[str, str]:
    """Return each rule of a version whose breaker is open, with the limit that opened it."""
    found: dict[str, str] = {}
    for each in decisions:
        if each.done.withheld and each.version == version:
            found.setdefault(each.done.rule, each.why)
    return found

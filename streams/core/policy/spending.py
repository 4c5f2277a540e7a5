"""Whether a session spends more than it may: in a minute, in all, or than others of its kind (7.8). Pure.

What a session uses in a minute and what it costs follow from its own records. What its kind of task takes is
known where the completed tasks of all sessions are counted, so a session tells there from time to time what
it has used (`Outlay`), and is compared there.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Mapping, Sequence
from enum import StrEnum
from typing import Any, Final, NamedTuple, Protocol

from streams.core.domain.aggregates.task_profile import Outlay
from streams.core.domain.decision import Decision
from streams.core.domain.event_kind import EventKind
from streams.core.domain.number import r4, within_doubles
from streams.core.domain.outcome import Finding
from streams.core.domain.session import Session
from streams.core.domain.settings.general import GeneralSettings
from streams.core.domain.text.digest import bounded

#: Name of the state among those of a session.
SPENDING: Final = "spending"

#: Minutes over which the tokens of a minute are averaged: one large step is no rate.
MINUTES: Final = 5

#: An excess is over once what is spent is below this share of its limit, so that it does not come and go.
CALM: Final = 0.5

#: No record counts for more tokens: sums stay numbers that can be kept.
_MOST: Final = 10**15

#: Tokens of a session at which it is compared with its kind, each half as many again as the one before.
OUTLAYS: Final = tuple(20_000 * 1.5**step for step in range(62))

_MINUTE_MS: Final = 60_000


class Measure(StrEnum):
    """What is too much."""

    RATE = "tokens_per_minute"
    COST = "cost"
    KIND = "kind"
    """Tokens of the session, beside what completed tasks of its type took."""


class ExcessPhase(StrEnum):
    """How far an excess has come."""

    OVER = "over"
    STILL_OVER = "still_over"
    UNDER = "under"
    ENDED = "ended"
    """The session is over."""


class Excess(NamedTuple):
    """That a session is over a limit since a record.

    Attributes:
        offset, at: of the record that reached the limit, its time in ms.
        records: how many came after it.
    """

    offset: int
    at: int
    records: int = 0


class Spending(NamedTuple):
    """What is kept of a session.

    Attributes:
        minute: the newest minute, by timestamps, in minutes since 1970.
        used: tokens of the newest minutes, oldest first, `MINUTES` at most.
        rate, cost: the fields of the `Excess` that goes on; empty while it is within its limit.
    """

    minute: int = 0
    used: Sequence[float] = ()
    rate: Sequence[int] = ()
    cost: Sequence[int] = ()

    @property
    def tokens_per_minute(self) -> float:
        """Tokens a minute over the newest five minutes.

        >>> Spending(7, (1_000, 0, 500)).tokens_per_minute
        300.0
        """
        return r4(sum(self.used) / MINUTES)


def spending_of(states: Mapping[str, Sequence[Any]]) -> Spending:
    """Return what is kept among the states of a session, fresh when there is nothing."""
    stored = states.get(SPENDING)
    if stored is None:
        return _FRESH
    return stored if isinstance(stored, Spending) else Spending(*stored)


_FRESH: Final = Spending()


def follow_spending(
    before: Spending, decision: Decision, number: int, tokens: float, settings: GeneralSettings
) -> tuple[Spending | None, list[Finding], Outlay | None]:
    """Return what is kept after the next record, what is told, and what its kind is told.

    The state is None where nothing has to be kept: nearly always, unless limits are set.

    Args:
        before: what was kept of the session.
        decision: the next record of the session.
        number: which of its records that counts it is, as `eddy.step` has it.
        tokens: what the session has used with it.
        settings: the settings in force for the record.
    """
    found: list[Finding] = []
    after, limit = before, settings.spend_tokens_per_minute
    if limit or before.used:
        after = _counted(after, decision) if limit else after._replace(minute=0, used=())
        rate = after.tokens_per_minute
        excess, told = _compared(Measure.RATE, before.rate, decision, rate, limit, tokens, settings)
        after, found = after._replace(rate=excess), told
    cost, most = decision.cumulative_cost, settings.spend_cost
    if cost is not None and (most or before.cost):
        cost = r4(within_doubles(cost))
        excess, told = _compared(Measure.COST, before.cost, decision, cost, most, tokens, settings)
        after, found = after._replace(cost=excess), [*found, *told]
    kept = None if after is _FRESH or after == _FRESH else after
    return kept, found, _outlay(decision, number, tokens, settings.spend_times_kind)


def _outlay(decision: Decision, number: int, tokens: float, times: int) -> Outlay | None:
    """Return what a session tells where tasks of its type are counted, None where that is not due."""
    # What it took in all, the completion tells.
    if not times or tokens < OUTLAYS[0] or not decision.task_type or decision.is_terminal:
        return None
    if bisect_right(OUTLAYS, tokens) == bisect_right(OUTLAYS, tokens - decision.tokens_used):
        return None
    return Outlay(
        task_type=bounded(decision.task_type or ""),
        partition=decision.partition,
        offset=decision.offset,
        at=decision.timestamp,
        session_id=decision.session_id,
        agent_id=bounded(decision.agent_id),
        event_id=bounded(decision.event_id),
        tokens=tokens,
        cost=decision.cumulative_cost,
        times=times,
        number=number,
    )


class Place(Protocol):
    """The record that an event of an excess is about: a decision, the last one of a session, or an outlay."""

    @property
    def partition(self) -> int:
        """Its partition of the input."""

    @property
    def offset(self) -> int:
        """Its offset there."""


def excess_finding(
    phase: ExcessPhase,
    measure: Measure,
    excess: Excess,
    session_id: str,
    place: Place,
    at: int,
    tokens: float,
    cost: float | None,
    **amounts: float,
) -> Finding:
    """Return what is told of an excess.

    Args:
        phase: How far it has come.
        measure: What is too much.
        excess: Since which record, and how many records later.
        session_id: The session that overspends.
        place: The record that it is told with.
        at: Time of that record, ms.
        tokens: What the session has used in all.
        cost: What it has cost in all, None if that is not known.
        amounts: What it spends, its limit, and the completed tasks it was compared with.
    """
    fields = {
        "phase": str(phase),
        "rule": str(measure),
        "episode_id": f"{session_id}/{place.partition}/{excess.offset}/{measure}",
        **amounts,
        "records": excess.records,
        "first_offset": excess.offset,
        "first_timestamp": excess.at,
        "last_offset": place.offset,
        "last_timestamp": at,
        "tokens_since_onset": r4(tokens) if type(tokens) is float else tokens,
        "cost_since_onset": None if cost is None else r4(cost),
    }
    return Finding(EventKind.OVERSPENDING, fields)


def ending(state: Spending, session_id: str, session: Session, tokens: float) -> list[Finding]:
    """Return what is told if a session ends while it overspends."""
    found = []
    for measure, kept in ((Measure.RATE, state.rate), (Measure.COST, state.cost)):
        if kept:
            told = session_id, session, session.timestamp, tokens, None
            found.append(excess_finding(ExcessPhase.ENDED, measure, Excess(*kept), *told))
    return found


def _counted(state: Spending, decision: Decision) -> Spending:
    """Return the state with the tokens of a record in their minute.

    One that is older than all of these minutes begins them anew: a clock that was ahead must not hide what
    comes after it.

    >>> one = Spending(10, (5,))
    >>> class Later:
    ...     timestamp, tokens_used = 12 * 60_000, 7
    >>> _counted(one, Later).used
    (5, 0, 7)
    """
    minute, tokens = decision.timestamp // _MINUTE_MS, max(0, min(decision.tokens_used, _MOST))
    used, ahead = [*state.used], minute - state.minute
    if not used or ahead <= -MINUTES:
        return state._replace(minute=minute, used=(tokens,))
    if ahead > 0:
        used = [*used, *[0] * min(ahead - 1, MINUTES), tokens][-MINUTES:]
        return state._replace(minute=minute, used=tuple(used))
    used = [*[0] * (1 - ahead - len(used)), *used]
    used[ahead - 1] += tokens
    return state._replace(used=tuple(used))


def _compared(
    measure: Measure,
    before: Sequence[int],
    decision: Decision,
    spent: float,
    limit: float,
    tokens: float,
    settings: GeneralSettings,
) -> tuple[Sequence[int], list[Finding]]:
    """Return the excess from now on, and what is told of it."""
    if not before:
        if not limit or spent < limit:
            return (), []
        phase, excess = ExcessPhase.OVER, Excess(decision.offset, decision.timestamp)
    else:
        offset, at, records = before
        excess = Excess(offset, at, records + 1)
        beat = settings.alert_heartbeat_records
        if not limit or spent < CALM * limit:
            phase = ExcessPhase.UNDER
        elif beat and excess.records % beat == 0:
            phase = ExcessPhase.STILL_OVER
        else:
            return (*excess,), []
    told = decision.session_id, decision, decision.timestamp, tokens, decision.cumulative_cost
    found = excess_finding(phase, measure, excess, *told, spent=float(spent), limit=float(limit))
    return () if phase is ExcessPhase.UNDER else (*excess,), [found]

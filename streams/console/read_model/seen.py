"""The sessions that somebody may see: those of a read model, or those of some agents in it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Final, Protocol

from streams.console.read_model.attention import Attention
from streams.console.read_model.case import Case
from streams.console.read_model.control import ControlState, Hold
from streams.console.read_model.rows import CommandRow


class SessionsSeen(Protocol):
    """What lists, maps and pages of sessions are made from: `ReadModel`, or a part of it."""

    @property
    def cases(self) -> Mapping[str, Case]:
        """The sessions in memory."""

    @property
    def holds(self) -> Mapping[str, Mapping[str, CommandRow]]:
        """The commands of each hold, by ``all`` or ``agent/<id>``."""

    @property
    def newest_ts(self) -> int | None:
        """Kafka's time of the newest record of a session, None before any."""

    @property
    def live_ms(self) -> int:
        """How long after its newest record a session is live."""

    def attention(self, now: int) -> Mapping[str, Attention]:
        """Return what needs an operator at a moment, by session."""

    def about(self, session_id: str, now: int) -> Attention | None:
        """Return why a session needs an operator at a moment; None if it does not."""

    def control(self, session_id: str, now: int) -> ControlState:
        """Return what control means for a session at a moment."""

    def find(self, session_id: str) -> Case | None:
        """Return a session that is in memory or in the archive, None if it is in neither."""

    def live(self, now: int) -> int:
        """Return how many sessions had a record lately."""

    def holds_in_force(self, now: int) -> Sequence[Hold]:
        """Return the holds in force at a moment, that of everything first."""


_COUNTED_MS: Final = 5_000


class LiveCount:
    """How many sessions had a record lately, as counted within the last five seconds."""

    def __init__(self) -> None:
        self._counted = -_COUNTED_MS, 0

    def at(self, now: int, cases: Callable[[], Iterable[Case]], live_ms: int) -> int:
        """Return the count at a moment.

        Args:
            now: Time of the call, in milliseconds since 1970.
            cases: Returns the sessions; it is asked when they are counted.
            live_ms: How long after its newest record a session is live.
        """
        counted_at, count = self._counted
        if not 0 <= now - counted_at < _COUNTED_MS:
            count = sum(is_live(case, now - live_ms) for case in cases())
            self._counted = now, count
        return count


def is_live(case: Case, since: int) -> bool:
    """Tell whether a session has not ended and had a record since a time."""
    return (case.session.last_ts or 0) >= since and not case.session.ended


class TeamSessions:
    """The sessions of some agents.

    A session is of the agent that spoke last in it, and of no team as long as none is known.

    Args:
        whole: Everything that is known.
        is_of_team: Tells whether an agent is of the team; None is one that is not known.
    """

    def __init__(self, whole: SessionsSeen, is_of_team: Callable[[str | None], bool]) -> None:
        self._whole = whole
        self._is_of_team = is_of_team
        self._live = LiveCount()

    @property
    def cases(self) -> Mapping[str, Case]:
        """The sessions in memory."""
        known: dict[str | None, bool] = {}
        found = {}
        for session_id, case in self._whole.cases.items():
            agent = case.session.agent_id
            if agent not in known:
                known[agent] = self._is_of_team(agent)
            if known[agent]:
                found[session_id] = case
        return found

    @property
    def holds(self) -> Mapping[str, Mapping[str, CommandRow]]:
        """The commands of each hold: they say what holds the sessions of the team."""
        return self._whole.holds

    @property
    def newest_ts(self) -> int | None:
        """Kafka's time of the newest record of any session: how fresh everything is."""
        return self._whole.newest_ts

    @property
    def live_ms(self) -> int:
        """How long after its newest record a session is live."""
        return self._whole.live_ms

    def attention(self, now: int) -> Mapping[str, Attention]:
        """Return what needs an operator at a moment, by session."""
        return {
            session_id: about
            for session_id, about in self._whole.attention(now).items()
            if self._of_team(self._whole.cases.get(session_id))
        }

    def about(self, session_id: str, now: int) -> Attention | None:
        """Return why a session of the team needs an operator at a moment."""
        case = self._whole.cases.get(session_id)
        return self._whole.about(session_id, now) if self._of_team(case) else None

    def control(self, session_id: str, now: int) -> ControlState:
        """Return what control means for a session at a moment; nothing for one of others."""
        case = self._whole.cases.get(session_id)
        return self._whole.control(session_id, now) if self._of_team(case) else ControlState()

    def find(self, session_id: str) -> Case | None:
        """Return a session of the team that is in memory or in the archive."""
        case = self._whole.find(session_id)
        return case if self._of_team(case) else None

    def live(self, now: int) -> int:
        """Return how many sessions had a record lately, as counted within the last five seconds."""
        return self._live.at(now, self._known, self.live_ms)

    def holds_in_force(self, now: int) -> Sequence[Hold]:
        """Return the holds in force that reach an agent of the team."""
        holds = self._whole.holds_in_force(now)
        return [hold for hold in holds if hold.agent_id is None or self._is_of_team(hold.agent_id)]

    def _known(self) -> Iterable[Case]:
        return self.cases.values()

    def _of_team(self, case: Case | None) -> bool:
        return case is not None and self._is_of_team(case.session.agent_id)

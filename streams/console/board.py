"""What the screens read: everything that is known, wherever it came from."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from streams.console.view import RecordStep
from streams.console.workers import SessionStanding
from streams.core.detectors.settings import DetectionSettings


@dataclass(frozen=True, slots=True)
class Steps:
    """The steps of a session that are at hand, oldest first.

    Attributes:
        steps: the newest, or those before a place.
        lost_before: time before which no step is held any more, ms since 1970; None if none is lost.
        why_lost: Why steps are missing, in words.
        earlier: whether there are earlier ones that were not asked for.
        gaps: how many steps are known of but not there, or are not what a step must be.
        from_topic: whether the topic was searched, because the index does not know the steps.
    """

    steps: tuple[RecordStep, ...]
    lost_before: int | None = None
    why_lost: str = ""
    earlier: bool = False
    gaps: int = 0
    from_topic: bool = False


@dataclass(frozen=True, slots=True)
class Facts:
    """What the frame of each page says.

    Attributes:
        source: which cluster or files.
        newest: time of the newest record, ms since 1970.
        lag: records that are not read yet.
        history_from: how far back the history goes, in words, until it is complete.
        counts: how many need somebody, by screen.
        holds: what is on hold: `what`, `until`, `by`, `why`, `obeyed`.
        silent_ms: for how long brokers have not answered; None if they do.
        trouble: why the pages may show what was and not what is, in a few words; empty if nothing is known.
    """

    source: str
    newest: int | None = None
    lag: int = 0
    history_from: str | None = None
    counts: Mapping[str, int] = field(default_factory=dict)
    holds: tuple[Mapping[str, Any], ...] = ()
    silent_ms: int | None = None
    trouble: str = ""


@dataclass(frozen=True, slots=True)
class FollowerReadings:
    """How far the reading is.

    Attributes:
        lag: records that are not folded yet, by topic.
        folded, unreadable: Number of records, by topic.
        seconds: Time that folding took, in seconds.
        begun: whether the brokers have told where the topics end.
        silent_ms: for how long brokers have not answered about alerts or commands; None if they do.
        breakers: how many breakers of the live policy are open: of it, of rules, of agents.
    """

    lag: Mapping[str, int] = field(default_factory=dict)
    folded: Mapping[str, int] = field(default_factory=dict)
    unreadable: Mapping[str, int] = field(default_factory=dict)
    seconds: float = 0.0
    begun: bool = True
    silent_ms: int | None = None
    breakers: int = 0


class Board(Protocol):
    """What is known of the sessions."""

    def within(self, agents: tuple[str, ...]) -> Board:
        """Return what people see who are limited to some agents.

        Args:
            agents: Patterns of the agents.
        """

    @property
    def live(self) -> bool:
        """Whether it follows a stream; else it shows files, and nothing can be done."""

    def facts(self, now: int) -> Facts:
        """Return what the frame of each page says."""

    def alerts(self, query: Mapping[str, str], now: int) -> Mapping[str, Any]:
        """Return the inbox.

        Raises:
            ConfigurationError: the query has a word that is not known.
        """

    def many(self, cause: str, chosen: Sequence[str], now: int) -> Mapping[str, Any] | None:
        """Return what an action on several rows of the inbox is about; None if none of them is there."""

    def sessions(self, query: Mapping[str, str], now: int) -> Mapping[str, Any]:
        """Return a list of sessions.

        Raises:
            ConfigurationError: as for `alerts`.
        """

    def readings(self) -> FollowerReadings:
        """Return how far the reading is."""

    def look_at(self, sessions: frozenset[str]) -> None:
        """Note whose pages are open: everything about these sessions is read."""

    def version(self, session_id: str) -> object:
        """Return what changes whenever the page of a session does."""

    def session(self, session_id: str, now: int) -> Mapping[str, Any] | None:
        """Return what is known of a session, whichever of its steps are read; None if nothing is.

        Among it is ``course``, the `LoopCourse` of the session.
        """

    @property
    def first_page(self) -> str:
        """The page to begin with."""

    async def standing(self, session_id: str) -> SessionStanding:
        """Return where a session stands, by the worker that has it."""

    def missing(self, session_id: str) -> str:
        """Say that there is no such session."""

    def explained_by(self, session_id: str) -> str:
        """Return the command that explains a session."""

    @property
    def settings(self) -> DetectionSettings:
        """The settings of detection in force."""

    async def number_at(self, session_id: str, offset: int) -> int | None:
        """Return the number of the first step from an offset of decision-logs on; None if unknown."""

    async def steps(self, session_id: str, *, before: int | None, limit: int) -> Steps:
        """Return steps of a session; none if the session is not known."""

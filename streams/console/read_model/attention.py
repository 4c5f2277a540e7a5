"""Which sessions need an operator, and how badly: the classes and tabs of the inbox (one row per session)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

import orjson

from streams.console.read_model.case import FOREVER, Case
from streams.console.read_model.control import (
    GRACE_MS,
    CommandState,
    ControlState,
    control_of,
    forgotten_at,
    resumed_at,
)
from streams.console.read_model.episode import entropy_id
from streams.console.read_model.place import NOWHERE, place
from streams.console.read_model.rows import AckRow, CommandRow, EpisodeRow, FindingRow, TriageRow
from streams.console.read_model.session import SessionState
from streams.console.read_model.triage import (
    ACKNOWLEDGED,
    NOT_A_LOOP,
    OPEN,
    DecisionStanding,
    EpisodeSeen,
    standing,
    subject_of,
)
from streams.core.domain.event_kind import EventKind
from streams.core.domain.level import Level, NodeState
from streams.core.policy.silence import SILENT
from streams.core.policy.spending import ExcessPhase

_MINUTE_MS: Final = 60_000
_HOUR_MS: Final = 60 * _MINUTE_MS
DAY_MS: Final = 24 * _HOUR_MS

#: A loop without a record for so long is silent.
SILENT_MS: Final = 5 * _MINUTE_MS

#: A finding that opens no episode stands for so long.
_FINDING_MS: Final = _HOUR_MS

#: How soon a session under control is looked at again: what guards say changes with time.
_CONTROL_MS: Final = 5_000


#: One that ended in its loop waits so long for somebody: as long as the topics hold records by default.
_DIED_MS: Final = 7 * DAY_MS


class Class(StrEnum):
    """How badly a session needs an operator; the last two are over."""

    CRITICAL = "critical"
    HIGH = "high"
    MEDIUM = "medium"
    LOW = "low"
    ENDED = "ended"
    RECOVERED = "recovered"


RANK: Final = {each: rank for rank, each in enumerate(Class)}


Position = tuple[int, float, str]
"""Where a row stands in the order: rank of its class, what it is sorted by, session."""


class Tab(StrEnum):
    """Where the inbox shows a session."""

    NEEDS_YOU = "needs_you"
    WATCHING = "watching"
    HANDLED = "handled"
    ENDED = "ended"
    RECOVERED = "recovered"


class LoopEnding(StrEnum):
    """How a loop came to its end. Only the first is good."""

    RECOVERED = "recovered"
    """The session went on and got out of it."""
    IN_LOOP = "ended in the loop"
    """The session ended, and nobody had stopped it."""
    ABORTED = "aborted"
    """A person ended the session."""
    BUDGET = "budget used up"
    """The session ended when its budget was used up."""
    SILENT = "fell silent"
    """Nothing came of the session any more."""
    UNKNOWN = "over"
    """A newer worker knows why."""


@dataclass(frozen=True, slots=True)
class Attention:
    """What a session needs at a moment; it stays right until ``until`` if no record comes."""

    session_id: str
    case: Case
    class_: Class
    rank: int
    tab: Tab
    ending: LoopEnding | None
    episode: EpisodeRow | None
    finding: FindingRow | None
    tokens: float
    cost: float
    since: int
    newest: int
    control: ControlState
    triage: TriageRow | None
    standing: DecisionStanding
    until: int
    position: Position

    @property
    def subject(self) -> str:
        """What a triage action names."""
        return subject_of(self.session_id) if self.episode is None else self.episode.episode_id


@dataclass(frozen=True, slots=True)
class Surroundings:
    """What a session is judged by besides its own records."""

    triage: Mapping[str, TriageRow]
    holds: Mapping[str, Mapping[str, CommandRow]]
    live_ms: int


def control_at(case: Case, holds: Mapping[str, Mapping[str, CommandRow]], now: int) -> ControlState:
    """Return what control means for a session at a moment."""
    scopes = _scopes(case, holds)
    if not scopes and not case.guards:
        return _NO_CONTROL
    acks: dict[str, list[AckRow]] = {}
    for ack in case.acks.values():
        acks.setdefault(ack.command_id, []).append(ack)
    return control_of(scopes, acks, case.guards.values(), case.session.points, now)


def _scopes(case: Case, holds: Mapping[str, Mapping[str, CommandRow]]) -> list[Sequence[CommandRow]]:
    """Return the commands of each scope that reaches a session."""
    scopes: list[Sequence[CommandRow]] = [list(case.commands.values())] if case.commands else []
    if holds:
        keys = ("all", f"agent/{case.session.agent_id}")
        scopes += [list(holds[key].values()) for key in keys if key in holds]
    return scopes


_NO_CONTROL: Final = ControlState()


def attention(case: Case, around: Surroundings, now: int) -> Attention | None:
    """Return what a session needs, None if nothing."""
    session = case.session
    if not (case.episodes or case.findings or case.commands or around.holds or _waits(session)):
        return None  # as nearly all
    last = session.last_ts or 0
    control = control_at(case, around.holds, now)
    episode = case.newest_episode(is_open=True) if case.episodes else None
    class_, until, finding = _class(case, control, episode, around.live_ms, now)
    ending: LoopEnding | None = None
    if class_ is None:
        episode = case.newest_episode(is_open=False) if case.episodes else None
        if episode is None:
            return None
        ending = _ending(session, episode, control)
        waits = _waits_for_somebody(session, episode, ending, around.triage.get(episode.episode_id))
        until = episode.seen_ts + (_DIED_MS if waits else DAY_MS)
        if now >= until:
            return None
        class_ = Class.RECOVERED if ending is LoopEnding.RECOVERED else Class.HIGH if waits else Class.ENDED
    if control.state is not CommandState.NONE:
        moments = (now + _CONTROL_MS, forgotten_at(control), control.ends_at(now))
        until = min(until, *(each for each in moments if each is not None))
    subject = subject_of(session.session_id) if episode is None else episode.episode_id
    triage = around.triage.get(subject)
    if (
        triage is not None
        and finding is not None
        and finding.kind in _TOLD
        and _began(finding) > (triage.at or 0)
    ):
        triage = None  # what was decided then was about something else
    resumed = resumed_at(_scopes(case, around.holds), now) if triage is not None and ending is None else None
    held = standing(
        triage,
        EpisodeSeen.of(episode),
        NOWHERE if episode is None else episode.reopened_place,
        now,
        control.since if control.continues else None,
        resumed if resumed is not None and last > resumed + GRACE_MS else None,
    )
    if triage is not None and triage.until is not None and triage.until > now:
        until = min(until, triage.until)
    return Attention(
        session_id=session.session_id,
        case=case,
        class_=class_,
        rank=RANK[class_],
        tab=_tab(class_, held, control, now),
        ending=ending,
        episode=episode,
        finding=finding,
        tokens=episode.tokens if episode is not None else 0,
        cost=(episode.cost or 0) if episode is not None else 0,
        since=episode.first_ts if episode is not None else (finding.ts if finding else last),
        newest=last,
        control=control,
        triage=triage,
        standing=held,
        until=until,
        position=(RANK[class_], -episode.tokens if episode is not None else 0, session.session_id),
    )


#: Kinds of findings that bring a session to people by themselves.
_TOLD: Final = frozenset(map(str, (EventKind.SILENT_SESSION, EventKind.OVERSPENDING)))


def _ending(session: SessionState, episode: EpisodeRow, control: ControlState) -> LoopEnding:
    if episode.reason == "quiet":
        return LoopEnding.RECOVERED
    if control.state is CommandState.ABORTED:
        return LoopEnding.ABORTED
    if episode.reason == "expired":
        return LoopEnding.SILENT
    if episode.reason != "terminal":
        return LoopEnding.UNKNOWN
    return LoopEnding.BUDGET if session.denied else LoopEnding.IN_LOOP


def _waits_for_somebody(
    session: SessionState, episode: EpisodeRow, ending: LoopEnding, triage: TriageRow | None
) -> bool:
    """Tell whether a session ended in a loop that nobody has acknowledged; not if it began again since."""
    began_again = session.agent_place > place(episode.partition, episode.seen_offset)
    if ending is not LoopEnding.IN_LOOP or episode.level != Level.LOOP or began_again:
        return False
    return triage is None or triage.state not in (ACKNOWLEDGED, NOT_A_LOOP)


def _waits(session: SessionState) -> bool:
    return bool(session.hitl) or session.drift_level in _DRIFTS or session.denied_place > NOWHERE


_DRIFTS: Final = frozenset({"CHECKPOINT_RESET", "ASK_USER"})


def _tab(class_: Class, held: DecisionStanding, control: ControlState, now: int) -> Tab:
    if class_ is Class.RECOVERED:
        return Tab.RECOVERED
    if class_ is Class.ENDED and held.state == OPEN:
        return Tab.ENDED
    if control.is_paused and control.ends_soon(now):
        return Tab.NEEDS_YOU
    if held.state != OPEN or control.is_paused:
        return Tab.HANDLED
    return Tab.NEEDS_YOU if class_ is Class.CRITICAL or class_ is Class.HIGH else Tab.WATCHING


def _class(
    case: Case, control: ControlState, episode: EpisodeRow | None, live_ms: int, now: int
) -> tuple[Class | None, int, FindingRow | None]:
    """Return the first class that holds, until when it does by itself, and the finding it rests on."""
    session = case.session
    last = session.last_ts or 0
    if control.continues:
        return Class.CRITICAL, FOREVER, None
    if episode is not None and episode.level == Level.LOOP:
        if now < last + SILENT_MS:
            return Class.CRITICAL, last + SILENT_MS, None
        return Class.HIGH, FOREVER, None
    asks, told = _asks(session), _silence(case, control) or _excess(case, control)
    if (asks or told) and not session.ended and now < last + DAY_MS:
        return Class.HIGH, last + DAY_MS, None if asks else told
    if episode is not None:
        return Class.MEDIUM, FOREVER, None
    gone = last + live_ms
    if session.ended or now >= gone:
        return None, FOREVER, None
    if (alert := _window_alert(case)) is not None and now < alert.ts + _FINDING_MS:
        return Class.MEDIUM, min(gone, alert.ts + _FINDING_MS), alert
    if session.drift_level == "CHECKPOINT_RESET":
        return Class.MEDIUM, gone, None
    if (found := _suspicion(case)) is not None and now < found.ts + _FINDING_MS:
        return Class.LOW, min(gone, found.ts + _FINDING_MS), found
    return None, FOREVER, None


def _window_alert(case: Case) -> FindingRow | None:
    """Return the entropy alerts if they still hold while the verdict is NORMAL."""
    if not case.findings:
        return None
    found = case.findings.get(entropy_id(case.session.session_id))
    if found is None or found.level not in {None, Level.NORMAL}:
        return None
    changed_since = case.session.node_place > place(found.partition, found.offset)
    return None if changed_since and case.session.shown_node != NodeState.ALERT_ENTROPY else found


def _asks(session: SessionState) -> bool:
    return session.drift_level == "ASK_USER" or bool(session.denied or session.hitl)


def _silence(case: Case, control: ControlState) -> FindingRow | None:
    """Return what was told of a session that is silent; None if it has spoken since, or is paused."""
    if not case.findings or control.is_paused:
        return None
    told = (each for each in case.findings.values() if each.kind == EventKind.SILENT_SESSION)
    # The end that housekeeping tells has the place of the record that the silence is about.
    newest = max(told, key=lambda row: (row.partition, row.offset, not _begins(row)), default=None)
    if newest is None or not _begins(newest):
        return None
    return None if case.session.agent_place > place(newest.partition, newest.offset) else newest


def _begins(row: FindingRow) -> bool:
    """Tell whether a session was told to be silent, by how the id ends (specification 7.5)."""
    return row.id.endswith(f"/{SILENT}")


#: How the ids of what is told of an excess end, as long as it goes on (specification 7.5).
_OVER: Final = tuple(f"/{phase}" for phase in (ExcessPhase.OVER, ExcessPhase.STILL_OVER))


def _began(finding: FindingRow) -> int:
    """Return the time at which an excess or a silence began, in ms by the clock of the agent."""
    fields = orjson.loads(finding.body) if finding.kind == EventKind.OVERSPENDING else {}
    began = fields.get("first_timestamp")
    return began if isinstance(began, int) else finding.ts


def _excess(case: Case, control: ControlState) -> FindingRow | None:
    """Return what was told last of a session that overspends; None if it does not, or is paused."""
    if not case.findings or control.is_paused:
        return None
    session = case.session
    ended = session.node_place if session.node == NodeState.IDLE else NOWHERE
    told = (
        each
        for each in case.findings.values()
        if each.kind == EventKind.OVERSPENDING and place(each.partition, each.offset) > ended
    )
    newest = {each.rule: each for each in sorted(told, key=lambda row: (row.partition, row.offset))}
    over = [each for each in newest.values() if each.id.endswith(_OVER)]
    return max(over, key=lambda row: (row.partition, row.offset, row.id), default=None)


_SUSPICIONS: Final = frozenset(
    map(str, (EventKind.DIVERGENCE_SUSPECTED, EventKind.DRIFT_PATTERN, EventKind.HANDOVER_LOOP))
)


def _suspicion(case: Case) -> FindingRow | None:
    return max(
        (each for each in case.findings.values() if each.kind in _SUSPICIONS),
        key=lambda row: (row.partition, row.offset, row.id),
        default=None,
    )

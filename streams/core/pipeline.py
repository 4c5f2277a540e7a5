"""The heart: records and the states of their sessions in, the next states and what is told out. Pure.

    record ── admit ──▶ Decision | Rejected
    session, Decision ── step ──▶ Session, Scored | Duplicate
    sessions, Decisions of a run ── steps ──▶ the same for each of them, in order

No clock, no I/O, no random numbers: the same records in the same order under the same settings give the
same output, byte for byte (specification 1.2). The worker, `eddy detect` and the tests all run this.

`steps` is `step` with its two loops exchanged: each detector looks at all records of the run before the next
detector does, so its code and what it reads stay in the caches of the processor.

Which records of a session came before, under another offset: a producer has sent them again. Pure.

A producer that is killed between sending and remembering sends again, and a client without idempotence may,
too. Such a record has the id, the time and the content of one of the newest records of its session.
"""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Callable, Iterable, Iterator, Sequence
from hashlib import blake2b
from typing import Any, Final, NamedTuple

from streams.core.conclusion import Coordinates, Evaluation, States, closing, concluded, event, live
from streams.core.detectors.detector import CloseReason, Layer
from streams.core.detectors.registry import DETECTORS
from streams.core.detectors.settings import DetectionSettings
from streams.core.domain.aggregates.contribution import Changes, Contribution, expiry_source
from streams.core.domain.decision import Decision
from streams.core.domain.level import NodeState
from streams.core.domain.outcome import Duplicate, Event, Rejected, Scored
from streams.core.domain.record import Record
from streams.core.domain.session import DAMAGE, DamagedSessionError, Session
from streams.core.domain.status import ScoringStatus, scoring_status
from streams.core.domain.twins import DECISION, known_fields
from streams.core.domain.validation import explained, problems
from streams.core.policy.activity import activity_of, leave
from streams.core.policy.silence import PACE, Pace, pace_of

REMEMBERED: Final = 32
"""Records of a session that are remembered, the newest ones."""

RECENT: Final = "recent"
"""The name under which they are kept among the states of a session."""

_BYTES: Final = 6
_LETTERS: Final = 8


class Recent(NamedTuple):
    """The newest records of a session, as one text of `_LETTERS` for each, the newest last."""

    digests: str = ""

    def has(self, digest: str) -> bool:
        """Tell whether a record is one of them.

        >>> Recent("AAAAAAABBBBBBBBB").has("AAABBBBB"), Recent("AAAAAAABBBBBBBBB").has("BBBBBBBB")
        (False, True)
        """
        at = self.digests.find(digest)
        while at >= 0 and at % _LETTERS:
            at = self.digests.find(digest, at + 1)
        return at >= 0

    def with_one_more(self, digest: str) -> Recent:
        """Return them with one more record, without the oldest of too many."""
        return Recent((self.digests + digest)[-_LETTERS * REMEMBERED :])


def recent_of(state: Sequence[Any] | None) -> Recent:
    """Return what a session remembers, from its state: as it was left, or as it was stored."""
    return state if isinstance(state, Recent) else Recent(*(state or ()))


def digest_of(decision: Decision) -> str:
    """Return the digest of what a record says: its id and time, and everything that it is judged by.

    Two records with one id and one time that differ in nothing but what `streams.core.domain.text` normalises
    away are one event.
    """
    delta = decision.state_delta
    said = (
        f"{decision.event_id}\0{decision.timestamp}\0{decision.signature}\0{decision.intent}\0{decision.kind}\0"
        f"{decision.tokens_used}\0{decision.progress_delta}\0{decision.cumulative_cost}\0"
        f"{decision.content_hash}\0{decision.target}\0{decision.is_terminal}\0{delta.get('context_quality')}"
    )
    return b64encode(blake2b(said.encode(), digest_size=_BYTES).digest()).decode()


class Step(NamedTuple):
    """What one record did: the session from now on, and what became of the record."""

    session: Session
    outcome: Scored | Duplicate


class Expired(NamedTuple):
    """What the removal of a session tells, and what it contributes to the views across sessions."""

    events: tuple[Event, ...] = ()
    contributions: tuple[Contribution, ...] = ()


def admit(record: Record, settings: DetectionSettings) -> Decision | Rejected:
    """Check a record (specification 2.2). What is accepted never makes `step` or a writer fail."""
    value = record.value
    known = known_fields(value)
    if known is not None and record.key == known["session_id"]:
        decision = DECISION.of(record.partition, record.offset, known)
        if not _is_ahead(decision.timestamp, record, settings):
            return decision
    found = list(problems(value))
    # Neither can be told of a record without a valid session_id or timestamp: that is a problem of its own.
    if "session_id" not in found and record.key != value["session_id"]:
        found.append("key")
    if not {"meta", "meta.timestamp"} & set(found) and _is_ahead(
        value["meta"]["timestamp"], record, settings
    ):
        found.append("meta.timestamp:future")
    return Rejected(tuple(found), explained(found, record, settings))


def _is_ahead(timestamp: int, record: Record, settings: DetectionSettings) -> bool:
    """Tell whether a record says it comes from a future that the topic does not know yet."""
    if record.timestamp is None or settings.max_future_ms == 0:
        return False
    return timestamp > record.timestamp + settings.max_future_ms


def step(session: Session | None, decision: Decision, settings: DetectionSettings) -> Step:
    """Apply one record to its session: the detectors look at it, and what they find is told.

    Args:
        session: the state of the record's session; None when there is none.
        decision: the record, as `admit` accepted it.
        settings: the settings in force for it.

    Raises:
        DamagedSessionError: the state is none that this function has returned.
    """
    try:
        return _step(session, decision, settings)
    except DAMAGE as error:
        if session is None:
            raise
        raise DamagedSessionError(decision.session_id, error) from error


def steps(
    held: Callable[[str], Session | None], decisions: Sequence[Decision], settings: DetectionSettings
) -> list[Step]:
    """Apply the records of a run to their sessions, each as `step` does, in order.

    Args:
        held: returns the session of an id as it is before the run, None when there is none.
        decisions: the records, as `admit` accepted them.
        settings: the settings in force for all of them.

    Raises:
        DamagedSessionError: the state of a session is none that `step` has returned.
    """
    try:
        return _steps(held, decisions, settings)
    except DAMAGE:
        # A detector at a time, it cannot be told whose state it was. Nothing has been changed yet.
        return [*_one_by_one(held, decisions, settings)]


def _one_by_one(
    held: Callable[[str], Session | None], decisions: Iterable[Decision], settings: DetectionSettings
) -> Iterator[Step]:
    sessions: dict[str, Session | None] = {}
    for decision in decisions:
        name = decision.session_id
        session = sessions[name] if name in sessions else held(name)
        done = step(session, decision, settings)
        sessions[name] = done.session
        yield done


def _steps(
    held: Callable[[str], Session | None], decisions: Sequence[Decision], settings: DetectionSettings
) -> list[Step]:
    sessions = {name: held(name) for name in dict.fromkeys([each.session_id for each in decisions])}
    newest: dict[str, Session | Evaluation | None] = {**sessions}
    rows: list[Evaluation | None] = []
    for decision in decisions:
        name = decision.session_id
        row = _opened(newest[name], decision, settings)
        rows.append(row)
        if row is not None:
            newest[name] = row
    _show([row for row in rows if row is not None], settings)
    done = []
    for decision, row in zip(decisions, rows, strict=True):
        session = sessions[decision.session_id]
        if row is None:
            assert session is not None
            done.append(Step(session, Duplicate(decision)))
        else:
            session, scored = concluded(session, row, settings)
            sessions[decision.session_id] = session
            done.append(Step(session, scored))
    return done


def _step(session: Session | None, decision: Decision, settings: DetectionSettings) -> Step:
    row = _opened(session, decision, settings)
    if row is None:
        assert session is not None
        return Step(session, Duplicate(decision))
    _show((row,), settings)
    return Step(*concluded(session, row, settings))


# Members of an enumeration cost a lookup each time; these are read for every record.
_NOT_SCORED = ScoringStatus.STATUS
_ACTIVE = NodeState.ACTIVE
_JUDGES = Layer.JUDGES
_NO_STATES: States = {}


def _opened(
    before: Session | Evaluation | None, decision: Decision, settings: DetectionSettings
) -> Evaluation | None:
    """Return the row of a record, None for a duplicate: by its position, or sent again by its producer.

    Args:
        before: its session before the record, or the record before it of the same session and run.
        decision: the record to be judged.
        settings: the settings in force for it.
    """
    timestamp = decision.timestamp
    begins, held, latest, number = True, _NO_STATES, timestamp, 0
    if before is not None:
        if before.has_applied(decision.partition, decision.offset):
            return None
        ttl = settings.session_ttl_ms
        if not before.ended and not 0 < ttl < timestamp - before.latest:
            begins, held, number = False, before.states, before.step
            latest = max(before.latest, timestamp)
    digest, recent = digest_of(decision), recent_of(held.get(RECENT))
    if not begins and recent.has(digest):
        return None
    scoring = scoring_status(decision, settings)
    eddy: dict[str, Any] = {
        "id": f"{decision.session_id}/{decision.partition}/{decision.offset}/enriched",
        "settings_version": settings.version,
        "scoring_status": str(scoring),
        "step": None,
    }
    if scoring is not _NOT_SCORED:
        eddy["step"] = number = number + 1
    row = Evaluation(decision, scoring, held, latest, number, eddy, begins=begins)
    row.states[RECENT] = recent.with_one_more(digest)
    return row


def _show(rows: Sequence[Evaluation], settings: DetectionSettings) -> None:
    """Let each detector look at the records: blocks, states and findings go into the rows."""
    for detector in DETECTORS:
        name, judges = detector.name, detector.layer is _JUDGES
        for row in rows:
            eddy = row.eddy
            state = row.held.get(name)
            if state is None or type(state) is list:
                state = live(detector, state, settings)
            seen = None
            if judges or row.scoring is not _NOT_SCORED:
                seen = detector.observe(state, row.decision, eddy, settings)
            if seen is None:
                row.states[name], eddy[name] = state, None
            else:
                row.states[name], eddy[name], found = seen
                if found:
                    row.findings += found


def expire(session_id: str, session: Session, settings: DetectionSettings) -> Expired:
    """Return what follows when housekeeping removes a session (specification 2.5): what was open is closed.

    The events carry the coordinates and the timestamp of the session's last record, and ``/expired`` at the
    end of their ids. The stub of an ended session has nothing to tell, and a shadow never tells anything.

    Raises:
        DamagedSessionError: the state is none that `step` has returned.
    """
    end = _End(CloseReason.EXPIRED, _ACTIVE, "/expired", (expiry_source(session.partition), session.offset))
    return _ended(session_id, session, end, settings)


def forget(session_id: str, session: Session, at: tuple[int, int], settings: DetectionSettings) -> Expired:
    """Return what follows when a session is forgotten (specification 2.9): it ends, what was open is closed.

    Args:
        session_id: Id of the session.
        session: As it is when the order is read.
        at: Partition and offset of the order, which is a source of contributions as a record is.
        settings: The settings in force for the order.

    Raises:
        DamagedSessionError: the state is none that `step` has returned.
    """
    return _ended(session_id, session, _End(CloseReason.TERMINAL, NodeState.IDLE, "/forgotten", at), settings)


class _End(NamedTuple):
    """How a session ends without a record: how its events end, and from which place it contributes."""

    reason: CloseReason
    node: NodeState
    suffix: str
    source: tuple[int, int]


def _ended(session_id: str, session: Session, end: _End, settings: DetectionSettings) -> Expired:
    if session.ended:
        return _NOTHING
    try:
        about = _coordinates(session_id, session)
        findings = closing(session, session_id, end.reason, end.node, settings)
        changes = Changes()
        leave(activity_of(session.states), findings, changes)
        return Expired(
            tuple([event(finding, about, settings, end.suffix) for finding in findings]),
            changes.contributions(*end.source, session.latest) if changes else (),
        )
    except DAMAGE as error:
        raise DamagedSessionError(session_id, error) from error


_NOTHING = Expired()


class Silenced(NamedTuple):
    """A session that has been silent for too long: as it is from then on, and what is told of it."""

    session: Session
    event: Event


def silence_limit(session_id: str, session: Session, settings: DetectionSettings) -> int | None:
    """Return after how many ms without a record a session counts as silent (specification 7.7).

    None where it never does: it owes no step, a person may be whom it waits for, it ended, or it was told
    to be silent already.

    Raises:
        DamagedSessionError: the state is none that `step` has returned.
    """
    try:
        pace = pace_of(session.states)
        return None if session.ended or pace.told else pace.limit_ms(settings)
    except DAMAGE as error:
        raise DamagedSessionError(session_id, error) from error


def fall_silent(session_id: str, session: Session, limit_ms: int, settings: DetectionSettings) -> Silenced:
    """Return what follows when the `silence_limit` of a session has passed.

    The event has the coordinates and the timestamp of the last record, so it is the same whenever it is told.
    """
    about = _coordinates(session_id, session)
    pace, finding = pace_of(session.states).falling_silent(limit_ms)
    return Silenced(_paced(session, pace), event(finding, about, settings))


def _paced(session: Session, pace: Pace) -> Session:
    # What is tried out tells nothing, so what differs there is not that it was not told.
    shadow = None if session.shadow is None or session.shadow.ended else _paced(session.shadow, pace)
    return session._replace(states={**session.states, PACE: pace}, shadow=shadow or session.shadow)


def _coordinates(session_id: str, session: Session) -> Coordinates:
    place = session.partition, session.offset
    return Coordinates(session_id, session.agent_id, session.event_id, session.timestamp, *place)

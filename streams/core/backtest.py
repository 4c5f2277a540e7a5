"""The same records under two settings documents, A and B: what would have been different. Pure.

Both judge from the first record given on, each with sessions of its own. A session is told when it has ended;
so memory grows with the sessions that are under way, not with the records.
"""

from __future__ import annotations

from collections import Counter, OrderedDict
from collections.abc import Iterator
from dataclasses import dataclass, field

from streams.core.detectors.settings import DetectionSettings
from streams.core.domain.decision import Decision
from streams.core.domain.outcome import Rejected
from streams.core.domain.record import Record
from streams.core.domain.session import Session
from streams.core.pipeline import admit, step
from streams.core.policy.comparison import DifferenceKind, Outcome
from streams.core.policy.session_comparison import FoundBy, SessionComparison


@dataclass(slots=True)
class Totals:
    """What is counted over all sessions that have ended.

    Attributes:
        unreadable: records that are no decision log at all.
        rejected: records that neither document accepts.
        records: records that at least one of them accepts.
        differing: those of them that differ.
        sessions, differing_sessions: sessions that have ended, and how many of them differ.
        kinds: records that differ, by what differs.
        loops: sessions by who found a loop in them.
        earlier, later: sessions in a loop under both that B found earlier or later than A.
        alerts_a, alerts_b: published alerts by rule.
    """

    unreadable: int = 0
    rejected: int = 0
    records: int = 0
    differing: int = 0
    sessions: int = 0
    differing_sessions: int = 0
    kinds: Counter[DifferenceKind] = field(default_factory=Counter)
    loops: Counter[FoundBy] = field(default_factory=Counter)
    earlier: int = 0
    later: int = 0
    alerts_a: Counter[str] = field(default_factory=Counter)
    alerts_b: Counter[str] = field(default_factory=Counter)

    def add(self, session: SessionComparison) -> None:
        """Count a session."""
        self.records += session.records
        self.differing += session.differing
        self.sessions += 1
        self.differing_sessions += session.differing > 0
        self.kinds.update(session.kinds)
        self.loops[session.found_by] += 1
        delay = session.delay or 0
        self.earlier += delay < 0
        self.later += delay > 0
        self.alerts_a.update(session.a.alerts)
        self.alerts_b.update(session.b.alerts)


@dataclass(slots=True)
class _UnderWay:
    """A session between two records. ``touched`` is the newest Kafka timestamp at its last record, ms."""

    number: int
    comparison: SessionComparison
    a: Session | None = None
    b: Session | None = None
    touched: int = 0


class Backtest:
    """Judges records under A and B, and reports for each session what differs.

    A session ends with its terminal record. One that is quiet for longer than both documents let a session
    live, with housekeeping's grace (specification 2.5), has ended too: the timestamps of the Kafka records
    are the clock of that, so records without one, as in files, never end a session this way.
    """

    def __init__(self, a: DetectionSettings, b: DetectionSettings) -> None:
        self.totals = Totals()
        self._a = a
        self._b = b
        self._under_way: OrderedDict[tuple[int, str], _UnderWay] = OrderedDict()
        self._numbers = 0
        self._clock = 0
        lives = [
            settings.session_ttl_ms and settings.session_ttl_ms + settings.state_grace_ms
            for settings in (a, b)
        ]
        self._life = max(lives) if all(lives) else None

    def unreadable(self) -> None:
        """Count a record that is no decision log at all."""
        self.totals.unreadable += 1

    def add(self, record: Record) -> Iterator[SessionComparison]:
        """Judge a record; yield the sessions that have ended with it or before it."""
        yield from self._expired(record)
        a = admit(record, self._a)
        b = a if self._a.max_future_ms == self._b.max_future_ms else admit(record, self._b)
        decision = b if isinstance(a, Rejected) else a
        if isinstance(decision, Rejected):
            self.totals.rejected += 1
            return
        key = record.partition, decision.session_id
        session = self._under_way.get(key)
        if session is None:
            session = self._under_way[key] = self._begun(record.partition, decision)
        self._under_way.move_to_end(key)
        session.touched = self._clock
        session.a, judged_a = _judge(session.a, a, self._a)
        session.b, judged_b = _judge(session.b, b, self._b)
        session.comparison.add(judged_a, judged_b)
        # One that refused the terminal record has not heard of the end.
        if decision.is_terminal and all(side is None or side.ended for side in (session.a, session.b)):
            yield self._ended(key)

    def finish(self) -> Iterator[SessionComparison]:
        """Yield the sessions that are under way, in the order in which they began: no record of them is left.

        Records of another partition may follow; it has a clock of its own.
        """
        for key, _ in sorted(self._under_way.items(), key=lambda item: item[1].number):
            yield self._ended(key)
        self._clock = 0

    def _expired(self, record: Record) -> Iterator[SessionComparison]:
        if record.timestamp is None or self._life is None:
            return
        self._clock = max(self._clock, record.timestamp)
        while self._under_way:
            key, longest_quiet = next(iter(self._under_way.items()))
            if self._clock - longest_quiet.touched <= self._life:
                return
            yield self._ended(key)

    def _begun(self, partition: int, decision: Decision) -> _UnderWay:
        self._numbers += 1
        return _UnderWay(self._numbers, SessionComparison(partition, decision.session_id, decision.agent_id))

    def _ended(self, key: tuple[int, str]) -> SessionComparison:
        comparison = self._under_way.pop(key).comparison
        self.totals.add(comparison)
        return comparison


def _judge(
    session: Session | None, admitted: Decision | Rejected, settings: DetectionSettings
) -> tuple[Session | None, Outcome]:
    if isinstance(admitted, Rejected):
        return session, admitted
    return step(session, admitted, settings)

"""The open episodes of a partition of `session-alerts`, and what each alert means for those who hear of it.

A fold of the topic: if it reads again from a while before, it knows the same episodes. Workers may write an
alert again after a crash; its id tells.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Final

from streams.alerts.sinks.sink import Alert, Delivery, DeliveryStep, EpisodeReference
from streams.core.detectors.verdict.episode import Phase
from streams.core.domain.event_kind import EventKind

_REMEMBERED: Final = 256
"""Ids of a session: more than one run of a worker writes of it."""


@dataclass(slots=True)
class _Session:
    touched_ms: int
    ids: dict[str, None] = field(default_factory=dict)
    open: Delivery | None = None


class Episodes:
    """What is known of the sessions of one partition."""

    def __init__(self) -> None:
        self._sessions: dict[str, _Session] = {}

    def __len__(self) -> int:
        """Return how many episodes are open."""
        return sum(each.open is not None for each in self._sessions.values())

    def take(self, alert: Alert, read_ms: int, *, refuted: bool = False) -> Delivery | None:
        """Fold an alert; return what to tell of it, None if it was read before, or nobody needs to know.

        Args:
            alert: The next one of its partition.
            read_ms: When Kafka got it, or when it was read, ms since 1970.
            refuted: Whether a person has said that its episode is no loop. Who was told of it hears that.
        """
        session = self._sessions.setdefault(alert.session_id, _Session(read_ms))
        if alert.id in session.ids:
            return None
        session.ids[alert.id] = None
        if len(session.ids) > _REMEMBERED:
            del session.ids[next(iter(session.ids))]
        session.touched_ms = max(session.touched_ms, read_ms)
        if alert.kind != EventKind.LOOP_EPISODE or alert.episode_id is None:
            return Delivery(DeliveryStep.NOTICE, alert, EpisodeReference(alert.timestamp, alert.rule, None))
        known = session.open
        if known is None or known.alert.episode_id != alert.episode_id:
            known = None
        if refuted and known is None:
            return None
        delivery = _delivery(alert, known)
        if refuted and delivery.step is not DeliveryStep.RESOLVE:
            delivery = delivery._replace(step=DeliveryStep.RESOLVE, refuted=True)
        session.open = None if delivery.step is DeliveryStep.RESOLVE else delivery
        return delivery

    def open(self) -> Iterator[Delivery]:
        """Yield the newest delivery of each open episode."""
        for session in self._sessions.values():
            if session.open is not None:
                yield session.open

    def forget(self, before_ms: int) -> frozenset[str]:
        """Forget the sessions of which nothing was read since then, and return them."""
        gone = frozenset(id_ for id_, each in self._sessions.items() if each.touched_ms < before_ms)
        for session_id in gone:
            del self._sessions[session_id]
        return gone


def _delivery(alert: Alert, known: Delivery | None) -> Delivery:
    since, rule = (alert.timestamp, alert.rule) if known is None else known.reference[:2]
    reference = EpisodeReference(since, rule, None if known is None else known.alert.level)
    match alert.phase:
        case Phase.RECOVERED:
            return Delivery(DeliveryStep.RESOLVE, alert, reference)
        case Phase.OPENED | Phase.ESCALATED:
            return Delivery(DeliveryStep.TRIGGER, alert, reference)
        case _:
            # The first news of an episode that opened before the reading began.
            return Delivery(DeliveryStep.TRIGGER if known is None else DeliveryStep.UPDATE, alert, reference)

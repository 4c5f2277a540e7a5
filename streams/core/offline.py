"""The pipeline over a file: what the worker does, without Kafka.

A file counts as partition 0 of the input topic, and a record's number, from 0 and over all files, for its
offset; a record that cannot be decoded or is refused has a number like any other. As these numbers only
rise, no record of a file is a duplicate by its position. One that its producer has sent again is.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final, NamedTuple

from streams.core.conclusion import handover_event, overspending_event
from streams.core.detectors.settings import DetectionSettings
from streams.core.domain.aggregates.exchange import Exchanges, slot_of
from streams.core.domain.aggregates.task_profile import TaskNeeds, TaskProfile
from streams.core.domain.outcome import Duplicate, Event, Rejected, Scored
from streams.core.domain.record import Record
from streams.core.domain.session import Session
from streams.core.entry import UNDECODABLE, Entry
from streams.core.pipeline import admit, step

PARTITION: Final = 0
MOST_FOLLOWED: Final = 2_000
"""Sessions that are remembered of logs that are followed without end; the state of one may be 100 kB."""


class Judgement(NamedTuple):
    """What became of one input record.

    Attributes:
        offset: number of the record in the input, from 0.
        session_id, event_id: as reported, None where they are not text.
        outcome: what the pipeline made of it. Alerts that need several sessions are among the events of
            a record of their session: the one that leads to them, or its next one.
        recommendation: budget for the next task of the type that this record completes (specification
            5.6), after this and every earlier completion; None when it completes none.
    """

    offset: int
    session_id: str | None
    event_id: str | None
    outcome: Scored | Duplicate | Rejected
    recommendation: dict[str, int] | None = None


class Judge:
    """Judges records one after the other. Memory grows with the sessions and task types, not with records.

    Args:
        settings: What is judged under.
        most_sessions: So many are remembered, those with the newest records; one that was forgotten begins
            again. None remembers all.
    """

    def __init__(self, settings: DetectionSettings, most_sessions: int | None = None) -> None:
        self._settings = settings
        self._most = most_sessions
        self._sessions: dict[str, Session] = {}
        self._profiles: dict[str, TaskProfile] = {}
        self._needs: dict[str, TaskNeeds] = {}
        self._exchanges: dict[str, Exchanges] = {}
        self._alerts: dict[str, list[Event]] = {}
        self._offset = -1

    def judge(self, entry: Entry) -> Judgement:
        """Judge the next record."""
        self._offset += 1
        offset, settings = self._offset, self._settings
        if entry.value is None:
            return Judgement(offset, None, None, unreadable(entry))
        admitted = admit(Record(PARTITION, offset, entry.key, entry.timestamp, entry.value), settings)
        if isinstance(admitted, Rejected):
            session_id, event_id = _text(entry.value.get("session_id")), _text(entry.value.get("event_id"))
            return Judgement(offset, session_id, event_id, admitted)
        session, outcome = step(self._sessions.pop(admitted.session_id, None), admitted, settings)
        self._sessions[admitted.session_id] = session
        if isinstance(outcome, Scored):
            outcome = self._with_alerts(outcome)
        if self._most is not None and len(self._sessions) > self._most:
            forgotten = next(iter(self._sessions))
            del self._sessions[forgotten]
            self._alerts.pop(forgotten, None)
        recommendation = recommended(self._profiles, outcome, settings)
        return Judgement(offset, admitted.session_id, admitted.event_id, outcome, recommendation)

    def _with_alerts(self, scored: Scored) -> Scored:
        """Count what a record contributes; return it with the alerts that its session has not been told."""
        for handed in scored.handed:
            slot = slot_of(handed.key)
            self._exchanges[slot], alerts = self._exchanges.get(slot, Exchanges()).plus(handed)
            for alert in alerts:
                self._alerts.setdefault(alert.session_id, []).append(handover_event(alert))
        if (outlay := scored.outlay) is not None:
            kind = outlay.task_type
            profile = self._profiles.get(kind, TaskProfile())
            needs = self._needs.get(kind, TaskNeeds())._replace(profile=profile)
            self._needs[kind], excess = needs.compared(outlay)
            if excess is not None:
                self._alerts.setdefault(outlay.session_id, []).append(overspending_event(excess))
        held = self._alerts.pop(scored.decision.session_id, None)
        return scored if held is None else scored._replace(events=(*scored.events, *held))


def judge(entries: Iterable[Entry], settings: DetectionSettings) -> Iterator[Judgement]:
    """Judge every record, in order."""
    return map(Judge(settings).judge, entries)


def unreadable(entry: Entry) -> Rejected:
    """Return what becomes of an entry whose bytes are no record."""
    return Rejected((entry.problem or UNDECODABLE,), "neither a JSON object nor Avro of a known schema")


def recommended(
    profiles: dict[str, TaskProfile], outcome: Scored | Duplicate, settings: DetectionSettings
) -> dict[str, int] | None:
    """Count a completion into the profile of its task type; return what that type is granted from now on.

    None for a record that completes nothing.
    """
    completion = outcome.enriched["eddy"]["completion"] if isinstance(outcome, Scored) else None
    if completion is None:
        return None
    task_type = completion["task_type"]
    profiles[task_type] = profile = profiles.get(task_type, TaskProfile()).plus(completion)
    return profile.recommendation(settings.profile_buffer)


def _text(value: object) -> str | None:
    return value if isinstance(value, str) else None

"""The pipeline as a test drives it: settings, sessions and offsets kept, records sent one by one."""

from collections.abc import Iterator, Mapping
from typing import Any

from streams.core.detectors.settings import DEFAULTS, DetectionSettings
from streams.core.domain.outcome import Duplicate, Rejected, Scored
from streams.core.domain.record import Record
from streams.core.domain.session import Session
from streams.core.pipeline import admit, step
from streams.core.settings_document import SettingWarning, resolve, to_document

Outcome = Scored | Duplicate | Rejected
_OWN_SESSION_ID = "the session_id of the record"
START_MS = 1_700_000_000_000


def decision_log(
    intent: str | None = "search",
    tool: str | None = "read_file",
    status: str = "failure",
    *,
    number: int = 0,
    session: str = "s1",
    agent: str = "agent-1",
    at_ms: int | None = None,
    terminal: bool = False,
    **action: str,
) -> dict[str, Any]:
    """A valid record; the ``number``-th comes that many seconds after the start. No intent: no cognition."""
    value: dict[str, Any] = {
        "session_id": session,
        "event_id": f"{session}-e{number}",
        "meta": {"trace_id": "t1", "timestamp": START_MS + (number * 1000 if at_ms is None else at_ms)},
        "identity": {"agent_id": agent, "agent_type": "coder"},
        "action": {"status": status, **action},
    }
    if tool is not None:
        value["action"]["tool_call"] = tool
    if intent is not None:
        value["cognition"] = {"intent": intent}
    if terminal:
        value["control"] = {"is_terminal": True}
    return value


class Stream:
    """Applies records to their sessions, as the worker does for a partition."""

    def __init__(self, **changes: Any) -> None:
        self.settings: DetectionSettings = DEFAULTS
        self.sessions: dict[str, Session] = {}
        self.warnings: list[SettingWarning] = []
        self._next_offsets: dict[int, int] = {}
        self._sent: set[tuple[Any, Any, Any]] = set()
        if changes:
            self._resolve(changes)

    def set(self, **changes: Any) -> None:
        """Put the document in force with these keys changed into force, as the next version."""
        self._resolve({**to_document(self.settings), **changes})

    def _resolve(self, document: Mapping[str, Any]) -> None:
        self.settings, warnings = resolve(document, self.settings, self.settings.version + 1)
        self.warnings += warnings

    def record(
        self,
        value: Mapping[str, Any],
        *,
        partition: int = 0,
        offset: int | None = None,
        key: str | None = _OWN_SESSION_ID,
        timestamp: int | None = None,
    ) -> Record:
        """Give a value its place: the next offset of its partition, its own session_id as key.

        A value that was sent before is another event: it gets an id of its own, unless it is given its place.
        """
        if offset is None:
            offset = self._next_offsets.get(partition, 0)
            value = self._another(value, offset)
        self._next_offsets[partition] = offset + 1
        own = value.get("session_id") if key is _OWN_SESSION_ID else key
        return Record(partition, offset, own, timestamp, value)

    def _another(self, value: Mapping[str, Any], offset: int) -> Mapping[str, Any]:
        meta = value.get("meta")
        at_ms = meta.get("timestamp") if isinstance(meta, Mapping) else None
        event = value.get("session_id"), value.get("event_id"), at_ms
        if not all(isinstance(each, str | int) for each in event):
            return value
        if event in self._sent:
            return {**value, "event_id": f"{value['event_id']}-{offset}"}
        self._sent.add(event)
        return value

    def apply(self, record: Record) -> Outcome:
        """Admit a record and apply it to its session."""
        decision = admit(record, self.settings)
        if isinstance(decision, Rejected):
            return decision
        session = self.sessions.get(decision.session_id)
        self.sessions[decision.session_id], outcome = step(session, decision, self.settings)
        return outcome

    def send(self, value: Mapping[str, Any], **place: Any) -> Outcome:
        """Send one record."""
        return self.apply(self.record(value, **place))

    def scored(self, value: Mapping[str, Any], **place: Any) -> Scored:
        """Send a record that must be applied."""
        outcome = self.send(value, **place)
        assert isinstance(outcome, Scored), outcome
        return outcome

    def run(self, values: Iterator[dict[str, Any]] | list[dict[str, Any]]) -> list[Scored]:
        """Send records that must be applied."""
        return [self.scored(value) for value in values]


def repeated(count: int, **fields: Any) -> list[dict[str, Any]]:
    """The same decision ``count`` times, a second apart."""
    return [decision_log(number=number, **fields) for number in range(count)]


def told(outcome: Outcome, kind: str) -> list[dict[str, Any]]:
    """The fields of the events of one kind."""
    assert isinstance(outcome, Scored)
    return [event.fields for event in outcome.events if event.fields["event_type"] == kind]


def block(outcome: Outcome, name: str) -> Any:
    """A field of the block `eddy`."""
    assert isinstance(outcome, Scored)
    return outcome.enriched["eddy"][name]

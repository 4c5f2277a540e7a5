"""The events of any stream, derived again from what the records report (specification 7.1 to 7.5)."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from hypothesis import event, given

from streams.core.detectors.settings import DetectionSettings
from streams.core.domain.event_kind import EventKind
from streams.core.domain.outcome import Scored
from tests.stream import Stream
from tests.streams_strategy import Change, Entry, partitions

#: A family of events, and the last part of the id.
Told = tuple[str, str]

STATES = {"NORMAL": "active", "WARNING": "blocked", "LOOP": "alert_entropy"}
RANKS = {"NORMAL": 0, "WARNING": 1, "LOOP": 2}
TOPICS = {
    "entropy_alert": "entropy-alerts",
    "loop_episode": "session-alerts",
    "divergence_suspected": "session-alerts",
    "drift_pattern": "session-alerts",
    "budget": "session-budgets",
    "response": "session-responses",
    "node_state": "topology",
}
ALWAYS_PUBLISHED = {"budget", "response", "node_state"}


@dataclass
class Session:
    """What a reader of the enriched records knows of a session."""

    latest: int = 0
    severity: str = "NORMAL"
    alerted: bool = False
    loops: int = 0
    level: str = "NORMAL"
    visible: int = 0
    drift: str = "CONTINUE"
    exhausted: bool = False
    node: str = "active"

    def closing(self, node: str) -> Iterator[Told]:
        """What is told when the session ends."""
        if self.level != "NORMAL":
            yield "loop_episode", "recovered"
        if self.node != "active":
            yield "node_state", node

    def told(self, eddy: dict[str, Any], settings: DetectionSettings) -> Iterator[Told]:
        """What is told of a record that reports this."""
        if eddy["uniqueness"] is not None:
            yield from self._alert(eddy, settings)
        yield from self._episode(eddy["verdict"], settings.alert_heartbeat_records)
        if eddy["step"] is not None:
            if eddy["repeat"]["fired"]:
                yield "divergence_suspected", ""
            for pattern in ("read_loop", "edit_revert", "test_fail_loop"):
                for phase, where in (("alert", "alerts"), ("escalation", "escalations")):
                    if pattern in eddy["patterns"][where]:
                        yield "drift_pattern", f"{pattern}/{phase}"
            budget = eddy["budget"]
            changed = budget["exhausted"] != self.exhausted
            if budget["adjusted_by"] is not None or budget["emergency"] is not None or changed:
                yield "budget", ""
            self.exhausted = budget["exhausted"]
            if eddy["drift"]["level"] != self.drift:
                yield "response", ""
            self.drift = eddy["drift"]["level"]
        yield from self._node(eddy, settings)

    def _alert(self, eddy: dict[str, Any], settings: DetectionSettings) -> Iterator[Told]:
        self.severity = eddy["uniqueness"]["severity"]
        if self.severity != "LOOP":
            self.alerted, self.loops = False, 0
        elif eddy["scoring_status"] == "ok":
            self.loops += self.alerted
            beat = settings.alert_heartbeat_records
            due = settings.alert_every_record or (beat > 0 and self.loops % beat == 0)
            if not self.alerted or due:
                yield "entropy_alert", ""
            self.alerted = True

    def _episode(self, verdict: dict[str, Any], beat: int) -> Iterator[Told]:
        before, self.level = self.level, verdict["level"]
        if not verdict["visible"]:
            return
        self.visible += 1
        if self.level == "NORMAL" != before:
            yield "loop_episode", "recovered"
        elif self.level != before:
            self.visible = 0
            yield "loop_episode", "opened" if before == "NORMAL" else "escalated"
        elif self.level == "LOOP" and beat and self.visible % beat == 0:
            yield "loop_episode", "still_open"

    def _node(self, eddy: dict[str, Any], settings: DetectionSettings) -> Iterator[Told]:
        scored, judged = eddy["scoring_status"] == "ok", eddy["verdict"]["visible"]
        before = self.node
        match settings.node_state_source.value:
            case "uniqueness" if scored:
                self.node = STATES[self.severity]
            case "verdict" if judged:
                self.node = STATES[self.level]
            case "max" if scored or judged:
                self.node = STATES[max(self.severity, self.level, key=RANKS.__getitem__)]
        if self.node != before or (settings.topology_every_record and scored and self.node != "active"):
            yield "node_state", self.node


class Reader:
    """Reads the enriched records of a partition in order, and says what must have been told of each."""

    def __init__(self) -> None:
        self.sessions: dict[str, Session] = {}

    def told(self, scored: Scored, settings: DetectionSettings) -> list[Told]:
        decision = scored.decision
        session = self.sessions.setdefault(decision.session_id, Session(latest=decision.timestamp))
        told: list[Told] = []
        if 0 < settings.session_ttl_ms < decision.timestamp - session.latest:
            told += session.closing("active")
            session = self.sessions[decision.session_id] = Session()
        session.latest = max(session.latest, decision.timestamp)
        told += session.told(scored.enriched["eddy"], settings)
        if decision.is_terminal:
            told += session.closing("idle")
            del self.sessions[decision.session_id]
        return told


def topic(kind: str, fields: dict[str, Any], settings: DetectionSettings) -> str | None:
    if kind not in ALWAYS_PUBLISHED and kind not in settings.alert_families:
        return None
    if kind == "loop_episode" and fields["level"] == "WARNING" and settings.episode_min_level == "LOOP":
        return None
    return TOPICS[kind]


@given(partitions())
def test_what_is_told_follows_from_what_is_reported(entries: list[Entry]) -> None:
    stream, reader = Stream(), Reader()
    for entry in entries:
        if isinstance(entry, Change):
            stream.set(**entry.settings)
            continue
        outcome = stream.send(entry.value, partition=entry.partition, offset=entry.offset)
        if not isinstance(outcome, Scored):
            continue
        expected = reader.told(outcome, stream.settings)
        place = outcome.enriched["eddy"]["id"].removesuffix("enriched")
        # Silence and spending are reported in no block.
        unreported = EventKind.SILENT_SESSION, EventKind.OVERSPENDING
        events = [each for each in outcome.events if each.fields["event_type"] not in unreported]
        assert [told.fields["id"] for told in events] == [
            place + "/".join(filter(None, told)) for told in expected
        ]
        for told, (kind, _) in zip(events, expected, strict=True):
            assert told.topic == topic(kind, told.fields, stream.settings)
            event(kind)

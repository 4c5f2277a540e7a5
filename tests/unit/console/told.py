"""What the job, guards and operators write, as records of the topics that the console reads."""

from collections.abc import Iterable, Iterator
from functools import cache
from typing import Any, NamedTuple

import orjson

from schemas.reason import Reason
from streams.console.read_model.model import ReadModel
from streams.console.read_model.triage import EpisodeSeen, request_of
from streams.control.audit import AuditRecord
from streams.control.command import Command, Issuer
from streams.control.outcome import Ack, GuardFacts
from streams.core.detectors.settings import DEFAULTS
from streams.core.domain.aggregates.agent_health import AgentHealth
from streams.core.domain.erasure import HEADER, PLACE
from streams.core.domain.outcome import Scored
from streams.core.domain.topic import Topic
from streams.core.offline import judge
from streams.formats.reading import entries
from streams.formats.recordings.catalogue import RECORDINGS
from streams.kafka.stored import Stored
from streams.operate.redrive.memory import Mark, mark_record
from streams.worker.dead_letter import LetterSource, dead_letter_headers

PARTITIONS = 3
MINUTE_MS = 60_000


class Told(NamedTuple):
    """A record of a topic with its decoded value."""

    topic: Topic
    stored: Stored
    fields: dict[str, Any] | None


class Topics:
    """Gives each record the next place of its topic, in the partition of its key."""

    def __init__(self) -> None:
        self._next: dict[tuple[Topic, int], int] = {}

    def place(self, topic: Topic, key: str) -> tuple[int, int]:
        """Return the next place of a topic."""
        partition = sum(key.encode()) % PARTITIONS
        offset = self._next[topic, partition] = self._next.get((topic, partition), -1) + 1
        return partition, offset

    def told(self, topic: Topic, key: str, fields: dict[str, Any] | None, at: int) -> Told:
        """Return the next record of a topic."""
        value = None if fields is None else orjson.dumps(fields)
        return Told(topic, Stored(*self.place(topic, key), at, key.encode(), value, ()), fields)

    def scored(self, outcome: Scored, at: int) -> Iterator[Told]:
        """Yield what the job publishes about a record, whose Kafka time is ``at``."""
        session_id = outcome.enriched["session_id"]
        yield self.told(Topic.ENRICHED, session_id, outcome.enriched, at)
        for event in outcome.events:
            if event.topic is not None:
                yield self.told(event.topic, session_id, event.fields, at)

    def command(self, action: str, session_id: str | None, at: int, **more: Any) -> Told:
        """Return a command of ana's that expires after 15 minutes."""
        command = Command(
            **{
                "command_id": f"c-{action}-{at}",
                "scope": "session" if session_id is not None else "all",
                "session_id": session_id,
                "action": action,
                "issued_at": at,
                "expires_at": at + 15 * MINUTE_MS,
                "reason": "the same search five times",
                "issuer": Issuer(kind="operator", name="ana"),
                **more,
            }
        )
        return self.told(Topic.SESSION_COMMANDS, command.key.decode(), command.fields(), at)

    def ack(self, status: str, command: Told | None, session_id: str, at: int, guard: str = "g-1") -> Told:
        """Return what a guard says; without a command, that it is there."""
        command_id = None if command is None or command.fields is None else command.fields["command_id"]
        ack = Ack(
            id=f"{command_id or session_id}/{guard}/{status}" + ("" if command_id else f"/{at}"),
            session_id=session_id,
            status=status,
            at=at,
            guard_id=guard,
            command_id=command_id,
            effective_at=at if status in {"applied", "released"} else None,
            guard=GuardFacts(version="0.2.0", integration="langgraph") if command_id is None else None,
        )
        return self.told(Topic.SESSION_COMMAND_ACKS, session_id, ack.fields(), at)

    def triage(self, do: str, subject: str, at: int, seen: EpisodeSeen = EpisodeSeen(), **more: Any) -> Told:  # noqa: B008
        """Return an action of ana's on an episode."""
        record = AuditRecord(
            id=f"a-{do}-{subject}-{at}",
            at=at,
            who="ana",
            kind="triage",
            target=subject,
            request=request_of(do, seen, **more),
            result="accepted",
        )
        return self.told(Topic.CONSOLE_ACTIONS, subject, record.fields(), at)


def forgotten(session_id: str, partition: int, offset: int, end: int, at: int) -> Told:
    """Return the tombstone at the ``end`` of topology that follows from an order on decision-logs."""
    headers = ((HEADER, b"o-1"), (PLACE, b"%d/%d" % (partition, offset)))
    return Told(Topic.TOPOLOGY, Stored(partition, end, at, session_id.encode(), None, headers), None)


@cache
def published() -> tuple[Told, ...]:
    """Return what the job publishes about all recordings, with the health of their agents and tools."""
    topics, health = Topics(), dict[str, AgentHealth]()
    records: list[Told] = []
    for recording in RECORDINGS:
        for judgement in judge(entries([str(recording.path)], recording.input_format), DEFAULTS):
            if not isinstance(judgement.outcome, Scored):
                continue
            at = judgement.outcome.enriched["meta"]["timestamp"]
            records += topics.scored(judgement.outcome, at)
            for each in judgement.outcome.contributions:
                health[each.key] = health.get(each.key, AgentHealth()).plus(each)
                report = health[each.key].report(each.key)
                records.append(topics.told(Topic.AGENT_HEALTH, each.key, report, at))
    return tuple(records)


@cache
def everything() -> tuple[Told, ...]:
    """Return records of every topic, about the sessions of the recordings."""
    topics, records = Topics(), list(published())
    episodes = [told.fields for told in records if told.fields and told.fields.get("episode_id")]
    for number, episode in enumerate(episodes):
        session_id, subject, at = episode["session_id"], episode["episode_id"], episode["timestamp"]
        seen = EpisodeSeen(episode.get("tokens_since_onset", 0), episode.get("level"), episode["offset"])
        pause = topics.command("pause", session_id, at + 1_000)
        records += [
            topics.ack("attached", None, session_id, at),
            topics.triage("assign", subject, at + 100, assignee=f"operator-{number}"),
            topics.triage("ack" if number % 2 else "snooze", subject, at + 200, seen),
            pause,
            topics.ack("received", pause, session_id, at + 1_200),
            topics.ack("applied", pause, session_id, at + 1_300),
            topics.triage("note", subject, at + 5_000, note=f"note {number}"),
            topics.command("resume", session_id, at + 9_000),
            topics.command("pause", None, at + 9_500),
        ]
    records.append(forgotten("s-forgotten", 0, 1, 0, 1_760_000_000_000))
    records += _letters(topics)
    records += _documents(topics)
    return tuple(records)


def _letters(topics: Topics) -> Iterator[Told]:
    for offset in range(5):
        headers = dead_letter_headers(
            LetterSource("decision-logs", 1, offset), Reason.KEY, "?", ["key"], group="eddy", version="1"
        )
        stored = Stored(*topics.place(Topic.DEAD_LETTERS, "s"), 1_000 + offset, b"s", b"{}", headers)
        yield Told(Topic.DEAD_LETTERS, stored, None)
        for done in (False, True)[: 1 + offset % 2]:
            mark = mark_record(1, offset, Mark("run", 1 + offset % 3, done), 2_000)
            stored = Stored(*topics.place(Topic.REDRIVEN, "s"), 2_000, mark.key, mark.value, ())
            yield Told(Topic.REDRIVEN, stored, None)


def _documents(topics: Topics) -> Iterator[Told]:
    for version in range(1, 4):
        changed = {"at": version, "by": "ana", "why": "fewer false alarms"}
        document = {"version": version, "changed": changed, "settings": {"cycle_loop": 3 + version}}
        yield topics.told(Topic.DETECTOR_CONFIG, "settings", document, version)
        needs = {"steps": 10 + version, "tokens": None, "samples": version}
        profile = {"task_type": "bugfix", "recommendation": needs}
        yield topics.told(Topic.TASK_PROFILES, "bugfix", profile, version)
        difference = {
            "id": f"s/0/{version}/shadow",
            "session_id": "s",
            "timestamp": version,
            "partition": 0,
            "offset": version,
            "shadow_version": 2,
            "differences": [{"field": "severity", "live": "LOOP", "shadow": None}],
        }
        yield topics.told(Topic.SHADOW_DIFFERENCES, "s", difference, version)
    yield topics.told(Topic.SHADOW_CONFIG, "settings", None, 9)


def folded(records: Iterable[Told], model: ReadModel | None = None) -> ReadModel:
    """Return a model that took the records."""
    model = ReadModel() if model is None else model
    for told in records:
        assert model.take(*told), told
    return model

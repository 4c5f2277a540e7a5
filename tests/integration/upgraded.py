"""What must have come of records that two versions have processed, one after the other.

What the earlier version judged has to be what its own code makes of the input. From the first record of a
session that this version judged, everything has to be what this one makes of the state that was left to it.

A worker of the earlier version that was killed leaves outputs of records that this version then judges again.
They have to be that version's own, too.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field
from importlib.metadata import version

from schemas.codec import Codec
from streams.core.detectors.settings import DEFAULTS
from streams.core.domain.record import Outgoing
from streams.core.domain.run import Run
from streams.core.domain.topic import Topic
from streams.core.settings_document import to_document
from streams.kafka.client import Stored
from streams.worker.batch import Job, key_text
from streams.worker.options import changelog_topic
from streams.worker.run_result import RunResult
from streams.worker.settings_ledger import LedgerEntry
from streams.worker.state.changelog import decode_session, encode_session, session_key
from tests.integration.earlier_version import FIRST, EarlierVersion, Folded
from tests.integration.judgement import judge_aggregates_of
from tests.integration.reference_aggregates import is_across_sessions
from tests.integration.reference_fold import (
    OUTPUT_TOPICS,
    Expected,
    Sessions,
    Verdict,
    Written,
    by_partition,
    identity,
    judge,
    settings_history,
    value_of,
    written_as,
)
from tests.integration.stage import Stage

Place = tuple[int, int]
"""Partition and offset of a record of the input."""


@dataclass(slots=True)
class Handover:
    """Who judged which record."""

    before: AbstractSet[Place]
    """Judged by the earlier version."""
    after: AbstractSet[Place]
    """Judged by this one."""

    @property
    def twice(self) -> AbstractSet[Place]:
        """Judged by both."""
        return self.before & self.after


async def judge_upgrade(stage: Stage, earlier: EarlierVersion) -> tuple[Verdict, Handover]:
    """Compare all that came out with what the two versions make of all that went in."""
    group, codec = stage.application_id, Codec.bundled()
    await stage.written()
    inputs = list(by_partition(await stage.read(Topic.DECISION_LOGS)))
    assert len(inputs) == sum(stage.sent.values()), "the input topic does not hold what was sent"
    changelog = await stage.read(changelog_topic(group))
    history = settings_history(changelog)
    outputs = {topic: await stage.read(topic) for topic in OUTPUT_TOPICS}
    alerts = outputs[Topic.SESSION_ALERTS]
    across = [stored for stored in alerts if is_across_sessions(stored)]
    outputs[Topic.SESSION_ALERTS] = [stored for stored in alerts if not is_across_sessions(stored)]
    handover = _handover(outputs[Topic.ENRICHED], earlier)
    job = Job(codec, group=group, version=version("eddy-streams"))
    relay = _Relay(job, history, handover, outputs, earlier.commit == FIRST)
    for stored, folded in zip(inputs, await earlier.fold(inputs, group, _documents(history)), strict=True):
        relay.take(stored, folded)
    expected = relay.expected()
    verdict = judge(expected, relay.outputs, changelog)
    verdict.repeated.update(relay.repeated)
    await judge_aggregates_of(stage, group, codec, expected, verdict, across)
    assert not verdict.problems, "\n".join(verdict.problems)
    return verdict, handover


def _handover(enriched: Sequence[Stored], earlier: EarlierVersion) -> Handover:
    places: dict[bool, set[Place]] = {True: set(), False: set()}
    for stored in enriched:
        partition, offset = map(int, value_of(stored)["eddy"]["id"].split("/")[-3:-1])
        places[earlier.has_written(stored)].add((partition, offset))
    return Handover(places[True], places[False])


def _documents(history: Mapping[int, Sequence[LedgerEntry]]) -> dict[int, list[tuple[int, int, object]]]:
    return {
        partition: [
            (entry.first_offset, entry.settings.version, to_document(entry.settings)) for entry in entries
        ]
        for partition, entries in history.items()
    }


@dataclass(slots=True)
class _Relay:
    """Folds records with the version that judged each."""

    job: Job
    history: Mapping[int, Sequence[LedgerEntry]]
    handover: Handover
    outputs: dict[Topic, list[Stored]]
    left_by_first: bool
    """The states are those of version 0.1, which kept less, and otherwise."""
    _wanted: dict[str, dict[str, Written]] = field(
        default_factory=lambda: {topic: {} for topic in OUTPUT_TOPICS}
    )
    _contributions: list[Outgoing] = field(default_factory=list)
    _left: dict[tuple[int, str], bytes] = field(default_factory=dict)
    """The states that the earlier version left, of sessions that this version has not judged."""
    _sessions: dict[int, Sessions] = field(default_factory=dict)
    _found: dict[tuple[str, Written], list[int]] = field(default_factory=dict)
    _left_out: set[tuple[str, int]] = field(default_factory=set)
    repeated: Counter[str] = field(default_factory=Counter)
    """How often the same bytes came again."""

    def __post_init__(self) -> None:
        for topic, records in self.outputs.items():
            for index, stored in enumerate(records):
                self._found.setdefault((topic, written_as(stored)), []).append(index)

    def take(self, stored: Stored, earlier: Folded) -> None:
        """Take a record, and what the earlier version makes of it after all before it."""
        place = stored.partition, stored.offset
        session_id = key_text(stored.key)
        if place in self.handover.before - self.handover.after:
            assert session_id is not None
            assert earlier.state is not None
            assert session_id not in self._sessions.get(stored.partition, ()), f"{place}: judged too late"
            self._left[stored.partition, session_id] = earlier.state
            for topic, out in earlier.outputs:
                self._wanted[topic][identity(topic, out)] = written_as(out)
            self._contributions += earlier.contributions
            return
        sessions = Sessions()  # a dead letter changes none
        if place in self.handover.after:
            assert session_id is not None
            sessions = self._sessions.setdefault(stored.partition, sessions)
            if left := self._left.pop((stored.partition, session_id), None):
                sessions[session_id] = decode_session(left)
                if not self.left_by_first:
                    # Nothing of it is lost. A version that keeps it otherwise on purpose says here how.
                    assert encode_session(sessions[session_id]) == left
        settings = DEFAULTS
        for entry in self.history.get(stored.partition, ()):
            if entry.first_offset <= stored.offset:
                settings = entry.settings
        folded = RunResult()
        self.job.fold(Run(Topic.DECISION_LOGS, stored.partition, [stored]), sessions, settings, folded)
        assert folded.scored == (place in self.handover.after), f"{place} has been judged by neither version"
        self._contributions += folded.outputs.pop(Topic.REPARTITION, [])
        made = {
            (topic, identity(topic, out)): out
            for topic, records in folded.outputs.items()
            for record in records
            for out in [
                Stored(stored.partition, -1, record.timestamp, record.key, record.value, record.headers)
            ]
        }
        for topic, out in earlier.outputs:
            self._once_more(topic, out, made.get((Topic(topic), identity(topic, out))))
        for (topic, name), out in made.items():
            self._wanted[topic][name] = written_as(out)

    def _once_more(self, topic: str, earlier: Stored, made: Stored | None) -> None:
        """Allow what the earlier version has written of a record that this version has judged, if it has.

        For the order, what this version wrote of it later counts: it also makes outputs that the earlier did
        not, and those come after what the earlier has written of later records.
        """
        if (found := self._found.get((topic, written_as(earlier)))) is None:
            return
        if made is None:
            self._wanted[topic][identity(topic, earlier)] = written_as(earlier)
            return
        once_more = written_as(made) != written_as(earlier) and (topic, written_as(made)) in self._found
        for index in found:
            if once_more:
                self._left_out.add((topic, index))
            else:
                self.outputs[Topic(topic)][index] = made

    def expected(self) -> Expected:
        """Return what there must be; what the earlier version wrote and this one wrote again is left out.

        If the same bytes came more than once, the last copy counts: the order is that of the last writer.
        """
        for topic, records in self.outputs.items():
            kept = [each for index, each in enumerate(records) if (topic, index) not in self._left_out]
            last = {written_as(each): index for index, each in enumerate(kept)}
            self.repeated[topic] += len(kept) - len(last)
            self.outputs[topic] = [kept[index] for index in sorted(last.values())]
        state = {
            (partition, session_key(session_id)): encode_session(session)
            for partition, of_partition in self._sessions.items()
            for session_id, session in of_partition.items()
        }
        untouched = {
            (partition, session_key(session_id)): left for (partition, session_id), left in self._left.items()
        }
        return Expected(self._wanted, state | untouched, self._contributions)

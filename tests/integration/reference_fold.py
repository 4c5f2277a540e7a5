"""What the job must have written for what the input topics hold, and how what it did write differs.

The records are folded one at a time, in process, in the order of their offsets: no runs, no workers, no
restarts. Whatever the workers did, their outputs and their state must be those.
"""

from __future__ import annotations

import sys
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field
from io import BytesIO
from types import MappingProxyType
from typing import Any

import fastavro
import orjson

from schemas.bundled import by_id
from streams.core.detectors.settings import DEFAULTS, DetectionSettings
from streams.core.domain.erasure import PLACE
from streams.core.domain.record import Outgoing
from streams.core.domain.run import Run
from streams.core.domain.session import Session
from streams.core.domain.topic import OUTPUTS, Topic
from streams.core.settings_document import Shadow, ShadowDocument
from streams.kafka.client import Stored
from streams.kafka.settings_feed import apply_document, apply_shadow
from streams.worker.batch import Job, key_text
from streams.worker.run_result import RunResult
from streams.worker.settings_ledger import LedgerEntry, SettingsLedger, ShadowEntry
from streams.worker.state.changelog import SETTINGS_KEY, encode_session, is_stub, session_key
from streams.worker.state.checkpoint import MARK_KEY
from tests.integration.removals import LetGo, Removals, is_told_end

#: Where the job writes what came of a record.
OUTPUT_TOPICS = (*OUTPUTS, Topic.DEAD_LETTERS)

Headers = tuple[tuple[str, bytes | None], ...]
#: Everything a consumer sees of an output but its offset: partition, key, value, timestamp, headers.
Written = tuple[int, bytes | None, bytes | None, int, Headers]

_SHOWN = 5


@dataclass(frozen=True, slots=True)
class Expected:
    """What there must be: each output under its id, in order, by topic; and the state by (partition, key).

    ``contributions`` are what the aggregates are made of, each source partition in its order. ``only_told``
    are outputs of sessions whose end was told before they went on: these may come at any time.
    """

    outputs: Mapping[str, Mapping[str, Written]]
    state: Mapping[tuple[int, bytes], bytes]
    contributions: Sequence[Outgoing] = ()
    only_told: AbstractSet[str] = frozenset()


@dataclass(slots=True)
class Verdict:
    """How the job did. Without ``problems``, nothing is lost, different or too much, and no state wrong."""

    problems: list[str] = field(default_factory=list)
    wrong: Counter[str] = field(default_factory=Counter)
    """How many of each kind of problem."""
    repeated: Counter[str] = field(default_factory=Counter)
    """How many outputs came more than once, by topic, with the same id and bytes."""
    outputs: Counter[str] = field(default_factory=Counter)
    """How many different outputs there are, by topic."""
    removed: Counter[str] = field(default_factory=Counter)
    """How many sessions the clock has removed, see `Removals.counts`."""
    removal_delays_ms: list[int] = field(default_factory=list)
    """The delay of each session that expired, from the end of its life to its tombstone."""

    def blame(self, problem: str, culprits: Sequence[object]) -> None:
        if culprits:
            self.wrong[problem] += len(culprits)
            shown = "; ".join(map(str, culprits[:_SHOWN]))
            self.problems.append(f"{problem}: {len(culprits)}, such as {shown}")

    def add(self, removals: Removals) -> None:
        """Add what a fold has found of the sessions that were removed."""
        self.removed += removals.counts
        self.removal_delays_ms += removals.delays_ms
        for problem, culprits in removals.problems.items():
            self.blame(problem, culprits)


class Sessions(dict[str, Session]):
    """The sessions of a partition, as the job wants them."""

    def put(self, session: Session, session_id: str) -> None:
        self[session_id] = session


def value_of(stored: Stored) -> dict[str, Any]:
    """Return an output's fields, read with fastavro alone or as JSON."""
    assert stored.value is not None
    if stored.value[:1] != b"\0":
        written: dict[str, Any] = orjson.loads(stored.value)
        return written
    schema = by_id()[int.from_bytes(stored.value[1:5], "big")]
    read: Any = fastavro.schemaless_reader(BytesIO(stored.value[5:]), schema.parsed, None)
    return dict(read)


def identity(topic: str, stored: Stored) -> str:
    """Return what a consumer knows an output by: its id, or the coordinates of a dead letter's original."""
    if topic == Topic.DEAD_LETTERS:
        headers = dict(stored.headers)  # of equal names the last counts: ours
        return b"/".join(
            headers[f"__streams.errors.{name}"] for name in ("topic", "partition", "offset")
        ).decode()
    if stored.value is None:
        return b"/".join([stored.key or b"", dict(stored.headers)[PLACE] or b"", b"forgotten"]).decode()
    value = value_of(stored)
    return str(value["eddy"]["id"] if topic == Topic.ENRICHED else value["id"])


def settings_history(changelog: Iterable[Stored]) -> dict[int, tuple[LedgerEntry, ...]]:
    """Return each partition's settings by first offset: what all the ledgers it ever had say together.

    Raises:
        AssertionError: two ledgers of a partition contradict one another.
    """
    found: dict[int, dict[int, LedgerEntry]] = defaultdict(dict)
    for stored in changelog:
        if stored.key != SETTINGS_KEY:
            continue
        of_partition = found[stored.partition]
        for entry in SettingsLedger.decode(stored.value).entries:
            known = of_partition.setdefault(entry.settings.version, entry)
            assert known == entry, f"partition {stored.partition} has had {known} and {entry}"
    history = {
        partition: tuple(entries[version] for version in sorted(entries))
        for partition, entries in found.items()
    }
    for partition, entries in history.items():
        firsts = [entry.first_offset for entry in entries]
        assert firsts == sorted(firsts), f"partition {partition} went back to older settings: {firsts}"
    return history


def shadow_history(changelog: Iterable[Stored]) -> dict[int, tuple[ShadowEntry, ...]]:
    """Return what was tried out on each partition by first offset, as `settings_history` for the settings."""
    found: dict[int, dict[int, ShadowEntry]] = defaultdict(dict)
    for stored in changelog:
        if stored.key != SETTINGS_KEY:
            continue
        of_partition = found[stored.partition]
        for entry in SettingsLedger.decode(stored.value).shadows:
            known = of_partition.setdefault(entry.document.position, entry)
            assert known == entry, f"partition {stored.partition} has tried {known} and {entry}"
    return {
        partition: tuple(entries[position] for position in sorted(entries))
        for partition, entries in found.items()
    }


def published_settings(documents: Iterable[Stored]) -> dict[int, Any]:
    """Return the settings of each accepted version of the settings topic."""
    settings = DEFAULTS
    accepted = {settings.version: settings}
    for stored in documents:
        settings = apply_document(settings, stored.value)
        accepted[settings.version] = settings
    return accepted


def published_shadows(documents: Iterable[Stored]) -> dict[int, ShadowDocument]:
    """Return what each record of the shadow topic that counts says to try out, by position."""
    tried = ShadowDocument()
    accepted = {tried.position: tried}
    for stored in documents:
        tried = apply_shadow(tried, stored.value, stored.offset)
        accepted[tried.position] = tried
    return accepted


def fold(
    job: Job,
    inputs: Iterable[Stored],
    history: Mapping[int, Sequence[LedgerEntry]],
    tried: Mapping[int, Sequence[ShadowEntry]] = MappingProxyType({}),
    removals: Removals | None = None,
) -> Expected:
    """Return what must come of ``inputs``, each partition in the order of its offsets.

    Sessions that the clock has removed begin again, as ``removals`` says.
    """
    found = _Found()
    sessions: dict[int, Sessions] = defaultdict(Sessions)
    for stored in inputs:
        partition = stored.partition
        of_partition = sessions[partition]
        settings = _in_force(history, partition, stored.offset)
        shadow: Shadow | None = None
        for trial in tried.get(partition, ()):
            if trial.first_offset <= stored.offset:
                shadow = trial.shadow
        session_id = key_text(stored.key)
        if removals is not None and session_id is not None:
            found.let_go(partition, removals.let_go(partition, session_id, of_partition, settings, job))
        folded = RunResult()
        run = Run(Topic.DECISION_LOGS, partition, [stored])
        job.fold(run, of_partition, settings, folded, shadow)
        if removals is not None and session_id is not None:
            removals.came(partition, session_id, of_partition, stored.offset)
        _account_for(stored, folded)
        found.take(partition, folded)
    if removals is not None:
        for partition, of_partition in sessions.items():
            settings = _in_force(history, partition, sys.maxsize)
            for name in list(of_partition):
                found.let_go(partition, removals.let_go(partition, name, of_partition, settings, job))
        removals.finish()
    return found.expected(sessions)


def _in_force(history: Mapping[int, Sequence[LedgerEntry]], partition: int, offset: int) -> DetectionSettings:
    settings = DEFAULTS
    for entry in history.get(partition, ()):
        if entry.first_offset <= offset:
            settings = entry.settings
    return settings


class _Found:
    """What a fold has come to so far."""

    def __init__(self) -> None:
        self._outputs: dict[str, dict[str, Written]] = {topic: {} for topic in OUTPUT_TOPICS}
        self._contributions: list[Outgoing] = []
        #: Sessions that were let go, by partition and the offset of their last record.
        self._parting: list[tuple[int, int, Sequence[Outgoing]]] = []
        self._only_told: set[str] = set()

    def take(self, partition: int, folded: RunResult) -> None:
        """Take what a record has led to."""
        self._contributions += folded.outputs.pop(Topic.REPARTITION, [])
        self._add(partition, folded)

    def let_go(self, partition: int, gone: LetGo | None) -> None:
        """Take what the end of a session has led to."""
        if gone is not None:
            contributed = gone.folded.outputs.pop(Topic.REPARTITION, [])
            self._parting.append((partition, gone.session.offset, contributed))
            names = self._add(partition, gone.folded)
            if gone.stays:
                self._only_told.update(names)

    def _add(self, partition: int, folded: RunResult) -> list[str]:
        names = []
        for topic, records in folded.outputs.items():
            for record in records:
                out = Stored(partition, -1, record.timestamp, record.key, record.value, record.headers)
                name = identity(topic, out)
                assert name not in self._outputs[topic], f"two outputs of {topic} are called {name}"
                self._outputs[topic][name] = written_as(out)
                names.append(name)
        return names

    def expected(self, sessions: Mapping[int, Mapping[str, Session]]) -> Expected:
        """Return what there must be, with the sessions that are left."""
        state = {
            (partition, session_key(session_id)): encode_session(session)
            for partition, of_partition in sessions.items()
            for session_id, session in of_partition.items()
        }
        # Those of the removals of a partition count in the order of their offsets, see `expiry_source`.
        parting = [each for *_, made in sorted(self._parting, key=lambda item: item[:2]) for each in made]
        return Expected(self._outputs, state, [*self._contributions, *parting], self._only_told)


def _account_for(stored: Stored, folded: RunResult) -> None:
    """Check what becomes of a record: enriched, a dead letter as it came, sent again, or an order."""
    enriched = folded.outputs.get(Topic.ENRICHED, [])
    dead = folded.outputs.get(Topic.DEAD_LETTERS, [])
    assert len(enriched) + len(dead) + folded.duplicates + folded.forgotten == 1, (
        f"{len(enriched)} enriched and {len(dead)} dead letters of {stored}"
    )
    for record in dead:
        assert (record.key, record.value, record.timestamp) == (stored.key, stored.value, stored.timestamp)
        assert tuple(record.headers[: len(stored.headers)]) == tuple(stored.headers)


def judge(
    expected: Expected, outputs: Mapping[str, Iterable[Stored]], changelog: Iterable[Stored]
) -> Verdict:
    """Compare what there is with what there must be."""
    verdict = Verdict()
    for topic, wanted in expected.outputs.items():
        _judge_topic(verdict, topic, wanted, outputs[topic], expected.only_told)
    found = {
        (stored.partition, stored.key): stored.value
        for stored in changelog
        if stored.key not in {SETTINGS_KEY, MARK_KEY}
    }
    # The stub of an ended session may be gone by now, or not yet.
    wanted_state = {
        place: value
        for place, value in expected.state.items()
        if not (is_stub(value) and found.get(place, b"") is None)
    }
    found = {place: value for place, value in found.items() if value is not None or place in wanted_state}
    verdict.blame("state is missing", sorted(wanted_state.keys() - found.keys()))
    verdict.blame("state of nobody", sorted(found.keys() - wanted_state.keys(), key=str))
    verdict.blame(
        "state is wrong",
        [
            f"{key}: {found[key]!r}, not {value!r}"
            for key, value in wanted_state.items()
            if key in found and found[key] != value
        ],
    )
    return verdict


def _judge_topic(
    verdict: Verdict,
    topic: str,
    wanted: Mapping[str, Written],
    found: Iterable[Stored],
    only_told: AbstractSet[str],
) -> None:
    seen: dict[str, Written] = {}
    differing: list[str] = []
    for stored in found:
        name = identity(topic, stored)
        written = written_as(stored)
        if name not in seen:
            seen[name] = written
            verdict.outputs[topic] += 1
        elif seen[name] == written:
            verdict.repeated[topic] += 1
        else:
            differing.append(f"{name}: {written} after {seen[name]}")
    verdict.blame(f"{topic}: came twice, differing", differing)
    verdict.blame(f"{topic}: lost", [name for name in wanted if name not in seen])
    verdict.blame(f"{topic}: from nowhere", [name for name in seen if name not in wanted])
    both = [name for name in seen if name in wanted]
    verdict.blame(
        f"{topic}: other bytes",
        [f"{name}: {seen[name]}, not {wanted[name]}" for name in both if seen[name] != wanted[name]],
    )
    _judge_order(verdict, topic, wanted, {name: seen[name] for name in both}, only_told)


def _judge_order(
    verdict: Verdict,
    topic: str,
    wanted: Mapping[str, Written],
    seen: Mapping[str, Written],
    only_told: AbstractSet[str],
) -> None:
    """Compare the order of what there is: of the records; and where the clock decides, of each session."""
    for partition in sorted({written[0] for written in seen.values()}):
        first_come = [name for name in seen if seen[name][0] == partition and not is_told_end(name)]
        in_order = [name for name in wanted if name in seen and seen[name][0] == partition]
        in_turn = [name for name in in_order if not is_told_end(name)]
        swapped = [
            f"{one} for {other}" for one, other in zip(first_come, in_turn, strict=False) if one != other
        ]
        verdict.blame(f"{topic}[{partition}]: out of order", swapped)
    told = {seen[name][1] for name in seen if is_told_end(name)} if topic != Topic.DEAD_LETTERS else set()
    orders = []
    for names in (seen, wanted):
        of_session: dict[bytes | None, list[str]] = defaultdict(list)
        for name in names:
            if name in seen and seen[name][1] in told and name not in only_told:
                of_session[seen[name][1]].append(name)
        orders.append(of_session)
    verdict.blame(f"{topic}: an end out of order", [key for key in told if orders[0][key] != orders[1][key]])


def written_as(stored: Stored) -> Written:
    """Return what a consumer sees of an output."""
    return stored.partition, stored.key, stored.value, stored.timestamp, tuple(stored.headers)


def by_partition(records: Iterable[Stored]) -> Iterator[Stored]:
    """Yield records in the order of partition and offset."""
    yield from sorted(records, key=lambda stored: (stored.partition, stored.offset))

"""What the job must have written for what the input topics hold, and how what it did write differs.

The records are folded one at a time, in process, in the order of their offsets: no runs, no workers, no
restarts. Whatever the workers did, their outputs and their state must be those.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from io import BytesIO
from types import MappingProxyType
from typing import Any

import fastavro
import orjson

from schemas.bundled import by_id
from streams.aggregation import Aggregate, Aggregation, encode_aggregate, parts
from streams.domain.agent_health import AgentHealth
from streams.domain.detection_settings import DEFAULTS
from streams.domain.outgoing import Outgoing
from streams.domain.run import Run
from streams.domain.session import Session
from streams.domain.shadow import Shadow, ShadowDocument
from streams.domain.topic import Topic
from streams.engine.changelog import SETTINGS_KEY, encode_session, session_key
from streams.engine.client import Stored
from streams.engine.config_feed import apply_document, apply_shadow
from streams.engine.effects import key_partition
from streams.engine.settings_ledger import Entry, SettingsLedger, ShadowEntry
from streams.job import OUTPUTS, Folded, Job

#: Where the job writes what came of a record.
OUTPUT_TOPICS = (*OUTPUTS, Topic.DEAD_LETTERS)

Headers = tuple[tuple[str, bytes], ...]
#: Everything a consumer sees of an output but its offset: partition, key, value, timestamp, headers.
Written = tuple[int, bytes | None, bytes | None, int, Headers]

_SHOWN = 5


@dataclass(frozen=True, slots=True)
class Expected:
    """What there must be: each output under its id, in order, by topic; and the state by (partition, key).

    ``contributions`` are what the aggregates are made of, each source partition in its order.
    """

    outputs: Mapping[str, Mapping[str, Written]]
    state: Mapping[tuple[int, bytes], bytes]
    contributions: Sequence[Outgoing] = ()


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

    def blame(self, problem: str, culprits: Sequence[object]) -> None:
        if culprits:
            self.wrong[problem] += len(culprits)
            shown = "; ".join(map(str, culprits[:_SHOWN]))
            self.problems.append(f"{problem}: {len(culprits)}, such as {shown}")


class _Aggregates(dict[str, Aggregate]):
    def put(self, value: Aggregate, name: str) -> None:
        self[name] = value


class _Sessions(dict[str, Session]):
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
    value = value_of(stored)
    return str(value["eddy"]["id"] if topic == Topic.ENRICHED else value["id"])


def settings_history(changelog: Iterable[Stored]) -> dict[int, tuple[Entry, ...]]:
    """Return each partition's settings by first offset: what all the ledgers it ever had say together.

    Raises:
        AssertionError: two ledgers of a partition contradict one another.
    """
    found: dict[int, dict[int, Entry]] = defaultdict(dict)
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
    history: Mapping[int, Sequence[Entry]],
    tried: Mapping[int, Sequence[ShadowEntry]] = MappingProxyType({}),
) -> Expected:
    """Return what must come of ``inputs``, each partition in the order of its offsets."""
    outputs: dict[str, dict[str, Written]] = {topic: {} for topic in OUTPUT_TOPICS}
    sessions: dict[int, _Sessions] = defaultdict(_Sessions)
    contributions: list[Outgoing] = []
    for stored in inputs:
        partition = stored.partition
        settings = DEFAULTS
        for entry in history.get(partition, ()):
            if entry.first_offset <= stored.offset:
                settings = entry.settings
        shadow: Shadow | None = None
        for trial in tried.get(partition, ()):
            if trial.first_offset <= stored.offset:
                shadow = trial.shadow
        folded = Folded()
        run = Run(Topic.DECISION_LOGS, partition, [stored])
        job.fold(run, sessions[partition], settings, folded, shadow)
        _account_for(stored, folded)
        contributions += folded.outputs.pop(Topic.REPARTITION, [])
        for topic, records in folded.outputs.items():
            for record in records:
                out = Stored(partition, -1, record.timestamp, record.key, record.value, record.headers)
                name = identity(topic, out)
                assert name not in outputs[topic], f"two outputs of {topic} are called {name}"
                outputs[topic][name] = _written(out)
    state = {
        (partition, session_key(session_id)): encode_session(session)
        for partition, of_partition in sessions.items()
        for session_id, session in of_partition.items()
    }
    return Expected(outputs, state, contributions)


def _account_for(stored: Stored, folded: Folded) -> None:
    """Check what holds of each record whatever the job does: it is enriched, or a dead letter as it came."""
    enriched = folded.outputs.get(Topic.ENRICHED, [])
    dead = folded.outputs.get(Topic.DEAD_LETTERS, [])
    assert len(enriched) + len(dead) == 1, (
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
        _judge_topic(verdict, topic, wanted, outputs[topic])
    found = {
        (stored.partition, stored.key): stored.value for stored in changelog if stored.key != SETTINGS_KEY
    }
    wanted_state = expected.state
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
    verdict: Verdict, topic: str, wanted: Mapping[str, Written], found: Iterable[Stored]
) -> None:
    seen: dict[str, Written] = {}
    differing: list[str] = []
    for stored in found:
        name = identity(topic, stored)
        written = _written(stored)
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
    for partition in sorted({seen[name][0] for name in both}):
        first_come = [name for name in both if seen[name][0] == partition]
        in_order = [name for name in wanted if name in seen and seen[name][0] == partition]
        swapped = [
            f"{one} for {other}" for one, other in zip(first_come, in_order, strict=False) if one != other
        ]
        verdict.blame(f"{topic}[{partition}]: out of order", swapped)


def _written(stored: Stored) -> Written:
    return stored.partition, stored.key, stored.value, stored.timestamp, tuple(stored.headers)


def by_partition(records: Iterable[Stored]) -> Iterator[Stored]:
    """Yield records in the order of partition and offset."""
    yield from sorted(records, key=lambda stored: (stored.partition, stored.offset))


def judge_aggregates(
    verdict: Verdict,
    expected: Expected,
    aggregation: Aggregation,
    *,
    repartition: Sequence[Stored],
    changelog: Iterable[Stored],
    published: Mapping[str, Sequence[Stored]],
    partitions: Mapping[str, int],
) -> None:
    """Compare the views across sessions with what the contributions of all records add up to.

    Args:
        verdict: Added to.
        expected: What there must be.
        aggregation: Adds up, and encodes.
        repartition: All of the repartition topic.
        changelog: All of the aggregates' changelog.
        published: All of `agent-health` and `task-profiles`.
        partitions: How many each of these topics has, by its name in `Topic`.
    """
    between = partitions[Topic.REPARTITION]
    _judge_contributions(verdict, expected.contributions, repartition, between)
    sent = [
        Stored(0, offset, record.timestamp, record.key, record.value, ())
        for offset, record in enumerate(expected.contributions)
    ]
    aggregates = _Aggregates()
    aggregation.fold(parts(Run("all", 0, sent)), aggregates)
    wanted = {name.encode(): encode_aggregate(aggregate) for name, aggregate in aggregates.items()}
    found = {stored.key: stored for stored in changelog}
    verdict.blame("aggregates are missing", sorted(wanted.keys() - found.keys()))
    verdict.blame("aggregates of nobody", sorted(found.keys() - wanted.keys(), key=str))
    verdict.blame(
        "aggregates are wrong",
        [
            f"{key!r}: {found[key].value!r}, not {value!r}"
            for key, value in wanted.items()
            if key in found and found[key].value != value
        ],
    )
    verdict.blame(
        "aggregates are in the wrong partition",
        [key for key in wanted if key in found and _astray(key[1:], found[key], between)],
    )
    for topic, records in published.items():
        astray = [stored for stored in records if _astray(stored.key, stored, partitions[topic])]
        verdict.blame(f"{topic}: in the wrong partition", astray)
        last = {stored.key: value_of(stored) for stored in records}
        reports = {
            name[1:].encode(): aggregate.report(name[1:])
            for name, aggregate in aggregates.items()
            if (topic == Topic.AGENT_HEALTH) is isinstance(aggregate, AgentHealth)
        }
        verdict.blame(
            f"{topic}: the newest are other ones",
            [
                f"{key!r}: {last.get(key)}, not {reports.get(key)}"
                for key in {**reports, **last}
                if last.get(key) != reports.get(key)
            ],
        )


def _judge_contributions(
    verdict: Verdict, wanted: Sequence[Outgoing], found: Sequence[Stored], partitions: int
) -> None:
    """Each contribution stands where its key says, and the first of each in the order of its source."""
    seen = Counter((stored.key, stored.value, stored.timestamp) for stored in found)
    known = Counter((record.key, record.value, record.timestamp) for record in wanted)
    verdict.blame("contributions: come about twice", [each for each, n in known.items() if n > 1])
    verdict.blame("contributions: lost", list(known.keys() - seen.keys()))
    verdict.blame("contributions: from nowhere", list(seen.keys() - known.keys()))
    astray = [stored for stored in found if _astray(stored.key, stored, partitions)]
    verdict.blame("contributions: in the wrong partition", astray)
    verdict.repeated["contributions"] += sum(n - 1 for n in seen.values())
    orders: list[dict[tuple[bytes | None, int], dict[bytes | None, None]]] = []
    for records in (wanted, by_partition(found)):
        order: dict[tuple[bytes | None, int], dict[bytes | None, None]] = defaultdict(dict)
        for record in records:
            source = orjson.loads(record.value or b"")[2]
            order[record.key, source].setdefault(record.value)
        orders.append(order)
    swapped = []
    for each, right in orders[0].items():
        came = orders[1].get(each, {})
        if [value for value in came if value in right] != [value for value in right if value in came]:
            swapped.append(each)
    verdict.blame("contributions: out of order", swapped)


def _astray(key: bytes | None, stored: Stored, partitions: int) -> bool:
    return stored.partition != key_partition(key, partitions)

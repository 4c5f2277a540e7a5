"""What the pipeline makes of a record can always be written, and the schemas know every field of it."""

from __future__ import annotations

import json
from pathlib import Path

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from schemas.bundled import latest
from schemas.codec import Codec, UndecodableError
from schemas.encoder import check_fields
from streams.core.detectors.registry import DETECTORS
from streams.core.detectors.settings import DEFAULTS
from streams.core.domain.event_kind import EventKind
from streams.core.domain.outcome import Scored
from streams.core.domain.topic import OUTPUTS, Topic
from streams.core.offline import judge
from streams.formats.reading import entries
from streams.formats.recordings.catalogue import RECORDINGS
from tests.conftest import VECTORS
from tests.stream import Stream
from tests.streams_strategy import Change, partitions
from tests.unit.schemas.samples import fullest

CODEC = Codec.bundled()
DECODER = CODEC.decoder("decision-logs-value")
ENRICHED = CODEC.encoder("decision-logs-enriched-value")
FULL = fullest(latest("decision-logs-value").definition) | {"session_id": "s"}
FULL["action"] = FULL["action"] | {"status": "failure", "kind": "tool", "tool_call": "pytest"}
VECTOR_FILES = [
    *sorted(path for path in VECTORS.glob("*.json") if path.stem != "functions"),
    *sorted((Path(__file__).parents[1] / "conformance" / "additions").glob("*.json")),
]


def check(outcome):
    """Check an outcome field by field and write it in both formats."""
    check_fields("decision-logs-enriched-value", outcome.enriched)
    ENRICHED.encode(outcome.enriched)
    orjson.dumps(outcome.enriched)
    for event in outcome.events:
        if event.topic is not None:
            check_fields(f"{event.topic}-value", event.fields)
            CODEC.encoder(f"{event.topic}-value").encode(event.fields)


def outcomes_of_the_vectors(path):
    """What the records of every vector of a file lead to."""
    for vector in json.loads(path.read_text(encoding="utf-8"))["vectors"]:
        stream = Stream(**vector["settings"])
        for entry in vector["events"]:
            if "set" in entry:
                stream.set(**entry["set"])
                continue
            outcome = stream.apply(stream.record(**entry))
            if isinstance(outcome, Scored):
                yield outcome


@pytest.mark.parametrize("path", VECTOR_FILES, ids=lambda path: path.stem)
def test_the_outcomes_of_the_vectors_fit(path):
    for outcome in outcomes_of_the_vectors(path):
        check(outcome)


@pytest.mark.parametrize("recording", RECORDINGS, ids=lambda recording: recording.name)
def test_the_outcomes_of_the_recordings_fit(recording):
    for judgement in judge(entries([str(recording.path)], recording.input_format), DEFAULTS):
        if isinstance(judgement.outcome, Scored):
            check(judgement.outcome)


@given(partitions())
def test_the_outcomes_of_any_stream_fit(stream_of_entries):
    stream = Stream()
    for entry in stream_of_entries:
        if isinstance(entry, Change):
            stream.set(**entry.settings)
            continue
        outcome = stream.send(entry.value, partition=entry.partition, offset=entry.offset)
        if isinstance(outcome, Scored):
            check(outcome)


def filled(value, path=""):
    """The paths of a record at which there is something."""
    match value:
        case dict():
            for name, inner in value.items():
                yield from filled(inner, f"{path}.{name}")
        case list() | tuple():
            for inner in value:
                yield from filled(inner, path)
        case None:
            return
        case _:
            yield path


def leaves(schema, path="", types=None):
    """The paths of a schema at which there may be something."""
    types = {} if types is None else types
    match schema:
        case {"type": "record", "name": name, "fields": fields}:
            types[name] = schema
            for field in fields:
                yield from leaves(field["type"], f"{path}.{field['name']}", types)
        case {"type": "map"}:
            return  # its keys are data
        case {"type": "array", "items": inner}:
            yield from leaves(inner, path, types)
        case list():
            for branch in schema:
                yield from leaves(branch, path, types)
        case str() if schema in types:
            yield from leaves(types[schema], path, types)
        case "null":
            return
        case str():
            yield path


WITHOUT_CYCLES = ("exact_hash", "semantic", "dead_end")


def test_every_field_of_the_output_schemas_is_filled_by_some_vector():
    """No field stands there that nothing writes, and no block or event is missing from this test."""
    # Differences are no event: they compare two judgements, of which the vectors have one.
    records = {topic: set() for topic in OUTPUTS if topic is not Topic.SHADOW_DIFFERENCES}
    kinds, blocks = set(), set()
    for path in VECTOR_FILES:
        for outcome in outcomes_of_the_vectors(path):
            eddy = outcome.enriched["eddy"]
            blocks |= {name for name, block in eddy.items() if block is not None}
            records["decision-logs-enriched"] |= {f".eddy{path}" for path in filled(eddy)}
            for event in outcome.events:
                kinds.add(event.fields["event_type"])
                if event.topic is not None:
                    records[event.topic] |= set(filled(event.fields))
    # Hand-overs are found across sessions, by no record alone: `tests/unit/worker/test_aggregation.py` has
    # theirs.
    assert kinds == set(EventKind) - {EventKind.HANDOVER_LOOP}
    assert blocks >= {detector.name for detector in DETECTORS} | {"completion"}
    for topic, found in records.items():
        wanted = set(leaves(latest(f"{topic}-value").definition))
        if topic == "decision-logs-enriched":
            wanted = {path for path in wanted if path.startswith(".eddy.")}
            # The detections are of one type, and oscillation is the one with cycles.
            wanted -= {f".eddy.loop.all_detections.{name}.cycles" for name in WITHOUT_CYCLES}
        # A clock tells that a session is silent, and the tasks of all sessions what is usual: no record does.
        assert sorted(wanted - found - {".habit_ms", ".samples"}) == [], topic


LEAF = (
    st.none()
    | st.booleans()
    | st.integers(-(2**70), 2**70)
    | st.floats()
    | st.text(max_size=5)
    | st.lists(st.text(max_size=3) | st.integers(), max_size=2)
    | st.dictionaries(st.text(max_size=3), st.integers(), max_size=2)
)
PLACES = [(name,) for name in FULL] + [
    (group, name) for group, fields in FULL.items() if isinstance(fields, dict) for name in fields
]


@given(st.lists(st.tuples(st.sampled_from(PLACES), LEAF), max_size=4))
def test_no_json_that_is_admitted_makes_the_encoder_fail(changes):
    value = orjson.loads(orjson.dumps(FULL))
    for place, leaf in changes:
        *groups, name = place
        group = value
        for each in groups:
            group = group[each]
        if isinstance(group, dict):
            group[name] = leaf
    value["session_id"] = "s"
    try:
        read = DECODER.decode(json.dumps(value).encode(), ())
    except UndecodableError:
        return
    stream = Stream()
    for _ in range(6):
        outcome = stream.apply(stream.record(read))
        if isinstance(outcome, Scored):
            check(outcome)

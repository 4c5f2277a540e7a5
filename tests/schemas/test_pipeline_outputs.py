"""What the pipeline makes of a record can always be written, and the schemas know every field of it."""

from __future__ import annotations

import json

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from schemas.bundled import latest
from schemas.codec import Codec, UndecodableError
from schemas.encoder import check_fields
from streams.domain.outcome import Scored
from streams.domain.topic import Topic
from tests.stream import Stream
from tests.unit.schemas.samples import fullest

CODEC = Codec.bundled()
DECODER = CODEC.decoder("decision-logs-value")
ENRICHED = CODEC.encoder("decision-logs-enriched-value")
FULL = fullest(latest("decision-logs-value").definition) | {"session_id": "s"}
FULL["action"] = FULL["action"] | {"status": "failure", "kind": "tool", "tool_call": "pytest"}
VECTORS = ("seed000", "seed001", "seed003", "engine")


def check(outcome):
    """Check an outcome field by field and write it in both formats."""
    check_fields("decision-logs-enriched-value", outcome.enriched)
    ENRICHED.encode(outcome.enriched)
    orjson.dumps(outcome.enriched)
    for event in outcome.events:
        if event.topic is not None:
            check_fields(f"{event.topic}-value", event.fields)
            CODEC.encoder(f"{event.topic}-value").encode(event.fields)


@pytest.mark.parametrize("name", VECTORS)
def test_the_outcomes_of_the_vectors_fit(conformance_dir, name):
    vectors = json.loads((conformance_dir / f"{name}.json").read_text(encoding="utf-8"))["vectors"]
    topics = set()
    for vector in vectors:
        stream = Stream(**vector["settings"])
        for entry in vector["events"]:
            if "set" in entry:
                stream.set(**entry["set"])
                continue
            outcome = stream.apply(stream.record(**entry))
            if isinstance(outcome, Scored):
                check(outcome)
                topics |= {event.topic for event in outcome.events}
    if name == "seed003":
        assert Topic.ENTROPY_ALERTS in topics
        assert Topic.TOPOLOGY in topics


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

"""Whether a message would come back: as the job itself decides."""

from __future__ import annotations

from dataclasses import replace

import orjson
import pytest

from schemas.codec import Codec
from streams.core.detectors.settings import DEFAULTS
from streams.core.domain.run import Run
from streams.core.domain.topic import Topic
from streams.operate.redrive.letter import read
from streams.operate.redrive.redrive import Trial
from streams.worker.batch import Job
from streams.worker.run_result import RunResult
from tests.stream import decision_log
from tests.unit.operate.redrive.test_letter import Stored

VALUE = decision_log("look", "search", "success", number=1, session="s-1")
NOW = VALUE["meta"]["timestamp"]
CODEC = Codec.bundled(max_value_bytes=10_000)


class Sessions(dict):
    def put(self, session, session_id):
        self[session_id] = session


@pytest.mark.parametrize(
    ("changes", "why"),
    [
        ({}, None),
        ({"key": b"s-2"}, "key: key"),
        ({"key": None}, "key: key"),
        ({"key": b"\xff"}, "key: key"),
        ({"value": None}, "null_value: the message has no value"),
        ({"value": b"\xff"}, "undecodable: the value is neither Confluent-framed Avro nor a JSON object"),
        ({"value": b"{}"}, "schema_violation: "),
        ({"value": b"{" + b" " * 10_000 + b"}"}, "oversize: the value has 10002 bytes"),
        ({"value": b"\0\0\0\0\7rest"}, "unknown_schema: schema 7 is not known"),
    ],
)
def test_it_says_what_the_job_would_say(changes, why):
    stored = Stored(**{"key": b"s-1", "value": orjson.dumps(VALUE), "timestamp": NOW, **changes})
    found = Trial(CODEC, DEFAULTS).refusal(read(stored), NOW)
    assert found == why if why is None else found.startswith(why)
    folded = RunResult()
    job = Job(CODEC, group="g", version="1")
    job.fold(Run(Topic.DECISION_LOGS, 1, [stored]), Sessions(), DEFAULTS, folded)
    assert list(folded.dead_lettered) == ([] if why is None else [why.partition(":")[0]])


def test_the_time_it_would_come_at_and_the_settings_in_force_count():
    early = read(Stored(key=b"s-1", value=orjson.dumps(VALUE), timestamp=0))
    trial = Trial(CODEC, DEFAULTS)
    assert trial.refusal(early, NOW - DEFAULTS.max_future_ms - 1).startswith(
        "future: meta.timestamp: more than "
    )
    assert trial.refusal(early, NOW - DEFAULTS.max_future_ms) is None
    patient = Trial(CODEC, replace(DEFAULTS, max_future_ms=2 * DEFAULTS.max_future_ms))
    assert patient.refusal(early, NOW - DEFAULTS.max_future_ms - 1) is None


def test_raw_bytes_are_no_message():
    stored = Stored(value=orjson.dumps(VALUE), headers=(("x-dlq-raw", b"batch"),))
    letter = read(stored._replace(headers=(("__streams.errors.exception", b"?"), *stored.headers)))
    trial = Trial(CODEC, DEFAULTS)
    assert trial.refusal(letter, NOW) == "unreadable: the letter holds the raw bytes of a batch"

"""The headers of a dead letter."""

from __future__ import annotations

import pytest

from schemas.reason import Reason, UndecodableError
from streams.core.domain.record import Outgoing
from streams.worker.dead_letter import (
    CUT,
    LetterSource,
    Stage,
    cut_to_fit,
    dead_letter_headers,
    reason_for,
    record_size,
    rejected_headers,
    undecodable_headers,
)

OWN = (("traceparent", b"00-1-2-01"), ("x", b"\xff"), ("null", None))
SOURCE = LetterSource("decision-logs", 3, 17, OWN)


def test_a_message_that_could_not_be_read():
    error = UndecodableError(Reason.UNKNOWN_SCHEMA, "schema 7 is not known")
    assert undecodable_headers(SOURCE, error, group="eddy", version="0.1.0") == (
        *OWN,
        ("__streams.errors.exception", b"UndecodableError"),
        ("__streams.errors.message", b"schema 7 is not known"),
        ("__streams.errors.topic", b"decision-logs"),
        ("__streams.errors.partition", b"3"),
        ("__streams.errors.offset", b"17"),
        ("x-dlq-stage", b"decode"),
        ("x-dlq-reason", b"unknown_schema"),
        ("x-dlq-consumer-group", b"eddy"),
        ("x-dlq-app-version", b"0.1.0"),
    )


def test_a_record_that_is_not_valid():
    headers = dict(rejected_headers(SOURCE, ("session_id", "action.status"), "wrong", group="g", version="1"))
    assert headers["x-dlq-stage"] == b"validate"
    assert headers["x-dlq-reason"] == b"schema_violation"
    assert headers["x-dlq-problems"] == b"session_id,action.status"
    assert headers["__streams.errors.message"] == b"wrong"


@pytest.mark.parametrize(
    ("problems", "reason"),
    [
        (["key"], Reason.KEY),
        (["meta.timestamp:future"], Reason.FUTURE),
        (["meta.timestamp"], Reason.SCHEMA_VIOLATION),
        (["key", "meta.timestamp:future"], Reason.SCHEMA_VIOLATION),
        (["cognition.intent"], Reason.SCHEMA_VIOLATION),
    ],
)
def test_the_word_for_a_problem_list(problems, reason):
    assert reason_for(problems) is reason
    assert reason_for(tuple(problems)) is reason


@pytest.mark.parametrize("reason", Reason)
def test_every_reason_has_its_stage(reason):
    headers = dict(dead_letter_headers(SOURCE, reason, "d", (), group="g", version="v"))
    validated = {Reason.SCHEMA_VIOLATION, Reason.KEY, Reason.FUTURE}
    assert headers["x-dlq-stage"].decode() == (Stage.VALIDATE if reason in validated else Stage.DECODE)


def test_the_same_input_gives_the_same_bytes():
    once, again = (rejected_headers(SOURCE, ["key"], "wrong", group="g", version="v") for _ in range(2))
    assert once == again


def test_a_topic_with_other_letters_is_written_as_utf8():
    headers = dict(rejected_headers(LetterSource("über", 0, 0), ["key"], "wrong", group="g", version="v"))
    assert headers["__streams.errors.topic"].decode() == "über"


def test_a_header_without_a_value_takes_the_bytes_of_its_name_alone():
    without, empty = (record_size(Outgoing(b"k", b"v", 0, [("name", content)])) for content in (None, b""))
    assert without == empty


def test_a_letter_is_cut_whatever_headers_have_no_value():
    headers = [("own", None), *rejected_headers(SOURCE, ["key"], "wrong", group="g", version="v")]
    letter = cut_to_fit(Outgoing(b"k", bytes(5_000), 0, headers), 2_000)
    assert letter.headers[:-1] == headers
    assert letter.headers[-1] == (CUT, b"value 5000")

"""What answers mean."""

import json
from typing import Any

import pytest

from streams.alerts.sinks.request import Delivered, Gone, SinkAnswer, SinkRefused, TryAgain
from tests.unit.alerts.sinks.alerts import SINKS


def answer(status: int, document: Any = None, **headers: str) -> SinkAnswer:
    return SinkAnswer(status, headers, json.dumps(document).encode() if document is not None else b"")


@pytest.mark.parametrize("status", [408, 425, 429, 500, 502, 503])
@pytest.mark.parametrize("sink", SINKS)
def test_a_receiver_in_trouble_is_tried_again(sink: str, status: int) -> None:
    assert isinstance(SINKS[sink].judge(answer(status), 0), TryAgain)


@pytest.mark.parametrize("status", [301, 400, 401, 403, 404, 413, 422])
@pytest.mark.parametrize("sink", SINKS)
def test_what_is_wrong_for_good_is_not(sink: str, status: int) -> None:
    assert isinstance(SINKS[sink].judge(answer(status, {"ok": False}), 0), SinkRefused)


def test_a_webhook_that_is_gone_wants_nothing_more() -> None:
    assert isinstance(SINKS["webhook"].judge(answer(410), 0), Gone)


def test_a_rate_limit_says_how_long_to_wait() -> None:
    asked = SinkAnswer(429, {"retry-after": "17"}, b"")
    assert SINKS["slack-webhook"].judge(asked, 0) == TryAgain("HTTP 429", 17)


@pytest.mark.parametrize(
    ("document", "expected"),
    [
        ({"ok": True, "channel": "C1", "ts": "1.2"}, Delivered('{"channel": "C1", "ts": "1.2"}')),
        ({"ok": True}, Delivered()),
        ({"ok": False, "error": "ratelimited"}, TryAgain("Slack says ratelimited")),
        ({"ok": False, "error": "message_not_found"}, Delivered()),
    ],
)
def test_slack_says_in_the_body_what_became_of_a_call(document: Any, expected: object) -> None:
    assert SINKS["slack"].judge(answer(200, document), 0) == expected


@pytest.mark.parametrize("document", [{"ok": False, "error": "invalid_auth"}, ["no object"], None])
def test_what_slack_does_not_accept_is_refused(document: Any) -> None:
    assert isinstance(SINKS["slack"].judge(answer(200, document), 0), SinkRefused)


def test_a_collector_that_drops_the_record_has_refused_it() -> None:
    partial = {"partialSuccess": {"rejectedLogRecords": "1", "errorMessage": "too old"}}
    assert isinstance(SINKS["otlp"].judge(answer(200, partial), 0), SinkRefused)
    assert SINKS["otlp"].judge(answer(200, {"partialSuccess": {}}), 0) == Delivered()


@pytest.mark.parametrize(
    "body", [b"[" * 4_096, b'{"a":' * 800, b"\xff\x00"], ids=["lists", "objects", "no text"]
)
@pytest.mark.parametrize("sink", SINKS)
def test_a_body_that_nobody_can_read_is_judged_all_the_same(sink: str, body: bytes) -> None:
    assert isinstance(SINKS[sink].judge(SinkAnswer(200, {}, body), 0), Delivered | SinkRefused)


def test_a_wait_until_a_year_that_no_calendar_has_is_no_wait_that_was_asked_for() -> None:
    asked = SinkAnswer(429, {"retry-after": "Thu, 01 Jan 99999999999 00:00:00 GMT"}, b"")
    assert SINKS["webhook"].judge(asked, 0) == TryAgain("HTTP 429")

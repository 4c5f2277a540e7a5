"""What the doctor says of the spans that a collector writes."""

from collections.abc import Iterable

from streams.operate.doctor.check import CheckStatus
from streams.operate.doctor.examination import span_checks
from tests.unit.worker.bridge.partition import Message
from tests.unit.worker.bridge.test_bridge import TRACE, at, request, span

NAMED = {"session.id": "s"}


def said(records: Iterable[Message]) -> list[tuple[CheckStatus, str]]:
    return [(check.status, check.said) for check in span_checks(records)]  # type: ignore[arg-type]


def test_an_empty_topic_is_nobodys_business() -> None:
    assert said([]) == []


def test_spans_that_say_enough_are_fine() -> None:
    assert said([at(0, 0, request(span(1, **NAMED), span(2)))]) == [
        (CheckStatus.OK, "2 spans in the newest records of otlp_spans: 2 tool calls")
    ]


def test_each_lack_is_named() -> None:
    bare = span(1)
    bare["attributes"] = bare["attributes"][:2]
    records = [at(0, 0, request(bare), key=None), at(1, 0, b"\xff"), at(2, 0, request(span(2)), key=TRACE)]
    assert said(records) == [
        (CheckStatus.WARN, "1 of the newest 3 records of otlp_spans hold no spans"),
        (CheckStatus.WARN, "1 of the newest 2 records of otlp_spans are not keyed by their trace"),
        (CheckStatus.WARN, "1 of 2 tool calls have no arguments"),
        (CheckStatus.WARN, "1 of 1 traces have no session: each is one of its own"),
    ]

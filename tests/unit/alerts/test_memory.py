"""What is remembered in Kafka comes back, also what an earlier version wrote."""

import json
from typing import Any

import pytest

from streams.alerts.memory import SinkOffsets
from streams.alerts.pending_delivery import PartlyDelivered


def test_marks_come_back_as_they_were() -> None:
    marks = SinkOffsets(5, {"webhook": 9}, {"slack": PartlyDelivered(20, (5, 7))}, 4)
    assert SinkOffsets.of(json.loads(json.dumps(marks.document()))) == marks


def test_marks_of_an_earlier_version_are_read() -> None:
    assert SinkOffsets.of({"start": 5, "sinks": {"webhook": 9}}) == SinkOffsets(5, {"webhook": 9}, {}, None)


def test_an_earlier_version_finds_what_it_looks_for() -> None:
    """While one notifier after another is replaced."""
    match SinkOffsets(5, {"webhook": 9}, {"slack": PartlyDelivered(20, (5,))}, 4).document():
        case {"start": int(start), "sinks": dict(sinks)}:
            assert (start, sinks) == (5, {"webhook": 9})
        case other:
            raise AssertionError(other)


@pytest.mark.parametrize(
    "document",
    [
        {"handle": "1"},
        {"start": 5, "sinks": {"webhook": None}},
        {"start": 5, "sinks": {"webhook": float("inf")}},
        {"start": 5, "sinks": {}, "beyond": [20]},
        {"start": 5, "sinks": {}, "beyond": {"slack": [20]}},
        {"start": 5, "sinks": {}, "beyond": {"slack": [20, ["x"]]}},
    ],
)
def test_what_is_something_else_is_no_mark(document: dict[str, Any]) -> None:
    assert SinkOffsets.of(document) is None

"""What is remembered in Kafka comes back, also what an earlier version wrote."""

import json

from streams.notify.memory import Marks
from streams.notify.progress import Beyond


def test_marks_come_back_as_they_were() -> None:
    marks = Marks(5, {"webhook": 9}, {"slack": Beyond(20, (5, 7))}, 4)
    assert Marks.of(json.loads(json.dumps(marks.document()))) == marks


def test_marks_of_an_earlier_version_are_read() -> None:
    assert Marks.of({"start": 5, "sinks": {"webhook": 9}}) == Marks(5, {"webhook": 9}, {}, None)


def test_an_earlier_version_finds_what_it_looks_for() -> None:
    """While one notifier after another is replaced."""
    match Marks(5, {"webhook": 9}, {"slack": Beyond(20, (5,))}, 4).document():
        case {"start": int(start), "sinks": dict(sinks)}:
            assert (start, sinks) == (5, {"webhook": 9})
        case other:
            raise AssertionError(other)


def test_what_is_something_else_is_no_mark() -> None:
    assert Marks.of({"handle": "1"}) is None

"""What waits is written once an interval, in the order of the source, and marks never say too much."""

from dataclasses import dataclass

import pytest

from streams.core.errors import StateError
from streams.worker.state.checkpoint import MARK_KEY, CheckpointMark, Unsaved, outdated_mark, passed

INTERVAL_S = 10.0
MOST = 1_000


@dataclass(frozen=True)
class Span:
    """Where a run stands."""

    first_offset: int
    next_offset: int


def waiting(mark: CheckpointMark | None = None, interval_s: float = INTERVAL_S) -> Unsaved[int]:
    """Return values that are the offsets of their newest records."""
    return Unsaved(mark, lambda value: value, interval_s)


def write(unsaved: Unsaved[int], part: dict[str, int]) -> CheckpointMark:
    """Write what is due."""
    mark = unsaved.mark_without(part)
    unsaved.saved(part, mark)
    return mark


def test_nothing_is_due_before_the_interval_has_passed() -> None:
    unsaved = waiting()
    unsaved.take({"a": 3}, Span(0, 5), 100.0)
    assert unsaved.due(100.0 + INTERVAL_S - 0.1, MOST) == {}
    assert unsaved.get("a") == 3
    assert "a" in unsaved


def test_what_waits_is_written_a_slice_at_a_time_within_half_an_interval() -> None:
    unsaved = waiting()
    unsaved.take({str(number): number for number in range(100)}, Span(0, 100), 0.0)
    assert unsaved.due(10.0, MOST) == {}  # sealed now
    written: list[int] = []
    for now in (11.0, 12.5, 14.0, 15.0):
        part = unsaved.due(now, MOST)
        written += part.values()
        mark = write(unsaved, part)
        assert mark == CheckpointMark(100, 0 if now < 15.0 else None)
    assert written == list(range(100))


def test_what_changes_again_while_its_interval_is_written_is_written_once_more_with_the_next() -> None:
    unsaved = waiting()
    unsaved.take({"a": 3, "b": 1}, Span(0, 5), 0.0)
    unsaved.due(10.0, MOST)
    unsaved.take({"a": 7}, Span(5, 9), 11.0)
    assert unsaved.get("a") == 7
    first = unsaved.due(15.0, MOST)
    assert list(first.items()) == [("b", 1), ("a", 3)]
    assert write(unsaved, first) == CheckpointMark(9, 5)
    assert unsaved.get("a") == 7
    unsaved.due(21.0, MOST)
    second = unsaved.due(26.0, MOST)
    assert second == {"a": 7}
    assert write(unsaved, second) == CheckpointMark(9)
    assert len(unsaved) == 0


def test_more_than_may_wait_are_due_at_once() -> None:
    unsaved = waiting()
    unsaved.take({"a": 0, "b": 1, "c": 2}, Span(0, 3), 0.0)
    assert unsaved.due(0.0, 3) == {}
    assert unsaved.due(0.0, 2) == {"a": 0, "b": 1, "c": 2}


def test_without_an_interval_all_is_due_at_once() -> None:
    unsaved = waiting(CheckpointMark(50, 20), interval_s=0)
    assert unsaved.is_marked
    unsaved.take({"a": 29}, Span(20, 30), 0.0)
    # Records up to 50 are put out, and those from 30 on not read again yet.
    assert write(unsaved, unsaved.due(0.0, MOST)) == CheckpointMark(50, 30)
    unsaved.take({"a": 49}, Span(30, 50), 0.0)
    assert write(unsaved, unsaved.due(0.0, MOST)) == CheckpointMark(50)
    assert not unsaved.is_marked


def test_a_successor_reads_again_from_the_first_record_that_no_written_session_has() -> None:
    unsaved = waiting()
    assert unsaved.mark_with(Span(7, 9), ["a"]) == CheckpointMark(9, 7)
    unsaved.take({"a": 8}, Span(7, 9), 0.0)
    assert unsaved.mark_with(Span(9, 12), ["b"]) == CheckpointMark(12, 7)


def test_a_run_that_changes_no_session_leaves_nothing_to_read_again() -> None:
    assert waiting().mark_with(Span(7, 9), []) == CheckpointMark(9)


def test_nothing_is_put_out_again_up_to_what_an_earlier_owner_has_put_out_or_somebody_has_passed_over() -> (
    None
):
    assert waiting().quiet_until(12) == -1
    assert waiting(CheckpointMark(20)).quiet_until(12) == 20
    assert waiting(CheckpointMark(20, 5)).quiet_until(12) == 20
    assert waiting(CheckpointMark(20, 5)).quiet_until(31) == 31
    assert waiting(CheckpointMark(20)).quiet_until(31) == 20


def test_all_of_it_can_be_written_at_the_end_of_an_owner() -> None:
    unsaved = waiting()
    unsaved.take({"a": 3, "b": 1}, Span(0, 5), 0.0)
    unsaved.due(10.0, MOST)
    unsaved.take({"a": 7}, Span(5, 9), 11.0)
    written = []
    while part := unsaved.next_ones(11.0):
        written.append((part, write(unsaved, part)))
    assert written == [({"b": 1, "a": 3}, CheckpointMark(9, 5)), ({"a": 7}, CheckpointMark(9))]


def test_what_is_read_again_and_interrupted_is_read_again_from_where_it_was() -> None:
    unsaved = waiting(CheckpointMark(100, 40))
    unsaved.take({"a": 45}, Span(40, 60), 0.0)
    assert write(unsaved, unsaved.next_ones(0.0)) == CheckpointMark(100, 60)


@pytest.mark.parametrize(
    "stored", [b"", b"{}", b"[2,1,2]", b"[1]", b'[1,"a",null]', b"[1,2,3", b"[1,2,3]", b"[1,-1,null]"]
)
def test_a_mark_nobody_can_read_is_an_error_that_says_what_to_do(stored: bytes) -> None:
    with pytest.raises(StateError, match=MARK_KEY.decode()):
        CheckpointMark.decode(stored)
    assert not outdated_mark(stored, b"[1,2,null]")


def test_a_mark_is_read_as_it_was_written() -> None:
    for mark in (CheckpointMark(7, 3), CheckpointMark(7)):
        assert CheckpointMark.decode(mark.encode()) == mark
    assert CheckpointMark.decode(None) is None


def test_what_is_read_again_is_not_passed_yet() -> None:
    assert passed(20, 5) == 5
    assert passed(20, None) == 20

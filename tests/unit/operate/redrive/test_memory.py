"""The marks of what was sent again: whose mark stands first, and what compaction may leave."""

from __future__ import annotations

import pytest

from streams.operate.redrive.memory import Mark, RedriveMarks, mark_record, read_mark

BEGUN, DONE = Mark("a", 1, done=False), Mark("a", 1, done=True)
RIVAL = Mark("b", 1, done=False)
AGAIN = Mark("b", 2, done=False)


@pytest.mark.parametrize(
    ("written", "counts"),
    [
        ([BEGUN], BEGUN),
        ([BEGUN, DONE], DONE),
        ([BEGUN, RIVAL], BEGUN),
        ([BEGUN, RIVAL, RIVAL._replace(done=True)], BEGUN),
        ([BEGUN, RIVAL, DONE], DONE),
        ([DONE], DONE),
        ([BEGUN, AGAIN], AGAIN),
        ([BEGUN, AGAIN, DONE], AGAIN),
        ([BEGUN, DONE, AGAIN, AGAIN._replace(done=True)], AGAIN._replace(done=True)),
        ([DONE, BEGUN], DONE),
    ],
)
def test_the_mark_that_counts(written, counts):
    marks = RedriveMarks()
    for mark in written:
        marks.apply(17, mark)
    assert marks.of(17) == counts
    assert marks.of(18) is None


def test_a_mark_is_read_as_it_was_written():
    for mark in (BEGUN, DONE, AGAIN):
        record = mark_record(3, 17, mark, 5)
        assert list(read_mark(record.key, record.value)) == [(17, mark)]
        assert record.timestamp == 5


@pytest.mark.parametrize(
    ("key", "value"),
    [
        (None, b"{}"),
        (b"decision-logs/3/17", None),
        (b"decision-logs/3/17", b"["),
        (b"decision-logs/3/17", b"[]"),
        (b"decision-logs/3/17", b'{"run":"a","times":"1","done":true}'),
        (b"decision-logs/3/x", b'{"run":"a","times":1,"done":true}'),
        (b"17", b'{"run":"a","times":1,"done":true}'),
    ],
)
def test_what_is_no_mark_is_passed_over(key, value):
    assert list(read_mark(key, value)) == []

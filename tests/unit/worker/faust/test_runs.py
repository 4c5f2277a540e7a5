"""A poll's records are cut into bounded runs, partition by partition in turn, and none is left out."""

from collections import defaultdict

import pytest
from hypothesis import given
from hypothesis import strategies as st

from streams.core.domain.run import Run, rounds, runs
from streams.kafka.client import Stored


def messages(partition: int, sizes: list[int | None]) -> list[Stored]:
    return [
        Stored(partition, offset * 3, 0, b"k", None if size is None else b"x" * size, ())
        for offset, size in enumerate(sizes)
    ]


def fetch(*sizes: list[int | None]) -> dict[tuple[str, int], list[Stored]]:
    return {("t", partition): messages(partition, each) for partition, each in enumerate(sizes)}


SIZES = st.lists(st.one_of(st.none(), st.integers(0, 30)), max_size=40)


@given(st.lists(SIZES, max_size=4), st.integers(1, 10), st.integers(1, 50))
def test_every_record_is_in_one_run_in_order_and_no_run_is_too_large(
    sizes: list[list[int | None]], most: int, most_bytes: int
) -> None:
    fetched = fetch(*sizes)
    seen: dict[int, list[Stored]] = defaultdict(list)
    for run in runs(fetched, max_records=most, max_bytes=most_bytes):
        assert 1 <= len(run) <= most
        weight = sum(len(message.value or b"") for message in run.messages)
        assert weight <= most_bytes or len([m for m in run.messages if m.value]) == 1
        seen[run.partition] += run.messages
    assert {("t", partition): found for partition, found in seen.items()} == {
        tp: found for tp, found in fetched.items() if found
    }


def test_a_deep_partition_does_not_hold_up_the_others() -> None:
    cut = runs(fetch([1] * 6, [1] * 2), max_records=2, max_bytes=100)
    assert [(run.partition, run.first_offset) for run in cut] == [(0, 0), (1, 0), (0, 6), (0, 12)]


def test_a_record_larger_than_a_run_is_a_run_of_its_own() -> None:
    cut = runs(fetch([10, 99, 10]), max_records=10, max_bytes=50)
    assert [len(run) for run in cut] == [1, 1, 1]


def test_a_run_knows_its_offsets() -> None:
    run = Run("t", 0, messages(0, [1, 1, 1]))
    assert (run.first_offset, run.last_offset, run.next_offset, len(run)) == (0, 6, 7, 3)


@pytest.mark.parametrize("fetched", [{}, {("t", 0): []}])
def test_nothing_fetched_is_no_run(fetched: dict[tuple[str, int], list[Stored]]) -> None:
    assert list(runs(fetched, max_records=1, max_bytes=1)) == []


@given(st.lists(SIZES, max_size=4), st.integers(1, 10))
def test_a_round_has_each_partition_once_and_rounds_keep_the_order(
    sizes: list[list[int | None]], most: int
) -> None:
    cut = list(runs(fetch(*sizes), max_records=most, max_bytes=100))
    grouped = list(rounds(cut))
    assert [run for group in grouped for run in group] == cut
    assert all(len({run.partition for run in group}) == len(group) for group in grouped)
    deepest = max((sum(run.partition == p for run in cut) for p in range(len(sizes))), default=0)
    assert len(grouped) == deepest


def test_joined_runs_are_one_run() -> None:
    first, second = Run("t", 3, messages(3, [1, None])), Run("t", 3, messages(3, [2]))
    joined = Run.joined([first, second])
    assert (joined.topic, joined.partition, joined.size) == ("t", 3, 3)
    assert list(joined.messages) == [*first.messages, *second.messages]
    assert Run.joined([first]) is first

"""Samples become series with a place for each step of time, and nothing where nothing is known."""

from itertools import pairwise
from pathlib import Path

import orjson
from hypothesis import given
from hypothesis import strategies as st

from streams.console.archive.archive import Archive
from streams.console.health import (
    HOUR_MS,
    RANGES,
    SeriesRange,
    by_hour,
    merged,
    points,
    range_of,
    strips,
)
from streams.console.read_model.health import BUCKET_MS
from streams.console.read_model.ledger import Ledger
from streams.console.read_model.rows import HealthRow
from streams.console.read_model.tables import HEALTH
from streams.console.views.health import samples

NOW = 1_773_140_000_000 // HOUR_MS * HOUR_MS + 1


def sample(bucket: int, waste: int, name: str = "a", place: int = 0) -> HealthRow:
    body = orjson.dumps({"wasted_tokens_hour": waste}).decode()
    return HealthRow("agent", name, bucket * BUCKET_MS, body, bucket * BUCKET_MS, place)


NEWEST = NOW // BUCKET_MS
SAMPLES = st.builds(sample, st.integers(NEWEST - 9_000, NEWEST), st.integers(0, 99), place=st.integers(0, 9))


@given(st.lists(SAMPLES), st.sampled_from(RANGES))
def test_each_step_has_a_place_and_the_newest_sample_of_it(rows: list[HealthRow], asked: SeriesRange) -> None:
    kept = [row for row in merged(rows) if row.bucket >= NOW - asked.length_ms]
    found = strips(points(kept, asked), asked, NOW)
    at = [each for each in found["at"] if each is not None]
    assert {len(values) for values in found.values()} == {len(at)}
    assert {after - before for before, after in pairwise(at)} == {asked.step_ms}
    for begins, waste in zip(at, found["wasted_tokens_hour"], strict=True):
        within = [row for row in kept if begins <= row.bucket < begins + asked.step_ms]
        newest = max(within, key=lambda row: row.bucket, default=None)
        assert waste == (None if newest is None else orjson.loads(newest.body)["wasted_tokens_hour"])


@given(st.lists(SAMPLES))
def test_rows_of_two_sources_count_once(rows: list[HealthRow]) -> None:
    assert merged(rows, rows) == merged(rows)
    assert len({row.bucket for row in merged(rows)}) == len(merged(rows))


def test_the_bars_of_a_day_are_of_24_hours_and_end_with_this_one() -> None:
    rows = [sample(NEWEST, 7), sample(NEWEST - 12, 5), sample(NEWEST - 13, 3), sample(NEWEST - 12 * 24, 9)]
    assert by_hour(rows, NOW) == [0] * 21 + [3, 5, 7]


def test_a_range_that_is_not_asked_for_holds_the_oldest_sample() -> None:
    assert range_of("", NOW - 2 * 86_400_000, NOW).name == "week"
    assert range_of("month", NOW, NOW).name == "month"
    assert range_of("", 0, NOW).name == "month"


async def test_samples_come_from_memory_and_from_the_archive_once_each(tmp_path: Path) -> None:
    archive, ledger = Archive(tmp_path), Ledger()
    try:
        kept = [sample(NEWEST - back, back) for back in range(30)] + [sample(NEWEST, 1, "b")]
        archive.save([(HEALTH, row) for row in kept], []).result()
        ledger.put(sample(NEWEST, 50, place=1))
        ledger.put(sample(NEWEST, 3, "c"))
        found = await samples(archive, ledger, "agent", ["a", "c"], NOW - 2 * HOUR_MS, HOUR_MS)
    finally:
        archive.close()
    assert by_hour(found["a"], NOW, 3) == [13, 1, 50]
    assert [row.name for row in found["c"]] == ["c"]
    assert found.keys() == {"a", "c"}

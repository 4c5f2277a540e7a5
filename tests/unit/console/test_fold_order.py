"""The read model is the same whatever order records come in, however often, and wherever it was cut."""

from collections.abc import Iterable
from random import Random
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from streams.console.inbox import Query, page
from streams.console.read_model.model import ReadModel
from streams.console.read_model.rows import Row, SessionRow
from streams.core.domain.topic import Topic
from tests.unit.console.told import Told, everything, folded

RECORDS = everything()
ENRICHED = [told for told in RECORDS if told.topic is Topic.ENRICHED]


def rows(rows: Iterable[Row]) -> list[str]:
    return sorted(map(repr, rows))


REFERENCE = rows(folded(RECORDS).rows())
#: A shuffle by hypothesis' own draws takes a hundred times as long.
RANDOMS = st.integers(0, 2**32).map(Random)
NOW = max(told.stored.timestamp for told in ENRICHED)


@settings(max_examples=40, deadline=None)
@given(RANDOMS, st.integers(0, 40))
def test_any_order_with_duplicates_gives_the_rows_of_the_sorted_records(random: Random, twice: int) -> None:
    records = [*RECORDS, *random.sample(RECORDS, twice)]
    random.shuffle(records)
    model = folded(records)
    assert rows(model.rows()) == REFERENCE
    asked = Query.parse({})
    assert page(model, asked, NOW).content() == page(folded(RECORDS), asked, NOW).content()


@settings(max_examples=40, deadline=None)
@given(RANDOMS, st.lists(st.integers(0, len(RECORDS)), max_size=4))
def test_a_model_that_is_cut_anywhere_and_restored_from_its_rows_loses_nothing(
    random: Random, cuts: list[int]
) -> None:
    records = list(RECORDS)
    random.shuffle(records)
    archive: dict[tuple[Any, ...], Row] = {}
    ends = [*sorted(cuts), len(records)]
    for begin, end in zip([0, *ends], ends, strict=False):
        model = ReadModel()
        model.restore(archive.values())
        folded(records[begin:end], model)
        archive |= {(table.name, *table.key_of(row)): row for table, row in model.drain()}
    assert rows(archive.values()) == REFERENCE


@settings(max_examples=40, deadline=None)
@given(RANDOMS, st.integers(1, 30))
def test_sessions_that_are_forgotten_in_between_come_back_as_they_were(random: Random, every: int) -> None:
    archive: dict[tuple[Any, ...], Row] = {}

    def recalled(session_id: str) -> list[Row]:
        return [row for row in archive.values() if getattr(row, "session_id", None) == session_id]

    model = ReadModel(recall=recalled, live_minutes=1)
    records = list(ENRICHED)
    random.shuffle(records)
    forgotten = 0
    for number, told in enumerate(records):
        model.take(*told)
        if number % every == 0:
            archive |= {(table.name, *table.key_of(row)): row for table, row in model.drain()}
            forgotten += model.forget(NOW + 10 * 86_400_000)
    archive |= {(table.name, *table.key_of(row)): row for table, row in model.drain()}
    assert forgotten
    assert rows(archive.values()) == rows(folded(ENRICHED).rows())


@settings(max_examples=40, deadline=None)
@given(RANDOMS)
def test_the_index_counts_each_place_once_whether_its_value_was_read_or_not(random: Random) -> None:
    model = ReadModel()
    records: list[Told] = [*ENRICHED, *random.sample(ENRICHED, 30)]
    random.shuffle(records)
    for told in records:
        if random.random() < 0.5:
            model.index(told.topic, told.stored)
        else:
            assert model.take(*told)
    counted = {row.session_id: row for row in model.rows() if isinstance(row, SessionRow)}
    for session_id, row in counted.items():
        own = [told.stored for told in ENRICHED if told.stored.key == session_id.encode()]
        assert row.records == len(own)
        assert (row.first_offset, row.last_offset) == (own[0].offset, own[-1].offset)
        assert row.first_ts == min(each.timestamp for each in own)
        assert row.last_ts == max(each.timestamp for each in own)

"""Ids that sort by time, and ids that every console makes alike."""

from __future__ import annotations

from uuid import RFC_4122, UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from streams.control.audit import uuid7

TIMES = st.integers(0, 2**48 - 1)
CHANCE = st.binary(min_size=10, max_size=10)


@given(at=TIMES, chance=CHANCE)
def test_it_is_a_uuid_of_version_7_with_the_time_in_front(at: int, chance: bytes) -> None:
    made = UUID(uuid7(at, chance))
    assert (made.version, made.variant) == (7, RFC_4122)
    assert made.int >> 80 == at


@given(at=TIMES, chance=CHANCE)
def test_all_of_the_chance_that_fits_is_in_it(at: int, chance: bytes) -> None:
    made, bits = UUID(uuid7(at, chance)).int, int.from_bytes(chance)
    kept = (1 << 76) - 1 & ~(3 << 62)
    assert made & kept == bits & kept


@given(first=TIMES, second=TIMES, chance=CHANCE, other=CHANCE)
def test_ids_sort_by_their_time(first: int, second: int, chance: bytes, other: bytes) -> None:
    if first < second:
        assert uuid7(first, chance) < uuid7(second, other)


@pytest.mark.parametrize(("at", "chance"), [(-1, bytes(10)), (1 << 48, bytes(10)), (0, bytes(9))])
def test_a_time_or_chance_that_does_not_fit_is_refused(at: int, chance: bytes) -> None:
    with pytest.raises(ValueError, match="48 bits and ten bytes"):
        uuid7(at, chance)

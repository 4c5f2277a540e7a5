"""What is left of a batch: every offset comes to something, and what is in order is read."""

from hypothesis import given
from hypothesis import strategies as st

from streams.core.domain.record import RawKind, Unreadable
from streams.kafka.patches.salvage import MOST_LETTERS, Frame, Salvaged, lost, salvage
from tests.hostile.raw_batch import record, sized, varint

Found = list[Salvaged | Unreadable]


def read(records: bytes, holds: int, *, base: int = 0, last: int | None = None) -> Found:
    frame = Frame(base, base + holds - 1 if last is None else last, holds, 1000)
    return list(salvage(frame, memoryview(records), 0, base))


@given(
    written=st.lists(
        st.tuples(
            st.none() | st.binary(max_size=9),
            st.none() | st.binary(max_size=99),
            st.lists(st.tuples(st.text(max_size=5), st.none() | st.binary(max_size=9)), max_size=3),
            st.integers(-1000, 1000),
        ),
        max_size=9,
    )
)
def test_records_in_order_are_read_as_they_were_written(written) -> None:
    records = b"".join(
        record(
            key,
            value,
            [(name.encode(), content) for name, content in headers],
            offset_delta=place,
            timestamp_delta=later,
        )
        for place, (key, value, headers, later) in enumerate(written)
    )
    assert read(records, len(written)) == [
        Salvaged(place, 1000 + later, key, value, tuple(headers))
        for place, (key, value, headers, later) in enumerate(written)
    ]


def test_the_others_of_a_batch_are_read() -> None:
    odd = record(b"k", b"v", [(b"\xff", b"1"), (b"ok", None)], offset_delta=1)
    records = record(b"k", b"0") + odd + record(b"k", b"2", offset_delta=2)
    first, second, third = read(records, 3, base=7)
    assert (first.offset, first.value, third.offset, third.value) == (7, b"0", 9, b"2")
    assert second == Unreadable(
        8, 1000, "the name of a header is not UTF-8", b"k", b"v", (("\\xff", b"1"), ("ok", None))
    )


def test_a_record_that_claims_another_offset_is_set_aside_at_its_place() -> None:
    records = b"".join(record(b"k", b"%d" % place, offset_delta=0) for place in range(2))
    first, second = read(records, 2)
    assert isinstance(first, Salvaged)
    assert (second.offset, second.value) == (1, b"1")
    assert "claims the offset 0" in second.detail


def test_of_a_record_whose_parts_make_no_sense_the_bytes_are_kept() -> None:
    body = b"\0" + varint(0) + varint(1) + varint(99) + b"short"
    records = record(None, b"0") + varint(len(body)) + body + record(None, b"2", offset_delta=2)
    _, second, third = read(records, 3)
    assert (second.offset, second.raw, second.value) == (1, RawKind.RECORD, body)
    assert isinstance(third, Salvaged)


def test_behind_a_length_that_makes_no_sense_the_rest_is_one_piece() -> None:
    rest = varint(500) + b"rest"
    first, second, third = read(record(None, b"0") + rest, 3)
    assert isinstance(first, Salvaged)
    assert (second.offset, second.raw, second.value) == (1, RawKind.BATCH, rest)
    assert (third.offset, third.raw, third.value) == (2, None, None)


def test_a_compacted_batch_keeps_the_offsets_of_its_records() -> None:
    records = record(None, b"1", offset_delta=1) + record(None, b"5", offset_delta=5)
    assert [found.offset for found in read(records, 2, last=9)] == [1, 5]
    found = read(records + record(None, b"3", offset_delta=3), 3, last=9)
    assert [each.offset for each in found] == [1, 5, 6, 7, 8, 9]
    assert [isinstance(each, Unreadable) for each in found] == [False, False, True, True, True, True]


def test_a_timestamp_is_one_of_64_bits() -> None:
    (found,) = read(record(None, b"", timestamp_delta=(1 << 63) - 1), 1)
    assert -(1 << 63) <= found.timestamp < 1 << 63


@given(damage=st.binary(max_size=60), holds=st.integers(1, 5), compacted=st.integers(0, 3))
def test_whatever_the_bytes_are_each_offset_comes_at_most_once_and_in_order(damage, holds, compacted) -> None:
    found = read(record(b"k", b"v") + damage, holds, last=holds - 1 + compacted)
    offsets = [each.offset for each in found]
    assert offsets == sorted(set(offsets))
    assert all(0 <= offset < holds + compacted for offset in offsets)
    if not compacted:
        assert offsets == list(range(holds))


@given(headers=st.lists(st.tuples(st.binary(max_size=3), st.none() | st.binary(max_size=3)), max_size=4))
def test_a_header_is_never_lost(headers) -> None:
    (found,) = read(record(b"k", b"v", headers), 1)
    assert [content for _, content in found.headers] == [content for _, content in headers]


def test_a_huge_number_of_headers_is_no_number_of_headers() -> None:
    body = b"\0" + varint(0) + varint(0) + sized(None) + sized(None) + varint(1 << 31)
    (found,) = read(varint(len(body)) + body, 1)
    assert (found.raw, found.value) == (RawKind.RECORD, body)


def test_a_bounded_number_of_letters_stands_for_any_number_of_offsets() -> None:
    found = list(lost(5, 5 + MOST_LETTERS + 500, "?", 0, b"raw"))
    told = [each for each in found if each.is_logged]
    assert [each.offset for each in found] == list(range(5, 5 + MOST_LETTERS + 501))
    assert len(told) == MOST_LETTERS
    assert (told[0].value, told[0].last) == (b"raw", None)
    assert (told[-1].offset, told[-1].last) == (4 + MOST_LETTERS, 5 + MOST_LETTERS + 500)

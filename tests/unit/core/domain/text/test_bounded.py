from hypothesis import given
from hypothesis import strategies as st

from streams.core.domain.text.bounded import LONGEST_HASH, LONGEST_TEXT, bounded, bounded_hash

LONG = st.integers(LONGEST_TEXT - 3, LONGEST_TEXT + 20).flatmap(
    lambda length: st.sampled_from(["x" * length, "x" * (length - 1) + "y", "y" + "x" * (length - 1)])
)


def test_a_text_is_cut_only_when_it_is_longer_than_the_limit() -> None:
    limit = "x" * LONGEST_TEXT
    assert bounded(limit) == limit
    assert bounded(limit + "x") == limit + "…" + bounded(limit + "x")[-16:]
    assert len(bounded("x" * 1_000_000)) == LONGEST_TEXT + 17


@given(LONG, LONG)
def test_bounded_texts_are_equal_exactly_when_the_texts_are(one: str, other: str) -> None:
    assert (bounded(one) == bounded(other)) == (one == other)


@given(LONG)
def test_a_bounded_text_is_never_a_text_of_its_own_length_left_alone(text: str) -> None:
    cut = bounded("x" * 2000)
    assert bounded(cut) != cut
    assert len(bounded(text)) <= LONGEST_TEXT + 17


def test_a_hash_is_kept_while_it_is_short() -> None:
    short, long = "0" * LONGEST_HASH, "0" * (LONGEST_HASH + 1)
    assert bounded_hash(short) == short
    assert bounded_hash(long).startswith("#")
    assert len(bounded_hash(long)) == LONGEST_HASH + 1
    assert bounded_hash(long) != bounded_hash(long + "0")

import hashlib
import string

from hypothesis import given
from hypothesis import strategies as st

from streams.core.domain.text.digest import LONGEST_HASH, LONGEST_TEXT, bounded, bounded_hash, digest


def test_digest_of_null_is_null():
    assert digest(None) is None


def test_known_value():
    assert digest("") == "e3b0c44298fc1c14"


@given(st.text())
def test_is_the_start_of_sha_256_over_utf_8(text):
    assert digest(text) == hashlib.sha256(text.encode()).hexdigest()[:16]


@given(st.text(st.characters(categories=["Cs", "Ll"])))
def test_text_that_utf_8_cannot_write_has_a_digest_too(text):
    found = digest(text)
    assert found is not None
    assert len(found) == 16
    assert set(found) <= set(string.hexdigits.lower())


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

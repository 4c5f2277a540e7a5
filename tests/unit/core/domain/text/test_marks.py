"""Words as marks: stored as one text, compared as sets, the same in every process."""

from hypothesis import given
from hypothesis import strategies as st

from streams.core.domain.number import r4
from streams.core.domain.text.marks import WIDTH, Marks, jaccard, mark

WORDS = st.frozensets(st.text(min_size=1, max_size=8), max_size=40)


@given(one=WORDS, other=WORDS)
def test_marks_share_what_the_words_share(one: frozenset[str], other: frozenset[str]) -> None:
    assert Marks.of(one).jaccard(Marks.of(other)) == jaccard(one, other)


@given(words=WORDS)
def test_marks_are_read_back_from_their_text(words: frozenset[str]) -> None:
    marks = Marks.of(words)
    assert Marks(str(marks)).set == marks.set
    assert len(marks) == WIDTH * len(words)


NEAR = st.sets(st.sampled_from("abcdefghij"), max_size=10)


@given(one=NEAR, other=NEAR, least=st.floats(0, 1))
def test_the_similarity_is_the_rounded_share_if_that_is_enough(
    one: set[str], other: set[str], least: float
) -> None:
    share = r4(jaccard(frozenset(one), frozenset(other)))
    for asked in (share, least, min(share + 0.0001, 1.0)):
        similarity = Marks.of(one).similarity(Marks.of(other), asked)
        assert similarity == (share if share >= asked else None)


@given(words=st.sets(st.text(min_size=1, max_size=3), min_size=20, max_size=60), data=st.data())
def test_long_texts_that_differ_a_little_are_alike(words: set[str], data: st.DataObject) -> None:
    left, right = ({*data.draw(st.lists(st.sampled_from(sorted(words)), max_size=6))} for _ in range(2))
    one, other = frozenset(words - left), frozenset(words - right)
    share = r4(jaccard(one, other))
    assert Marks.of(one).similarity(Marks.of(other), 0.85) == (share if share >= 0.85 else None)


def test_a_mark_is_the_same_in_every_process() -> None:
    assert [mark("alpha"), mark("größer"), mark("\ud800")] == ["4m6Rp", "IjpF7", "INDd|"]


def test_nothing_of_the_words_can_be_read() -> None:
    assert "password" not in Marks.of({"password"})

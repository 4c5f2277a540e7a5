"""Words as marks: stored as one text, compared as sets, the same in every process."""

from hypothesis import given
from hypothesis import strategies as st

from streams.domain.marks import WIDTH, Marks, mark
from streams.domain.tokens import jaccard

WORDS = st.frozensets(st.text(min_size=1, max_size=8), max_size=40)


@given(one=WORDS, other=WORDS)
def test_marks_share_what_the_words_share(one: frozenset[str], other: frozenset[str]) -> None:
    assert Marks.of(one).jaccard(Marks.of(other)) == jaccard(one, other)


@given(words=WORDS)
def test_marks_are_read_back_from_their_text(words: frozenset[str]) -> None:
    marks = Marks.of(words)
    assert Marks(str(marks)).set == marks.set
    assert len(marks) == WIDTH * len(words)


def test_a_mark_is_the_same_in_every_process() -> None:
    assert [mark("alpha"), mark("größer"), mark("\ud800")] == ["lij19U", "tjgYzZ", "W52Neq"]


def test_nothing_of_the_words_can_be_read() -> None:
    assert "password" not in Marks.of({"password"})

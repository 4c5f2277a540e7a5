import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from streams.core.domain.text.marks import jaccard, tokens

WORDS = st.text(st.sampled_from("aA1_- ,.éßÄΩ读٣½²İſK\u0301\u00a0\u2028\x1c\n😀")) | st.text()
SETS = st.frozensets(st.sampled_from("abcdef"))


def as_specified(text: str) -> frozenset[str]:
    """Specification 3.3, to the letter."""
    return frozenset(re.findall(r"[^\W_]+", text[:4000].lower()))


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (None, set()),
        ("", set()),
        ("Alpha-BETA, gamma_1!", {"alpha", "beta", "gamma", "1"}),
        ("Größe Ωmega 12", {"größe", "ωmega", "12"}),
        ("a a A", {"a"}),
        ("读取文件 abc", {"读取文件", "abc"}),
        ("snake_case.dotted/slashed", {"snake", "case", "dotted", "slashed"}),
    ],
)
def test_words_of_a_text(text, words):
    assert tokens(text) == words


def test_only_the_first_4000_characters_count():
    assert tokens("a " * 2000 + "late") == {"a"}
    assert tokens("é " * 2000 + "late") == {"é"}


@given(WORDS)
def test_does_what_the_specification_says(text):
    assert tokens(text) == as_specified(text)


def test_the_example_of_seed_002():
    one = tokens("Analyzing the configuration file Found 3 issues")
    other = tokens("Still analyzing configuration file Found 3 problems")
    assert jaccard(one, other) == 5 / 9


@pytest.mark.parametrize(
    ("a", "b", "similarity"),
    [("", "", 0.0), ("a", "", 0.0), ("a", "b", 0.0), ("a b", "B A", 1.0), ("a b", "a", 0.5)],
)
def test_jaccard_of_texts(a, b, similarity):
    assert jaccard(tokens(a), tokens(b)) == similarity


@given(SETS, SETS)
def test_jaccard_is_symmetric_and_within_0_and_1(a, b):
    assert jaccard(a, b) == jaccard(b, a)
    assert 0 <= jaccard(a, b) <= 1
    assert (jaccard(a, b) == 1) == (a == b != frozenset())
    assert (jaccard(a, b) == 0) == (not a & b)

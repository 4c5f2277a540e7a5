"""What an answer tells that its own call did not, and what of it is fresh (specification 6.3b)."""

from typing import Any

import pytest

from streams.core.detectors.verdict.news import (
    HEARD_MARK,
    MOST_HEARD,
    MOST_TOLD,
    heard_mark,
    hearing,
    news_of,
    remembered,
    was_heard,
)
from streams.core.domain.decision import Decision
from streams.core.domain.text.added import SAMPLE, SHORT_MARK
from tests.unit.core.detectors.verdict.sequences import call, failing, text


def decision(value: dict[str, Any]) -> Decision:
    return Decision.of(0, 0, value)


def is_told(value: dict[str, Any], *expected: str) -> bool:
    """Whether these are the news words, in any order."""
    return sorted(news_of(decision(value), "").words) == sorted(expected)


def numbered(count: int, name: str = "w") -> str:
    return " ".join(f"{name}{number}" for number in range(count))


def test_the_words_of_the_arguments_are_no_news() -> None:
    value = call('{"q": "alpha"}', "q alpha beta")
    assert is_told(value, "beta")


def test_the_words_of_the_tool_and_of_the_intent_are() -> None:
    value = call('{"q": "alpha"}', "work get user beta", intent="work")
    assert is_told(value, "work", "get", "user", "beta")


@pytest.mark.parametrize(
    ("result", "expected"),
    [
        ("alpha 1 2", ["alpha"]),
        ("alpha 1 2 3", ["alpha", "1", "2", "3"]),
        ("1 2 3", ["1", "2", "3"]),
        ("alpha beta1 2", ["alpha", "beta1"]),
        ("alpha 2beta 3", ["alpha", "2beta"]),
        ("größe 7", ["größe"]),
    ],
)
def test_numbers_count_only_where_they_are_more_than_two_thirds(result: str, expected: list[str]) -> None:
    assert is_told(call('{"q": "x"}', result), *expected)


def test_all_words_of_a_text_are_news_and_its_numbers_too() -> None:
    assert is_told(text("try 3 more"), "try", "3", "more")


def test_what_differs_each_time_is_no_word() -> None:
    assert is_told(call(result="done in 0.12s at 0x7fFA10"), "done", "in", "dur", "at", "hex")


def test_the_first_600_characters_of_a_result_and_of_an_intent_count() -> None:
    assert is_told(call(result="x " * 300 + "alpha"), "x")
    assert is_told(call(result="x " * 290 + "alpha"), "x", "alpha")
    assert is_told(text("x " * 300 + "alpha"), "x")


def test_the_words_of_the_first_1000_characters_of_the_arguments_are_no_news() -> None:
    assert is_told(call('{"q": "' + "x " * 400 + 'alpha"}', "alpha beta x"), "beta")
    assert is_told(call('{"q": "' + "x " * 500 + 'alpha"}', "alpha beta x"), "alpha", "beta")


def test_up_to_32_words_are_compared_and_12_of_more() -> None:
    assert len(news_of(decision(call(result=numbered(32))), "").sample) == 32
    found = news_of(decision(call(result=numbered(33))), "")
    assert (len(found.sample), found.is_long) == (SAMPLE, True)


def test_the_sample_does_not_depend_on_the_order() -> None:
    one = call(result=numbered(50))
    other = call(result=" ".join(reversed(numbered(50).split())))
    assert news_of(decision(one), "").sample == news_of(decision(other), "").sample


def test_what_was_told_is_known() -> None:
    told = remembered("", news_of(decision(call(result="alpha beta gamma")), ""))
    assert news_of(decision(call('{"z": 1}', "gamma alpha")), told).is_known
    assert not news_of(decision(call('{"z": 1}', "gamma delta")), told).is_known
    assert not news_of(decision(call('{"z": 1}', "")), told).is_known


@pytest.mark.parametrize(
    ("known", "fresh", "expected"),
    [(4, 1, False), (5, 1, True), (5, 2, False), (9, 2, False), (10, 2, True), (6, 0, False)],
)
def test_one_word_in_six_may_be_new_of_six_at_least(known: int, fresh: int, expected: bool) -> None:
    told = remembered("", news_of(decision(call(result=numbered(known))), ""))
    value = call('{"z": 1}', f"{numbered(known)} {numbered(fresh, 'n')}")
    assert news_of(decision(value), told).is_nearly_known is expected


def test_96_words_are_remembered() -> None:
    told = ""
    for number in range(12):
        told = remembered(told, news_of(decision(call(result=numbered(10, f"w{number}x"))), told))
    assert len(told) == MOST_TOLD * SHORT_MARK
    assert news_of(decision(call('{"z": 1}', "w11x0 w11x1")), told).is_known
    assert len(news_of(decision(call('{"z": 1}', "w0x0 w0x1")), told).fresh) == 2


def test_words_that_are_known_are_not_remembered_again() -> None:
    told = remembered("", news_of(decision(call(result="alpha beta")), ""))
    assert remembered(told, news_of(decision(call('{"z": 1}', "beta alpha")), told)) == told


def mark_of(value: dict[str, Any]) -> str:
    return heard_mark(decision(value), news_of(decision(value), ""))


def test_a_tool_is_heard_by_its_words_whatever_was_asked() -> None:
    assert mark_of(call('{"q": 1}', "alpha beta")) == mark_of(call('{"q": 2}', "beta, alpha!"))
    assert mark_of(call(result="alpha")) != mark_of(call(result="alpha", tool="other_tool"))
    assert mark_of(call(result="alpha")) != mark_of(failing("alpha", tool="get_user"))


def test_of_a_long_answer_the_number_of_words_counts_too() -> None:
    # A word that is not among the 12 that are compared.
    base = numbered(40)
    sample = news_of(decision(call(result=base)), "").sample
    extra = next(
        word
        for word in (f"extra{number}" for number in range(99))
        if news_of(decision(call(result=f"{base} {word}")), "").sample == sample
    )
    assert mark_of(call(result=base)) != mark_of(call(result=f"{base} {extra}"))


def test_24_things_that_tools_told_are_remembered_in_the_order_they_were_first_told() -> None:
    heard = ""
    for number in range(MOST_HEARD + 1):
        heard = hearing(heard, f"{number:06}")
    assert len(heard) == MOST_HEARD * HEARD_MARK
    assert not was_heard(heard, "000000")
    assert was_heard(heard, "000001")
    assert hearing(heard, "000001") == heard

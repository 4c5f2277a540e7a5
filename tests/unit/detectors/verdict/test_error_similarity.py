"""R3 with `same_error_similarity`, off by default: the arguments must hardly change."""

from typing import Any

from tests.stream import Stream
from tests.unit.detectors.verdict.sequences import WORDS, failing, other, raws, spread, verdicts

ALIKE = {"verdict_rules": ["R3"], "same_error_similarity": 0.8}


def alike(number: int) -> dict[str, Any]:
    """A failure with eleven words as arguments, ten of them always the same: 10 of 12 are shared."""
    return failing("old string not found", f"{WORDS} w{number}")


def unlike(number: int) -> dict[str, Any]:
    return failing("old string not found", f"nothing{number} like{number} it{number}")


def test_arguments_that_hardly_change_count() -> None:
    assert raws([alike(number) for number in range(7)], **ALIKE) == "NNNWWLL"


def test_arguments_that_change_do_not() -> None:
    values = [unlike(number) for number in range(7)]
    assert raws(values, verdict_rules=["R3"]) == "NNNWWLL"
    assert raws(values, **ALIKE) == "N" * 7


def test_a_share_of_words_that_is_just_enough() -> None:
    # 10 of 12 words are 0.8333.
    values = [alike(number) for number in range(4)]
    assert raws(values, verdict_rules=["R3"], same_error_similarity=0.8333) == "NNNW"
    assert raws(values, verdict_rules=["R3"], same_error_similarity=0.8334) == "NNNN"


def test_a_call_that_differs_begins_a_new_row() -> None:
    values = [alike(1), alike(2), unlike(3), alike(4), alike(5), alike(6), alike(7)]
    assert raws(values, **ALIKE) == "NNNNNNW"


def test_equal_calls_are_alike_even_without_arguments() -> None:
    values = [failing("no such key", ""), failing("no such key", ""), failing("no such key", "")]
    *_, last = verdicts([alike(1), alike(1), alike(1), alike(2)], **ALIKE)
    assert last["count"] == 4
    assert raws(values, verdict_rules=["R1"], same_error_similarity=0.8) == "NWL"


def test_other_tools_in_between_do_not_matter() -> None:
    values = [value for number in range(4) for value in (alike(number), other(number))]
    assert raws(values, **ALIKE) == "NNNNNNWN"


def test_by_default_no_words_are_kept() -> None:
    kept = []
    for changes in ({}, ALIKE):
        stream = Stream(**changes)
        stream.run(spread([alike(1)]))
        (failure,) = stream.sessions["s1"].states["verdict"].errors.values()
        kept.append(len(failure))
    assert kept == [6, 7]


def test_switched_on_later_it_compares_with_what_is_known_from_then_on() -> None:
    stream = Stream(verdict_rules=["R3"])
    stream.run(spread([alike(number) for number in range(3)]))
    stream.set(same_error_similarity=0.8)
    outcomes = stream.run(spread([alike(number) for number in range(3, 7)]))
    assert [each.enriched["eddy"]["verdict"]["count"] for each in outcomes] == [None, None, None, 4]

"""Records between the first labelled repetition and the first alarm."""

from streams.evaluation.delay import Delay, delay


def at(*positions: int) -> frozenset[int]:
    return frozenset(positions)


def test_the_first_alarm_at_or_after_the_first_repetition_counts() -> None:
    assert delay([(at(3), at(3, 4)), (at(2, 9, 10), at(5, 6)), (at(8), at(7))]) == Delay(
        noticed=3, unnoticed=0, median=1, longest=4
    )


def test_an_alarm_that_came_before_is_no_notice() -> None:
    assert delay([(at(1, 2), at(5))]) == Delay(noticed=0, unnoticed=1, median=None, longest=None)


def test_sessions_without_a_repetition_do_not_count() -> None:
    assert delay([(at(1), at())]) == Delay(noticed=0, unnoticed=0, median=None, longest=None)


def test_of_an_even_number_the_median_lies_between() -> None:
    assert delay([(at(3), at(3)), (at(8), at(3))]).median == 2.5

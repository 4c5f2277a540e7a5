"""How far a sink has got, and what it has beyond: little to remember, enough to repeat nothing."""

from hypothesis import given
from hypothesis import strategies as st

from streams.alerts.pending_delivery import REMEMBERED, DeliveryProgress, PartlyDelivered

END = 100


@given(st.sets(st.integers(0, END - 1)), st.sets(st.integers(0, END - 1)))
def test_after_a_restart_only_what_had_not_ended_is_to_be_done(begun: set[int], ended: set[int]) -> None:
    progress = DeliveryProgress(0)
    for offset in sorted(begun):
        progress.begin(offset)
    progress.read_to(END)
    for offset in ended & begun:
        progress.end(offset)
    mark, beyond = progress.mark, progress.beyond()
    again = DeliveryProgress(mark, beyond)
    assert {offset for offset in begun if not again.is_behind(offset)} == begun - ended
    assert again.mark == mark
    again.read_to(mark)
    assert again.mark == mark


def test_of_many_that_wait_so_many_are_remembered_and_the_rest_waits_again() -> None:
    progress = DeliveryProgress(0)
    for offset in range(0, 4 * REMEMBERED, 2):
        progress.begin(offset)
    progress.end(2)
    beyond = progress.beyond()
    assert beyond is not None
    assert len(beyond.waiting) <= REMEMBERED
    again = DeliveryProgress(progress.mark, beyond)
    assert again.is_behind(2)
    assert not any(map(again.is_behind, range(4, 4 * REMEMBERED, 2)))


def test_a_sink_that_is_away_has_nothing_beyond() -> None:
    progress = DeliveryProgress(0)
    for offset in range(3):
        progress.begin(offset)
    assert progress.beyond() is None


def test_what_was_expected_and_is_wanted_no_more_holds_nothing_back() -> None:
    """Such as an alert of a kind that the settings no longer name."""
    progress = DeliveryProgress(5, PartlyDelivered(20, (5, 9)))
    progress.begin(5)
    progress.read_to(20)
    progress.end(5)
    assert progress.mark == 20


def test_what_is_read_twice_ends_twice() -> None:
    progress = DeliveryProgress(0)
    for offset in (3, 1, 3):
        progress.begin(offset)
    assert progress.mark == 1
    for offset in (1, 3, 3, 7):
        progress.end(offset)
    assert progress.mark == 4

"""Reading since when an agent was stuck."""

import pytest

from streams.evaluation.stuck_label import StuckLabel, stuck_label


def read(**line: object) -> StuckLabel:
    label = stuck_label(line)
    assert label is not None
    return label


def test_a_stuck_session_is_stuck_from_its_onset_to_its_end() -> None:
    assert read(stuck="yes", onset=2).marked(5) == {2, 3, 4}


def test_stretches_say_where_it_was_not_stuck_in_between() -> None:
    label = read(stuck="yes", onset=1, intervals=[[1, 2], [5, 6]])
    assert label.marked(9) == {1, 2, 5, 6}


def test_of_several_readers_everything_counts_that_one_of_them_marked() -> None:
    readers = [{"intervals": [[2, 3]]}, {"intervals": [[3, 4]]}]
    assert read(stuck="yes", onset=2, readers=readers).marked(9) == {2, 3, 4}


def test_records_that_nobody_read_are_not_marked() -> None:
    label = read(stuck="yes", onset=2, records=4)
    assert label.marked(9) == {2, 3}
    assert label.seen(9) == 4


def test_a_stretch_may_end_far_behind_the_session() -> None:
    assert read(stuck="yes", onset=2, intervals=[[2, 10**18], [10**17, 10**18]]).marked(4) == {2, 3}


@pytest.mark.parametrize(("word", "stuck"), [(True, True), (False, False), ("yes", True), ("no", False)])
def test_the_word_may_be_a_truth_value(word: object, stuck: bool) -> None:
    assert read(stuck=word, onset=0).stuck is stuck


@pytest.mark.parametrize("word", ["unsure", "disputed", "maybe", 1, ["yes"]])
def test_any_other_word_is_a_dispute(word: object) -> None:
    assert read(stuck=word, onset=3) == StuckLabel(None)


@pytest.mark.parametrize("line", [{}, {"stuck": None}])
def test_a_line_may_say_nothing_about_being_stuck(line: dict[str, object]) -> None:
    assert stuck_label(line) is None


@pytest.mark.parametrize(
    ("line", "field"),
    [
        ({"stuck": "yes"}, "onset"),
        ({"stuck": "yes", "onset": -1}, "onset"),
        ({"stuck": "yes", "onset": True}, "onset"),
        ({"stuck": "yes", "onset": 1.0}, "onset"),
        ({"stuck": "no", "records": "all"}, "records"),
        ({"stuck": "yes", "onset": 0, "intervals": [[1]]}, "intervals"),
        ({"stuck": "yes", "onset": 0, "intervals": [3, 4]}, "intervals"),
        ({"stuck": "yes", "onset": 0, "readers": [{"intervals": [[1, "2"]]}]}, "intervals"),
    ],
)
def test_a_field_that_cannot_be_is_named(line: dict[str, object], field: str) -> None:
    with pytest.raises(ValueError, match=field):
        stuck_label(line)


@pytest.mark.parametrize(
    ("label", "records", "fits"),
    [
        (StuckLabel(False), 0, True),
        (StuckLabel(False, read=5), 5, True),
        (StuckLabel(False, read=5), 4, False),
        (StuckLabel(True, 4), 5, True),
        (StuckLabel(True, 4), 4, False),
        (StuckLabel(True, 4, read=5), 9, True),
        (StuckLabel(True, 4, read=4), 9, False),
    ],
)
def test_a_label_fits_sessions_that_are_long_enough(label: StuckLabel, records: int, fits: bool) -> None:
    assert (label.misfit(records) is None) is fits

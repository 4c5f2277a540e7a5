"""Reading what people said about a session."""

import pytest

from streams.core.evaluation.labels import (
    SessionLabel,
    StuckLabel,
    session_label,
    solved,
    source_of,
    stuck_label,
)


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


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ({"solved": True}, True),
        ({"solved": False, "reward": 1.0}, False),
        ({"success": True}, True),
        ({"success": False}, False),
        ({"reward": 1.0}, True),
        ({"reward": 0.5}, False),
        ({"reward": 0}, False),
        ({"reward": True}, True),
        ({"reward": "1"}, True),
        ({"reward": "0"}, False),
        ({"outcome": "CORRECT"}, True),
        ({"outcome": "INCORRECT"}, False),
        ({"outcome": "HALTED"}, False),
    ],
)
def test_a_known_end_is_read(line: dict[str, object], expected: bool) -> None:
    assert solved(line) is expected


@pytest.mark.parametrize(
    "line",
    [
        {},
        {"solved": None},
        {"reward": None},
        {"reward": "high"},
        {"outcome": "CANCELLED"},
        {"outcome": ["CORRECT"]},
        {"exit_status": "submitted"},
    ],
)
def test_an_end_that_nobody_told_is_neither_solved_nor_failed(line: dict[str, object]) -> None:
    assert solved(line) is None


LINE = {"session_id": "set::7", "label_source": "human"}


def test_a_word_marks_the_later_record_of_its_pair() -> None:
    words = ["Follow-up", "Repetition", "Repetition", "Divergence", "Repetition"]
    label = session_label({**LINE, "action_action": words})
    assert label is not None
    assert label.repetitions == {2, 3, 5}
    assert label.transitions == 5
    assert label.source == "set"


def test_labels_fit_a_session_with_one_record_more() -> None:
    label = session_label({**LINE, "action_action": ["Follow-up", "Repetition"]})
    assert label is not None
    assert [label.misfit(records) is None for records in (2, 3, 4)] == [False, True, False]


@pytest.mark.parametrize(
    "line",
    [
        {**LINE, "action_action": None},
        LINE,
        {**LINE, "label_source": "llm (some ledger)", "action_action": ["Repetition"]},
    ],
    ids=["null", "absent", "not by a person"],
)
def test_without_words_of_a_person_a_session_is_unlabelled_not_free_of_loops(line: dict[str, object]) -> None:
    label = session_label(line)
    assert label is not None
    assert label.repetitions is None
    assert label.misfit(12) is None


def test_labelled_without_a_repetition_is_not_unlabelled() -> None:
    label = session_label({**LINE, "action_action": ["Follow-up"]})
    assert label is not None
    assert label.repetitions == frozenset()


@pytest.mark.parametrize("session_id", [None, "", 7])
def test_a_line_that_names_no_session_is_no_label(session_id: object) -> None:
    assert session_label({**LINE, "session_id": session_id}) is None


def test_one_line_may_say_everything() -> None:
    label = session_label(
        {
            **LINE,
            "action_action": ["Repetition"],
            "stuck": "yes",
            "onset": 1,
            "solved": False,
            "rewards": [0, None],
        }
    )
    assert label == SessionLabel("set::7", "set", frozenset({1}), 1, StuckLabel(True, 1), False, (0, None))


@pytest.mark.parametrize("rewards", [0.5, [True], ["1"], [[0]]])
def test_rewards_are_numbers_or_unknown(rewards: object) -> None:
    with pytest.raises(ValueError, match="rewards"):
        session_label({**LINE, "rewards": rewards})


def test_there_is_a_reward_for_each_record() -> None:
    label = session_label({**LINE, "rewards": [0, 0.5, None]})
    assert label is not None
    assert label.misfit(3) is None
    assert label.misfit(4) == "3 rewards for 4 records"


def test_lines_of_one_session_are_joined_whatever_their_order() -> None:
    steps = SessionLabel("set::7", "set", frozenset({1}), 1)
    rest = SessionLabel("set::7", "set", stuck=StuckLabel(False), solved=False, rewards=(0, 1))
    assert steps.joined(rest) == rest.joined(steps)
    assert steps.joined(rest) == SessionLabel(
        "set::7", "set", frozenset({1}), 1, StuckLabel(False), False, (0, 1)
    )


@pytest.mark.parametrize(
    "label",
    [
        SessionLabel("set::7", "set", frozenset(), 1),
        SessionLabel("set::7", "set", stuck=StuckLabel(None)),
        SessionLabel("set::7", "set", solved=False),
        SessionLabel("set::7", "set", rewards=()),
    ],
    ids=["steps", "stuck", "end", "rewards"],
)
def test_two_lines_must_not_label_the_same(label: SessionLabel) -> None:
    with pytest.raises(ValueError, match="labelled twice"):
        label.joined(label)


def test_a_label_of_more_records_than_there_are_does_not_fit() -> None:
    label = SessionLabel("set::7", "set", stuck=StuckLabel(True, 12))
    assert label.misfit(13) is None
    assert label.misfit(12) == "labelled stuck by 13 records, of which 12 are there"


def test_the_source_ends_at_the_first_two_colons() -> None:
    assert source_of("set::a::b") == "set"

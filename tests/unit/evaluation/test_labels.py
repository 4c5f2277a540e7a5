"""Reading what people said about a session."""

import pytest

from streams.evaluation.labels import SessionLabel, session_label, source_of
from streams.evaluation.stuck_label import StuckLabel

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
        {**LINE, "action_action": ["Repetition"], "stuck": "yes", "onset": 1, "solved": False}
    )
    assert label == SessionLabel("set::7", "set", frozenset({1}), 1, StuckLabel(True, 1), solved=False)


def test_lines_of_one_session_are_joined_whatever_their_order() -> None:
    steps = SessionLabel("set::7", "set", frozenset({1}), 1)
    rest = SessionLabel("set::7", "set", stuck=StuckLabel(False), solved=False)
    assert steps.joined(rest) == rest.joined(steps)
    assert steps.joined(rest) == SessionLabel(
        "set::7", "set", frozenset({1}), 1, StuckLabel(False), solved=False
    )


@pytest.mark.parametrize(
    "label",
    [
        SessionLabel("set::7", "set", frozenset(), 1),
        SessionLabel("set::7", "set", stuck=StuckLabel(None)),
        SessionLabel("set::7", "set", solved=False),
    ],
    ids=["steps", "stuck", "end"],
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

"""Reading what people said about a session."""

import pytest

from streams.evaluation.labels import session_label, source_of

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
    assert [label.fits(records) for records in (2, 3, 4)] == [False, True, False]


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
    assert label.fits(12)


def test_labelled_without_a_repetition_is_not_unlabelled() -> None:
    label = session_label({**LINE, "action_action": ["Follow-up"]})
    assert label is not None
    assert label.repetitions == frozenset()


@pytest.mark.parametrize("session_id", [None, "", 7])
def test_a_line_that_names_no_session_is_no_label(session_id: object) -> None:
    assert session_label({**LINE, "session_id": session_id}) is None


def test_the_source_ends_at_the_first_two_colons() -> None:
    assert source_of("set::a::b") == "set"

"""Bringing records and labels together."""

from typing import Any

from streams.core.detectors.settings import DEFAULTS
from streams.core.entry import Entry, undecodable
from streams.core.evaluation.labels import StuckLabel
from streams.core.evaluation.sessions import Gathered, gather
from streams.core.offline import judge
from tests.stream import decision_log


def log(session: str, number: int, **changes: Any) -> Entry:
    return Entry(session, None, decision_log(session=session, number=number) | changes, None)


def label(session: str, *words: str) -> dict[str, Any]:
    return {"session_id": session, "label_source": "human", "action_action": list(words)}


def gathered(entries: list[Entry], labels: list[dict[str, Any]]) -> Gathered:
    return gather(judge(entries, DEFAULTS), labels)


def test_sessions_may_run_side_by_side() -> None:
    entries = [log("a", 1), log("b", 1), log("a", 2), log("b", 2), log("b", 3)]
    found = gathered(entries, [label("b", "Repetition", "Repetition")])
    assert [(label.session_id, label.repetitions, watch.records) for label, watch in found.sessions] == [
        ("a", None, 2),
        ("b", {1, 2}, 3),
    ]
    assert found.sessions[1].watch.positions("baseline") == {1, 2}
    assert found.problems == ()


def test_a_session_with_a_made_up_clock_has_no_seconds() -> None:
    entries = [log("a", 1), log("b", 1), log("a", 2), log("b", 2)]
    found = gather(judge(entries, DEFAULTS), [], untimed={"b"})
    assert [session.watch.seconds(0, 1) for session in found.sessions] == [1.0, None]


def test_a_refused_record_counts_for_the_labels() -> None:
    entries = [log("a", 1), log("a", 2, meta="none"), log("a", 3), undecodable(b"x")]
    found = gathered(entries, [label("a", "Follow-up", "Repetition")])
    (session,) = found.sessions
    assert session.watch.records == 3
    assert session.label.repetitions == {2}
    assert found.problems == ("2 of 4 records are refused, the first for meta",)


def test_records_of_another_form_are_not_taken_for_sessions_without_alarms() -> None:
    (problem,) = gathered([undecodable(b"x"), log("a", 1, identity=1)], []).problems
    assert "2 of 2 records are refused" in problem
    assert "`eddy ingest`" in problem


def test_labels_of_another_number_of_records_are_not_compared() -> None:
    found = gathered([log("a", 1), log("a", 2)], [label("a", "Follow-up", "Repetition")])
    assert found == Gathered((), ("a: 2 labels for 2 records; left out",))


def test_lines_of_several_files_label_one_session() -> None:
    lines = [
        label("a", "Repetition"),
        {"session_id": "a", "stuck": "yes", "onset": 1},
        {"session_id": "a", "solved": True},
    ]
    (session,) = gathered([log("a", 1), log("a", 2)], lines).sessions
    assert session.label.repetitions == {1}
    assert session.label.stuck == StuckLabel(True, 1)
    assert session.label.solved is True


def test_a_label_that_cannot_be_is_named_and_does_not_count() -> None:
    found = gathered([log("a", 1)], [{"session_id": "a", "stuck": "yes", "onset": "first"}])
    assert found.problems == ("a: onset must be a whole number, 0 or more",)
    assert [each.label.stuck for each in found.sessions] == [None]


def test_labels_without_records_and_second_labels_are_told() -> None:
    lines = [label("a"), label("a", "Repetition"), label("gone"), {"label_source": "human"}]
    found = gathered([log("a", 1)], lines)
    assert found.problems == (
        "a: labelled twice; the first line counts",
        "a label line without a session_id",
        "gone: labels without records",
    )
    assert [each.label.repetitions for each in found.sessions] == [frozenset()]

"""Judging the records of a file as the worker would judge those of a partition."""

from collections.abc import Iterable, Iterator
from typing import Any

import pytest

from streams.core.detectors.settings import DEFAULTS
from streams.core.domain.outcome import Rejected, Scored
from streams.core.entry import Entry, session_key, undecodable
from streams.core.offline import Judge, Judgement, judge


def log(session: str, number: int, **changes: Any) -> Entry:
    value = {
        "session_id": session,
        "event_id": f"{session}-{number}",
        "meta": {"trace_id": "t", "timestamp": 1000 * number},
        "identity": {"agent_id": "a", "agent_type": "coder"},
        "cognition": {"intent": "again"},
        "action": {"status": "success", "tool_call": "search"},
        **changes,
    }
    return Entry(session_key(value), None, value, None)


def scores(judgements: Iterator[Judgement], session: str) -> list[float]:
    return [
        judgement.outcome.enriched["cognition"]["entropy_score"]
        for judgement in judgements
        if isinstance(judgement.outcome, Scored) and judgement.session_id == session
    ]


def test_a_bounded_judge_forgets_the_session_that_was_silent_for_longest() -> None:
    judge_two = Judge(DEFAULTS, most_sessions=2).judge
    steps = {}
    for number, session in enumerate(["old", "kept", "old", "new", "old", "kept"], 1):
        outcome = judge_two(log(session, number)).outcome
        assert isinstance(outcome, Scored)
        steps.setdefault(session, []).append(outcome.enriched["eddy"]["step"])
    assert steps == {"old": [1, 2, 3], "kept": [1, 1], "new": [1]}


def test_offsets_count_every_record_the_refused_ones_too() -> None:
    entries = [log("s", 1), undecodable(b"x"), log("s", 2, action={"status": "maybe"}), log("s", 3)]
    judgements = list(judge(entries, DEFAULTS))
    assert [judgement.offset for judgement in judgements] == [0, 1, 2, 3]
    assert [
        judgement.outcome.problems for judgement in judgements[1:3] if isinstance(judgement.outcome, Rejected)
    ] == [
        ("undecodable",),
        ("action.status",),
    ]
    last = judgements[3].outcome
    assert isinstance(last, Scored)
    assert last.enriched["eddy"]["id"] == "s/0/3/enriched"
    assert last.enriched["eddy"]["step"] == 2


def test_sessions_are_kept_apart() -> None:
    entries = [log("a", 1), log("b", 1), log("a", 2), log("b", 2), log("a", 3)]
    assert scores(judge(entries, DEFAULTS), "a") == [1.0, 0.5, 0.3333]
    assert scores(judge(entries, DEFAULTS), "b") == [1.0, 0.5]


def test_a_session_starts_afresh_after_its_terminal_record() -> None:
    entries = [log("s", 1), log("s", 2, control={"is_terminal": True}), log("s", 3)]
    assert scores(judge(entries, DEFAULTS), "s") == [1.0, 0.5, 1.0]


def test_nothing_is_read_ahead() -> None:
    def one_then_fail() -> Iterator[Entry]:
        yield log("s", 1)
        pytest.fail("a second record was asked for")

    assert next(judge(one_then_fail(), DEFAULTS)).session_id == "s"


def test_the_ids_of_a_refused_record_are_told_where_they_are_text() -> None:
    entries = [log("s", 1, meta=None), log("s", 2, event_id=7), undecodable(b"x")]
    ids = [(judgement.session_id, judgement.event_id) for judgement in judge(entries, DEFAULTS)]
    assert ids == [("s", "s-1"), ("s", None), (None, None)]


def hands_over(session: str, number: int, agent: str, peer: str) -> Entry:
    arguments = f'{{"to": "{peer}", "text": "Please check the table of the report again, {number}"}}'
    return log(
        session,
        number,
        meta={"trace_id": session, "timestamp": 1000 * number},
        identity={"agent_id": agent, "agent_type": "coder"},
        action={"status": "success", "tool_call": "send_message", "tool_input": arguments},
    )


def alerts(entries: Iterable[Entry]) -> list[tuple[int, str | None, Any, Any]]:
    return [
        (judgement.offset, judgement.session_id, event.fields["session_id"], event.fields["level"])
        for judgement in judge(entries, DEFAULTS)
        if isinstance(judgement.outcome, Scored)
        for event in judgement.outcome.events
        if event.fields["event_type"] == "handover_loop"
    ]


def test_two_sessions_that_hand_each_other_the_same_task_are_named_with_a_record_of_each() -> None:
    entries = [
        hands_over(session, number, agent, peer)
        for number in range(10)
        for session, agent, peer in (("s1", "coder", "tester"), ("s2", "tester", "coder"))
    ]
    assert alerts(entries) == [
        (7, "s2", "s2", "WARNING"),
        (8, "s1", "s1", "WARNING"),
        (13, "s2", "s2", "LOOP"),
        (14, "s1", "s1", "LOOP"),
    ]


def test_a_parent_that_hands_out_different_tasks_and_is_told_of_them_is_silent() -> None:
    parts = [
        "the parser",
        "every migration",
        "our billing page",
        "tests of search",
        "a new logo",
        "the changelog",
    ]
    entries = []
    for number, part in enumerate(parts * 2):
        entries.append(hands_over("parent", 10 * number, "planner", "coder"))
        entries[-1].value["action"]["tool_input"] = f'{{"to": "coder", "text": "{part}"}}'  # type: ignore[index]
        child = f"child-{number}"
        entries.append(log(child, 10 * number + 1, identity={"agent_id": "coder", "agent_type": "coder"}))
        entries.append(hands_over(child, 10 * number + 2, "coder", "planner"))
    assert alerts(entries) == []

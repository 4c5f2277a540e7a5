"""No record stops the board, whatever its value is; what is not what its topic promises is passed over."""

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from streams.cli.top.list_text import snapshot
from streams.cli.top.picture import ReadingProgress, picture
from streams.console.inbox import Query, SessionQuery, page, sessions
from streams.console.read_model.memory import check
from streams.console.read_model.model import ReadModel
from streams.core.domain.topic import Topic
from streams.kafka.stored import Stored
from tests.unit.console.agents import Board
from tests.unit.console.told import everything, folded
from tests.unit.control.samples import ACKS, COMMANDS, RECORDS

READ = sorted({told.topic for told in everything()})
REAL = {
    topic: next(told for told in everything() if told.topic is topic and told.fields)
    for topic in READ
    if any(told.topic is topic and told.fields for told in everything())
}
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=5,
)
NOW = 1_773_140_000_000


def look(model: ReadModel) -> None:
    """Look at everything there is."""
    for state in ("needs_you", "watching", "handled", "recovered"):
        for sort in ("waste", "rate"):
            page(model, Query.parse({"state": state, "sort": sort, "group": "cause"}), NOW).content()
    sessions(model, SessionQuery(), NOW).content()
    model.holds_in_force(NOW)
    copy = ReadModel()
    rows = [row for _, row in model.drain()]
    for row in rows:
        check(row)
        assert all(not isinstance(value, int) or -(2**63) <= value < 2**63 for value in row)
    copy.restore(rows)
    model.forget(NOW)


@settings(max_examples=200, deadline=None)
@given(st.sampled_from(sorted(REAL)), st.data())
def test_a_record_with_one_field_of_any_value_stops_nothing(topic: Topic, data: st.DataObject) -> None:
    told = REAL[topic]
    assert told.fields is not None
    name = data.draw(st.sampled_from(sorted(told.fields)))
    model = ReadModel()
    model.take(told.topic, told.stored, {**told.fields, name: data.draw(VALUES)})
    model.take(*told)
    look(model)


@settings(max_examples=200, deadline=None)
@given(st.lists(COMMANDS | ACKS | RECORDS, max_size=5))
def test_any_command_ack_or_audit_record_stops_nothing(values: list[Any]) -> None:
    board = Board()
    board.loop("s", 5)
    topics = {
        "Command": Topic.SESSION_COMMANDS,
        "Ack": Topic.SESSION_COMMAND_ACKS,
        "AuditRecord": Topic.CONSOLE_ACTIONS,
    }
    for offset, value in enumerate(values):
        topic = topics[type(value).__name__]
        board.model.take(topic, Stored(0, offset, NOW, b"s", b"", ()), value.fields())
    look(board.model)


@pytest.mark.parametrize("topic", READ)
@pytest.mark.parametrize("fields", [None, {}, {"session_id": "s"}])
def test_a_record_without_its_fields_is_passed_over(topic: Topic, fields: dict[str, Any] | None) -> None:
    model = folded(everything()[:50])
    model.take(topic, Stored(0, 99_999, NOW, None, None, ()), fields)
    look(model)


def test_the_model_says_which_records_it_could_not_use() -> None:
    model = ReadModel()
    record = Stored(0, 1, NOW, b"s", b"{}", ())
    assert not model.take(Topic.SESSION_ALERTS, record, {"event_type": "loop_episode"})
    assert model.take(Topic.SESSION_ALERTS, record, None), "a tombstone says nothing"
    assert model.cases == {}


@pytest.mark.parametrize("tokens", [1e308, 1e300, -1e308, 2**62, 2**63 - 1, -(2**63)])
def test_an_agent_that_says_it_used_more_than_anybody_can_is_a_row_like_others(tokens: float) -> None:
    board = Board()
    delta = {"tokens_consumed": tokens, "cumulative_session_cost": 1e18}
    for session in ["s", "t"] * 9:
        for told in board.done(session, tool="search", error="none", state_delta=delta):
            board.model.take(*told)
    board.loop("another")
    for sort in ("waste", "rate"):
        shown = board.inbox(sort=sort)
        shown.content()
        assert {row["session_id"] for row in shown.rows} == {"s", "t", "another"}
        assert all(0 <= abs(row["rate_per_min"]) < 2**63 for row in shown.rows)
    found = picture(board.model, ReadingProgress("here", 0), board.now, 60_000)
    assert [line.text for line in snapshot(found, 100)]


@pytest.mark.parametrize("topic", [Topic.TOPOLOGY, Topic.SESSION_ALERTS, Topic.SESSION_BUDGETS])
@pytest.mark.parametrize(
    "named", [{"offset": 2**63}, {"offset": -1}, {"partition": 2**15}, {"partition": -1}]
)
def test_an_event_of_a_record_that_cannot_be_is_passed_over(topic: Topic, named: dict[str, int]) -> None:
    told, model = REAL[topic], ReadModel()
    assert told.fields is not None
    assert not model.take(topic, told.stored, {**told.fields, **named})
    look(model)


@pytest.mark.parametrize("cost", [10**30, -(10**30), 1e300, float("inf"), float("nan")])
def test_a_session_whose_agent_names_an_absurd_cost_is_known_whole(cost: float) -> None:
    board = Board()
    for told in board.done("s", state_delta={"tokens_consumed": 7, "cumulative_session_cost": 0.5}):
        fields = told.fields
        if fields is not None and told.topic is Topic.ENRICHED:
            budget = {"steps_budget": cost, "steps_remaining": cost}
            delta = {**fields["state_delta"], "cumulative_session_cost": cost}
            fields = {**fields, "state_delta": delta, "eddy": {**fields["eddy"], "budget": budget}}
        assert board.model.take(told.topic, told.stored, fields)
    known = board.model.cases["s"].session
    assert (known.agent_id, known.step) == ("agent-1", 1)
    assert known.cost is not None
    assert abs(known.cost) <= 10**15
    look(board.model)

"""Which calls hand work to another agent, and what a session contributes to its exchanges."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import orjson
import pytest

from streams.core.detectors.settings import DEFAULTS, DetectionSettings
from streams.core.domain.aggregates.exchange import Handed
from streams.core.domain.decision import Decision
from streams.core.domain.text.marks import WIDTH
from streams.core.policy.handover import (
    HANDOVERS,
    MOST_REMEMBERED,
    Handover,
    Handovers,
    follow_handovers,
    handover_of,
    hands_over,
)
from tests.stream import Stream, decision_log

TASK = "Please verify the revised analysis of the market"


def call(tool: str, status: str = "success", **arguments: Any) -> Decision:
    return Decision.of(
        0, 7, decision_log(tool=tool, status=status, tool_input=orjson.dumps(arguments).decode())
    )


def told(text: str = TASK, to: str = "analyst", **changes: Any) -> dict[str, Any]:
    arguments = orjson.dumps({"to": to, "text": text}).decode()
    value = decision_log(tool="send_message", status="success", tool_input=arguments, **changes)
    value["state_delta"] = {"tokens_consumed": 100}
    return value


def read(number: int, status: str = "success", tool: str = "read_file") -> dict[str, Any]:
    return decision_log(tool=tool, status=status, number=number, tool_input=f'{{"n": {number}}}')


def handed(
    values: Sequence[dict[str, Any]], settings: DetectionSettings = DEFAULTS
) -> list[tuple[int, Handed]]:
    """Return what a session contributes to its exchange by names, with the number of the record."""
    state, found = None, []
    for number, value in enumerate(values):
        state, sent = follow_handovers(state, Decision.of(0, number, value), settings)
        found += [(number, each) for each in sent if each.key.startswith("handover/pair")]
    return found


@pytest.mark.parametrize(
    ("tool", "arguments", "wanted"),
    [
        ("send_message", {"to": "analyst", "text": TASK}, Handover("analyst", TASK)),
        ("SendMessage", {"recipient": "analyst", "content": TASK}, Handover("analyst", TASK)),
        ("message_agent", {"agent_name": "analyst", "message": TASK}, Handover("analyst", TASK)),
        ("delegate_work", {"coworker": "analyst", "task": TASK}, Handover("analyst", TASK)),
        ("mcp__team__hand_off", {"assignee": "analyst", "request": TASK}, Handover("analyst", TASK)),
        ("handoff", {"target": "analyst", "body": TASK}, Handover("analyst", TASK)),
        ("transfer_to_billing", {"question": TASK}, Handover("billing", TASK)),
        ("ask_agent", {"agent": "analyst", "question": TASK}, Handover("analyst", TASK)),
        ("Task", {"subagent_type": "analyst", "description": "x", "prompt": TASK}, Handover("analyst", TASK)),
        ("send_message", {"channel": "general", "text": TASK}, None),
        ("send_message", {"to": "analyst"}, None),
        ("send_message", {"to": ["analyst"], "text": TASK}, None),
        ("transfer_funds", {"to": "analyst", "text": TASK}, None),
        ("read_file", {"to": "analyst", "text": TASK}, None),
        ("TaskOutput", {"agent": "analyst", "text": TASK}, None),
    ],
)
def test_a_call_hands_over_by_its_name_and_its_arguments(
    tool: str, arguments: dict[str, Any], wanted: Handover | None
) -> None:
    assert handover_of(call(tool, **arguments)) == wanted


@pytest.mark.parametrize("text", ["", "to: analyst", "[1]", "{" * 5000, '{"to": "a"'])
def test_arguments_that_are_no_object_hand_nothing_over(text: str) -> None:
    assert handover_of(Decision.of(0, 7, decision_log(tool="send_message", tool_input=text))) is None


def test_a_call_that_failed_or_is_no_tool_hands_nothing_over() -> None:
    assert handover_of(call("send_message", "failure", to="analyst", text=TASK)) is None
    assert handover_of(Decision.of(0, 7, told(kind="llm"))) is None


def test_a_very_long_name_is_of_no_tool_that_hands_over() -> None:
    assert hands_over("send_message")
    assert not hands_over("send_message" + "_x" * 200)


def test_a_session_without_a_hand_over_remembers_and_contributes_nothing() -> None:
    assert follow_handovers(None, call("read_file", path="a"), DEFAULTS) == (None, ())
    session = Stream()
    session.scored(decision_log())
    assert HANDOVERS not in session.sessions["s1"].states


def test_only_a_text_that_was_told_before_is_contributed() -> None:
    values = [
        told(),
        told("Which currency does table two use?"),
        told("Again: " + TASK),
        told("other words entirely"),
    ]
    found = handed(values)
    assert [number for number, _ in found] == [2]
    [(_, sent)] = found
    assert (sent.known, sent.worked, sent.tokens, sent.agent, sent.peer) == (
        True,
        False,
        300,
        "agent-1",
        "analyst",
    )


@pytest.mark.parametrize(
    ("between", "worked"),
    [
        (read(1), True),
        (read(1, "failure"), False),
        (read(1, tool="receive_message"), False),
        (read(1, tool="check_inbox"), False),
        (read(1, tool="wait_for_agent"), False),
        (decision_log(tool=None, status="success"), False),
    ],
)
def test_work_between_two_hand_overs_is_told(between: dict[str, Any], worked: bool) -> None:
    [(_, sent)] = handed([told(), between, told()])
    assert sent.worked is worked


def test_a_person_who_speaks_is_a_break() -> None:
    spoken, approved = told(), told()
    spoken["meta"]["user_turn"] = "task"
    approved["meta"]["user_turn"] = "approval"
    found = handed([told(), approved, spoken, told()])
    assert [sent.worked for _, sent in found] == [False, True, False]


def test_work_before_a_new_text_is_told_once() -> None:
    found = handed([told(), told(), read(2), told("entirely other words"), told("some new phrase here")])
    assert [(number, sent.known, sent.worked) for number, sent in found] == [
        (1, True, False),
        (3, False, True),
    ]


def test_what_joins_sessions_is_the_trace_the_session_above_and_the_names() -> None:
    child = told()
    child["meta"]["parent_session_id"] = "above"
    state, _ = follow_handovers(None, Decision.of(3, 7, child), DEFAULTS)
    _, sent = follow_handovers(state, Decision.of(3, 8, child), DEFAULTS)
    assert [each.key for each in sent] == [
        "handover/trace/t1",
        "handover/root/above",
        'handover/pair/["agent-1", "analyst"]',
    ]
    assert {(each.partition, each.offset, each.root, each.trace) for each in sent} == {(3, 8, "above", "t1")}


@pytest.mark.parametrize("agent", ["", "analyst"])
def test_without_two_names_there_is_no_exchange_by_names(agent: str) -> None:
    assert handed([told(agent=agent), told(agent=agent)]) == []


def test_the_limits_in_force_travel_with_it() -> None:
    settings = DetectionSettings(handover_warn=4, handover_loop=9)
    [(_, sent)] = handed([told(), told()], settings)
    assert (sent.warn, sent.loop) == (4, 9)


def test_without_the_family_nothing_is_contributed() -> None:
    assert handed([told(), told()], DetectionSettings(alert_families=("loop_episode",))) == []


def test_what_is_remembered_stays_small_and_is_read_back() -> None:
    state = None
    for number in range(40):
        text = " ".join(f"word{number}x{each}" for each in range(200))
        state, _ = follow_handovers(state, Decision.of(0, number, told(text)), DEFAULTS)
    assert state is not None
    assert len(state.known) == WIDTH * MOST_REMEMBERED
    stored = orjson.loads(orjson.dumps([*state]))
    value = Decision.of(0, 99, told("unheard of"))
    assert follow_handovers(stored, value, DEFAULTS) == follow_handovers(state, value, DEFAULTS)


@pytest.mark.parametrize("stored", [[], ["a"], [1, True, True, 0], ["a", True, True, "0"]])
def test_a_damaged_state_is_refused(stored: list[Any]) -> None:
    with pytest.raises(ValueError, match="hand-overs"):
        follow_handovers(stored, Decision.of(0, 7, told()), DEFAULTS)


def test_a_state_is_a_value() -> None:
    first, _ = follow_handovers(None, Decision.of(0, 7, told()), DEFAULTS)
    assert isinstance(first, Handovers)
    assert follow_handovers(first, Decision.of(0, 8, told()), DEFAULTS) == follow_handovers(
        first, Decision.of(0, 8, told()), DEFAULTS
    )

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from streams.core.domain.decision import Decision, lazy
from streams.core.domain.text.digest import digest
from streams.core.domain.text.marks import WIDTH, Marks, mark, tokens
from tests.stream import decision_log


def decision(*args: Any, delta: dict[str, Any] | None = None, **fields: Any) -> Decision:
    value = decision_log(*args, **fields)
    if delta is not None:
        value["state_delta"] = delta
    return Decision.of(0, 7, value)


def test_it_has_the_coordinates_and_the_identity_of_its_record() -> None:
    made = decision(number=3, agent="agent-9")
    assert (made.partition, made.offset) == (0, 7)
    assert (made.session_id, made.event_id, made.agent_id) == ("s1", "s1-e3", "agent-9")
    assert made.timestamp == 1_700_000_003_000


@pytest.mark.parametrize(("agent", "has"), [("a", True), (" a ", True), ("", False), (" \t", False)])
def test_an_agent_is_more_than_spaces(agent: str, has: bool) -> None:
    assert decision(agent=agent).has_agent is has


def test_an_empty_tool_is_no_tool_but_is_kept_as_reported() -> None:
    assert (decision(tool="").tool, decision(tool="").tool_call) == (None, "")
    assert decision(tool=None).tool_call is None


@pytest.mark.parametrize(
    ("tool", "action", "kind"),
    [
        ("x", {}, "tool"),
        (None, {}, "llm"),
        ("", {}, "llm"),
        ("x", {"kind": ""}, "tool"),
        ("x", {"kind": "llm"}, "llm"),
        (None, {"kind": "quantum"}, "quantum"),
    ],
)
def test_the_kind_is_reported_or_inferred(tool: str | None, action: dict[str, str], kind: str) -> None:
    assert decision(tool=tool, **action).kind == kind


def test_an_empty_target_or_hash_is_none() -> None:
    made = decision(target="", content_hash="")
    assert (made.target, made.content_hash) == (None, None)


@pytest.mark.parametrize(
    ("status", "action", "text"),
    [
        ("failure", {"error": "boom", "tool_output_summary": "out"}, "boom"),
        ("failure", {"error": "", "tool_output_summary": "out"}, "out"),
        ("success", {"error": "boom", "tool_output_summary": "out"}, "out"),
        ("success", {"error": "boom"}, None),
    ],
)
def test_the_result_text_is_the_error_of_a_failure_else_the_output(
    status: str, action: dict[str, str], text: str | None
) -> None:
    assert decision(status=status, **action).result_text == text


def test_the_result_is_normalised() -> None:
    made = decision(error="boom in 0.1s")
    assert made.result == "boom in <dur>"
    assert made.result_digest == digest("boom in <dur>")
    assert decision().result_digest is None


def test_the_call_is_the_tool_with_its_loose_arguments() -> None:
    made = decision(tool_input='{"b": 1.0, "a": 2, "c": null}')
    assert made.call == 'tool\0read_file\0{"a":"2","b":"1"}'
    assert made.canonical_input == '{"a":2,"b":1,"c":null}'
    assert decision().call == "tool\0read_file\0"


def test_without_a_tool_the_call_is_the_intent() -> None:
    assert decision("wait 0.1s", tool=None).call == "text\0wait <dur>"
    assert decision(None, tool=None).call == "text\0"


def test_the_digest_of_the_call_stands_for_the_call() -> None:
    assert decision(tool_input="1").call_digest == digest('tool\0read_file\0"1"')


def test_the_signature_covers_call_status_and_result() -> None:
    one = decision(error="boom in 0.1s")
    assert one.signature == digest(f"tool\0read_file\0\0failure\0{digest('boom in <dur>')}")
    assert one.signature == decision("other intent", error="boom in 0.2s", agent="other").signature
    for other in ({"status": "success"}, {"error": "bang"}, {"tool": "grep"}, {"tool_input": "1"}):
        assert one.signature != decision(**{"error": "boom in 0.1s", **other}).signature


def test_a_derived_value_is_computed_once() -> None:
    made = decision(tool_input='{"a": 1}')
    assert made.canonical_input is made.canonical_input


def test_what_the_step_used_and_reached() -> None:
    made = decision(
        delta={
            "tokens_consumed": 12,
            "cumulative_session_cost": 0.5,
            "context_quality": 1,
            "progress_delta": 0,
        }
    )
    assert (made.tokens_used, made.cumulative_cost) == (12, 0.5)
    assert (made.context_quality, made.progress_delta) == (1, 0)


def test_without_a_delta_nothing_was_used_and_nothing_is_known() -> None:
    for made in (decision(), decision(delta={"tokens_consumed": None})):
        assert made.tokens_used == 0
        assert (made.cumulative_cost, made.progress_delta, made.context_quality) == (None, None, None)
        assert made.added_to_memory is False


SAME = digest("nothing new")


@pytest.mark.parametrize(
    ("delta", "status", "output", "without"),
    [
        ({"progress_delta": 0.1}, "failure", "nothing new", False),
        ({"progress_delta": 0}, "success", "new", True),
        ({"progress_delta": -1, "added_to_memory": ["x"]}, "success", "new", True),
        ({"added_to_memory": ["x"]}, "failure", "nothing new", False),
        ({"added_to_memory": []}, "failure", "new", True),
        (None, "failure", None, True),
        (None, "success", "nothing new", True),
        (None, "success", "new", False),
        (None, "success", None, False),
    ],
)
def test_no_progress(delta: dict[str, Any] | None, status: str, output: str | None, without: bool) -> None:
    action = {} if output is None else {"tool_output_summary": output}
    assert decision(status=status, delta=delta, **action).is_without_progress(SAME) is without


def test_no_progress_cannot_be_told_from_a_first_result() -> None:
    assert decision(status="success", tool_output_summary="x").is_without_progress(None) is False


def test_the_goal_needs_a_cognition() -> None:
    value = decision_log()
    value["cognition"]["goal"] = "fix"
    assert Decision.of(0, 0, value).goal == "fix"
    assert decision().goal is None
    assert decision(None).goal is None


@pytest.mark.parametrize(
    ("control", "terminal"),
    [(None, False), ({}, False), ({"is_terminal": False}, False), ({"is_terminal": True}, True)],
)
def test_a_terminal_record_says_so(control: dict[str, bool] | None, terminal: bool) -> None:
    assert Decision.of(0, 0, {**decision_log(), "control": control}).is_terminal is terminal
    assert decision().is_terminal is False


PARTS = st.none() | st.text(st.sampled_from("aA1_ -.,'éΑΣσςİſ读\n"), max_size=12)
LONG = PARTS | st.builds(str.__mul__, st.sampled_from(["a1 ", "Σ_b ", "c"]), st.integers(900, 4_500))


@given(
    intent=PARTS, tool=PARTS, arguments=LONG, told=LONG | st.sampled_from(["12:30:45", "0x7f"]), target=LONG
)
def test_words_of_texts_that_are_joined_are_those_of_each(
    intent: str | None, tool: str | None, arguments: str | None, told: str | None, target: str | None
) -> None:
    value = decision_log(intent or "", tool, "success", tool_input=arguments, tool_output_summary=told)
    value["action"]["target"] = target
    decision = Decision.of(0, 0, value)
    said = [part for part in (intent, tool, decision.canonical_input) if part]
    step, spoken = (" ".join([*said, part] if part else said) for part in (told, target))
    assert decision.step_marks.set == {mark(word) for word in tokens(step)}
    assert decision.spoken_words.keys() == tokens(spoken)
    assert decision.spoken_marks == {mark(word) for word in tokens(spoken)}
    some = [*list(tokens(spoken))[:3], "elsewhere"]
    assert [*decision.spoken_among(Marks.of(some))] == [*range(len(some) - 1)]
    assert decision.speaks_more_than(256) == (len(tokens(spoken)) > 256)
    assert len(decision.step_marks) == WIDTH * len(tokens(step))


class Counted:
    def __init__(self) -> None:
        self.computed = 0

    @lazy
    def value(self) -> int:
        """Say what it is."""
        self.computed += 1
        return 7


def test_it_is_computed_when_first_read_and_never_again() -> None:
    counted = Counted()
    assert counted.computed == 0
    assert (counted.value, counted.value, counted.computed) == (7, 7, 1)


def test_each_object_has_its_own() -> None:
    one, other = Counted(), Counted()
    assert one.value == other.value
    assert (one.computed, other.computed) == (1, 1)


def test_of_the_class_it_is_the_descriptor_with_its_docstring() -> None:
    assert isinstance(Counted.value, lazy)
    assert Counted.value.__doc__ == "Say what it is."

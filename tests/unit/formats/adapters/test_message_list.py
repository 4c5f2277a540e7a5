"""Lists of messages: the longest of a session, sessions without a name, and how the interfaces differ."""

from typing import Any

import orjson
import pytest

from streams.core.errors import ConfigurationError
from streams.formats.adapters import anthropic_messages, claude_code, openai_chat, openai_responses
from streams.formats.adapters.conversation import EPOCH_MS
from streams.formats.adapters.message_list import with_error_pattern
from streams.formats.format_detection import sniffed
from tests.unit.formats.adapters.reading import event_ids, json_lines, logs, read, reasons

CHAT, RESPONSES, ANTHROPIC = openai_chat.FORMAT, openai_responses.FORMAT, anthropic_messages.FORMAT
TASK = {"role": "user", "content": "fix it"}


def called(call_id: str, words: str | None = None) -> dict[str, Any]:
    function = {"name": "search", "arguments": '{"q": "x"}'}
    call = {"id": call_id, "type": "function", "function": function}
    return {"role": "assistant", "content": words, "tool_calls": [call]}


def answered(call_id: str, text: str = "none") -> dict[str, Any]:
    return {"role": "tool", "tool_call_id": call_id, "content": text}


def turns(*call_ids: str) -> list[Any]:
    return [TASK, *(each for call in call_ids for each in (called(call), answered(call)))]


def test_of_the_histories_of_a_session_only_the_longest_is_read() -> None:
    histories = [{"session_id": "s", "messages": turns(*"abc"[:n])} for n in (1, 2, 3)]
    assert event_ids(logs(CHAT, json_lines(*histories))) == ["a", "b", "c"]
    assert event_ids(logs(CHAT, json_lines(*reversed(histories)))) == ["a", "b", "c"]


def test_histories_that_continue_one_another_are_one_session_without_a_name() -> None:
    histories = [
        {"messages": [{"role": "system", "content": f"It is {n} o'clock"}, *turns(*"abc"[:n])]}
        for n in range(4)
    ]
    found = logs(CHAT, json_lines(*histories), name="proxy.jsonl")
    assert event_ids(found) == ["a", "b", "c"]
    assert {each["session_id"] for each in found} == {"proxy/1"}


def test_two_runs_of_one_task_are_two_sessions() -> None:
    lists = [{"messages": turns(*ids)} for ids in ("", "a", "", "x", "ab", "xy")]
    found = logs(CHAT, json_lines(*lists), name="proxy.jsonl")
    assert event_ids(found) == ["a", "b", "x", "y"]
    assert len({each["session_id"] for each in found}) == 2


def test_marks_for_a_cache_make_no_other_history() -> None:
    text = {"type": "text", "text": "fix it"}
    use = {"role": "assistant", "content": [{"type": "tool_use", "id": "a", "name": "Bash", "input": {}}]}
    result = {"type": "tool_result", "tool_use_id": "a", "content": "x"}
    first = [{"role": "user", "content": [text | {"cache_control": {"type": "ephemeral"}}]}]
    second = [{"role": "user", "content": "fix it"}, use, {"role": "user", "content": [result]}]
    found = logs(ANTHROPIC, json_lines({"messages": first}, {"messages": second}), name="proxy.jsonl")
    assert [each["session_id"] for each in found] == ["proxy/1"]


def test_the_ids_of_a_file_that_has_grown_stay() -> None:
    one, two = {"messages": turns("a")}, {"messages": turns("x")}
    before = logs(CHAT, json_lines(one, two), name="f.jsonl")
    after = logs(CHAT, json_lines(one, two, {"messages": turns("x", "y")}), name="f.jsonl")
    assert after[: len(before)] == before


@pytest.mark.parametrize("key", ["session_id", "conversation_id", "conversation"])
def test_a_session_is_what_the_object_around_the_list_names(key: str) -> None:
    assert logs(CHAT, {key: "mine", "messages": turns("a")})[0]["session_id"] == "mine"


def test_a_conversation_may_be_an_object_with_an_id() -> None:
    assert logs(CHAT, {"conversation": {"id": "conv_1"}, "messages": turns("a")})[0]["session_id"] == "conv_1"


def test_a_bare_list_is_named_after_its_file() -> None:
    assert logs(CHAT, turns("a"), name="runs/seven.json")[0]["session_id"] == "seven"


def test_a_list_of_conversations_is_read_one_by_one() -> None:
    found = logs(CHAT, [{"messages": turns("a")}, {"messages": turns("b")}], name="two.json")
    assert [each["session_id"] for each in found] == ["two/1", "two/2"]


def test_calls_of_one_message_are_a_round_in_the_order_in_which_they_were_asked_for() -> None:
    message = called("a") | {"tool_calls": [called(each)["tool_calls"][0] for each in "ab"]}
    found = logs(CHAT, [TASK, message, answered("b"), answered("a")])
    assert event_ids(found) == ["a", "b"]
    assert [each["meta"]["round_id"] for each in found] == ["run/1", "run/1"]


def test_words_go_to_the_first_call_and_a_message_without_a_call_ends_the_turn() -> None:
    final = {"role": "assistant", "content": "done"}
    found = logs(CHAT, [TASK, called("a", "I search."), answered("a"), final], name="f.json")
    assert [each["cognition"]["intent"] for each in found] == ["I search.", "done"]
    assert (found[1]["event_id"], found[1]["action"]["kind"]) == ("f/3", "llm")
    assert found[1]["meta"]["timestamp"] == EPOCH_MS + 3000


def test_a_call_without_a_result_and_a_result_without_a_call_are_reported() -> None:
    assert reasons(CHAT, [TASK, called("a"), answered("b")]) == ["orphan_result", "unanswered"]


def test_a_function_call_of_the_first_interface_is_answered_by_its_name() -> None:
    call = {"role": "assistant", "content": None, "function_call": {"name": "search", "arguments": "{}"}}
    answer = {"role": "function", "name": "search", "content": "none"}
    found = logs(CHAT, [TASK, call, answer, call, answer], name="f.json")
    assert event_ids(found) == ["f/1", "f/3"]


def test_chat_says_success_unless_an_error_pattern_is_given() -> None:
    messages = [TASK, called("a"), answered("a", "Error: no such file")]
    assert logs(CHAT, messages)[0]["action"]["status"] == "success"
    found = logs(with_error_pattern(CHAT, "^Error"), messages)[0]["action"]
    assert (found["status"], found["error"]) == ("failure", "Error: no such file")


def test_an_error_pattern_that_is_none_is_refused() -> None:
    with pytest.raises(ConfigurationError, match="no regular expression"):
        with_error_pattern(CHAT, "(")
    with pytest.raises(ConfigurationError, match="claude-code says which calls failed"):
        with_error_pattern(claude_code.FORMAT, "x")


def test_responses_are_answered_by_the_id_of_the_call_not_of_the_item() -> None:
    items = [
        {"role": "user", "content": [{"type": "input_text", "text": "fix it"}]},
        {"type": "reasoning", "id": "rs_1", "summary": [{"type": "summary_text", "text": "hm"}]},
        {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "I look."}]},
        {"type": "function_call", "id": "fc_1", "call_id": "call_1", "name": "search", "arguments": "{}"},
        {
            "type": "function_call_output",
            "call_id": "call_1",
            "output": [{"type": "output_text", "text": "no"}],
        },
        {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "Done."}]},
    ]
    found = logs(RESPONSES, {"input": items}, name="f.json")
    assert event_ids(found) == ["call_1", "f/5"]
    assert found[0]["cognition"] == {"intent": "I look.", "goal": "fix it"}
    assert found[0]["action"]["tool_output_summary"] == "no"


def test_a_call_at_the_provider_brings_its_result() -> None:
    call = {"type": "mcp_call", "id": "mcp_1", "name": "fetch", "arguments": "{}", "error": "refused"}
    action = logs(RESPONSES, {"input": "go", "output": [call]})[0]["action"]
    assert (action["tool_call"], action["status"], action["error"]) == ("fetch", "failure", "refused")


def test_a_result_stands_beside_other_blocks_of_a_user_message() -> None:
    use = {"type": "tool_use", "id": "a", "name": "Bash", "input": {"command": "ls"}}
    result = {
        "type": "tool_result",
        "tool_use_id": "a",
        "content": [{"type": "text", "text": "x"}, {"type": "image"}],
    }
    more = {"type": "text", "text": "and hurry"}
    messages = [TASK, {"role": "assistant", "content": [use]}, {"role": "user", "content": [result, more]}]
    found = logs(ANTHROPIC, {"system": "be kind", "messages": messages})
    assert found[0]["action"]["tool_output_summary"] == "x\n[image 47693581]"
    assert found[0]["cognition"]["goal"] == "fix it"


def test_a_tool_at_the_provider_is_answered_in_the_message_of_the_assistant() -> None:
    blocks = [
        {"type": "server_tool_use", "id": "a", "name": "web_search", "input": {"query": "x"}},
        {"type": "web_search_tool_result", "tool_use_id": "a", "content": [{"title": "t"}]},
        {"type": "text", "text": "Found."},
    ]
    found = logs(ANTHROPIC, [TASK, {"role": "assistant", "content": blocks}], name="f.json")
    assert event_ids(found) == ["a", "f/1"]


def test_a_damaged_line_costs_only_itself() -> None:
    data = json_lines({"session_id": "s", "messages": turns("a")}) + b'{"messages": [\n'
    assert [getattr(each, "reason", "record") for each in read(CHAT, data)] == ["record", "unreadable"]


def test_a_list_longer_than_the_head_is_recognised() -> None:
    long = {"role": "system", "content": "x" * 100}
    chat = str({"messages": [long, *turns(*"abcdef")] * 400}).replace("'", '"').replace("None", "null")
    assert CHAT.sniff(chat.replace('"{"q": "x"}"', '"x"').encode()[:65536], "f") == 100
    assert ANTHROPIC.sniff(chat.encode()[:65536], "f") == 0


@pytest.mark.parametrize("key", ["traj", "history", "conversation_log"])
def test_a_list_is_found_under_any_key(key: str) -> None:
    assert event_ids(logs(CHAT, {"reward": 0.0, key: turns("a")})) == ["a"]


def test_lists_are_found_further_down_and_named_after_task_and_trial() -> None:
    given = {"samples": [{"task_id": 4, "trial": trial, "traj": turns("a")} for trial in range(2)]}
    assert [each["session_id"] for each in logs(CHAT, given)] == ["run/4/0", "run/4/1"]


def test_what_is_nested_too_deeply_is_no_list() -> None:
    value: Any = turns("a")
    for _ in range(50):
        value = {"a": value}
    assert reasons(CHAT, value) == ["unknown_shape"]


USED = {"type": "tool_use", "id": "a", "name": "Bash", "input": {}}
FORMATS_OF_LISTS = {
    "openai-chat": turns("a"),
    "openai-responses": [TASK, {"type": "function_call", "call_id": "a", "name": "f", "arguments": "{}"}],
    "anthropic-messages": [TASK, {"role": "assistant", "content": [USED]}],
}


@pytest.mark.parametrize("name", FORMATS_OF_LISTS)
def test_a_list_is_recognised_wherever_it_is_read(name: str) -> None:
    messages = FORMATS_OF_LISTS[name]
    for given in (
        messages,
        {"messages": messages},
        {"reward": 1.0, "traj": messages},
        [{"task_id": 1, "trial": 0, "history": messages}],
        {"samples": [{"messages": messages}]},
    ):
        assert sniffed(orjson.dumps(given), "run.json") == name


def test_calls_of_one_message_are_one_round() -> None:
    both = {"role": "assistant", "content": [USED, USED | {"id": "b"}]}
    results = [{"type": "tool_result", "tool_use_id": each, "content": "x"} for each in "ba"]
    found = logs(ANTHROPIC, [TASK, both, {"role": "user", "content": results}], name="f.json")
    assert [(each["event_id"], each["meta"]["round_id"]) for each in found] == [("a", "f/1"), ("b", "f/1")]


def test_a_call_without_an_id_is_a_round_of_its_own() -> None:
    call = {"role": "assistant", "content": None, "function_call": {"name": "f", "arguments": "{}"}}
    found = logs(CHAT, [TASK, call, {"role": "function", "name": "f", "content": "x"}], name="f.json")
    assert (found[0]["event_id"], found[0]["meta"]["round_id"]) == ("f/1", "f/1")

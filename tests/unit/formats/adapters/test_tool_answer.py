"""Results inside the messages of LangChain: the same result has the same text, whatever call it answers."""

from typing import Any

import orjson
import pytest

from streams.formats.adapters.tool_answer import tool_answer

TEXT = "no match"


def message(call_id: str, status: str = "success") -> dict[str, Any]:
    return {"content": TEXT, "type": "tool", "name": "search", "tool_call_id": call_id, "status": status}


WRAPPED = {
    "a tool message": message,
    "an output": lambda call: {"output": message(call)},
    "an output beside arguments": lambda call: {"output": message(call), "kwargs": {"run_id": call}},
    "a constructor": lambda call: {"lc": 1, "type": "constructor", "id": ["x"], "kwargs": message(call)},
    "data": lambda call: {"type": "tool", "data": message(call)},
    "a command": lambda call: {"output": {"graph": None, "update": {"messages": [message(call)]}}},
    "a list of one": lambda call: {"output": [message(call)]},
    "text of Python": lambda call: {"output": f"content='{TEXT}' name='search' tool_call_id='{call}'"},
    "JSON text": lambda call: orjson.dumps(message(call)).decode(),
    "blocks": lambda _call: [{"text": TEXT}],
    "JSON text of a text": lambda _call: f'"{TEXT}"',
}


@pytest.mark.parametrize("kind", WRAPPED)
def test_a_result_comes_out_of(kind: str) -> None:
    assert tool_answer(WRAPPED[kind]("call_1")) == tool_answer(WRAPPED[kind]("call_2")) == (TEXT, False)


@pytest.mark.parametrize("kind", ["a tool message", "a constructor", "data", "an output", "a command"])
def test_a_message_that_says_so_failed_in(kind: str) -> None:
    whole = orjson.dumps(WRAPPED[kind]("call_1")).replace(b'"success"', b'"error"')
    assert tool_answer(orjson.loads(whole)) == (TEXT, True)


@pytest.mark.parametrize(
    "value", [{"rows": [1]}, {"content": "x"}, {"output": 1, "more": 2}, [1, 2], 7, True]
)
def test_a_result_of_its_own_shape_stays_whole(value: Any) -> None:
    assert tool_answer(value).text == orjson.dumps(value).decode()


def test_a_text_that_begins_like_a_message_stays() -> None:
    assert tool_answer("content='x'").text == "content='x'"
    assert tool_answer('{"a": 1}').text == '{"a": 1}'


def test_what_is_wrapped_too_deeply_is_text() -> None:
    value: Any = "x"
    for _ in range(50):
        value = {"output": value}
    assert isinstance(tool_answer(value).text, str)

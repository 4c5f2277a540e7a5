"""Traces of MLflow: attributes of JSON text, sums that do not count, the end of a trace that is a session."""

from typing import Any

import orjson

from streams.formats.adapters.mlflow import FORMAT
from tests.unit.formats.adapters.reading import event_ids, logs, reasons

NS = 1795377405_000_000_000
SESSION = {"mlflow.trace.session": "mine"}
USAGE = {"input_tokens": 100, "output_tokens": 15, "total_tokens": 115}


def span(
    number: int, kind: str, parent: str | None = "root", code: str = "OK", **more: Any
) -> dict[str, Any]:
    names = {
        "inputs": "mlflow.spanInputs",
        "outputs": "mlflow.spanOutputs",
        "usage": "mlflow.chat.tokenUsage",
    }
    held = {names[key]: value for key, value in more.items() if key in names} | {"mlflow.spanType": kind}
    return {
        "trace_id": "IdmEiIqSQ/aJ8jRB2jgMBw==",
        "span_id": "root" if parent is None else f"s{number}",
        "parent_span_id": parent,
        "name": "search",
        "start_time_unix_nano": NS + number * 1_000_000_000,
        "end_time_unix_nano": NS + number * 1_000_000_000 + 999_999,
        "events": more.get("events", []),
        "status": {"code": f"STATUS_CODE_{code}", "message": more.get("message", "")},
        "attributes": {key: orjson.dumps(value).decode() for key, value in held.items()},
    }


def trace(*spans: Any, metadata: Any = SESSION) -> dict[str, Any]:
    return {"info": {"trace_id": "tr-1", "trace_metadata": metadata}, "data": {"spans": list(spans)}}


TOOL: dict[str, Any] = {"inputs": {"q": "x"}, "outputs": "none"}


def test_spans_are_put_in_the_order_of_their_ends() -> None:
    found = logs(FORMAT, trace(span(9, "AGENT", None), span(2, "TOOL", **TOOL), span(1, "TOOL", **TOOL)))
    assert event_ids(found) == ["tr-1/s1", "tr-1/s2"]
    assert found[0]["meta"] == {"trace_id": "tr-1", "timestamp": 1795377406000}


def test_only_models_are_counted_and_a_model_around_another_is_not() -> None:
    spans = [
        span(1, "CHAT_MODEL", "s2", usage=USAGE),
        span(2, "LLM", usage=USAGE),
        span(3, "TOOL", **TOOL),
        span(4, "CHAIN", usage=USAGE),
        span(5, "TOOL", **TOOL),
    ]
    found = logs(FORMAT, trace(*spans))
    assert [each.get("state_delta") for each in found] == [{"tokens_consumed": 115}, None]


def test_a_failure_has_the_text_of_its_exception() -> None:
    events = [{"name": "exception", "attributes": {"exception.message": "boom"}}]
    spans = [
        span(1, "TOOL", code="ERROR", inputs={}, events=events),
        span(2, "TOOL", code="ERROR", message="late", **TOOL),
    ]
    found = [each["action"] for each in logs(FORMAT, trace(*spans))]
    assert [(each["status"], each["error"]) for each in found] == [("failure", "boom"), ("failure", "late")]


def test_a_trace_without_a_session_is_one_and_its_root_ends_it() -> None:
    found = logs(FORMAT, trace(span(1, "TOOL", **TOOL), span(2, "AGENT", None), metadata={}))
    assert [each["session_id"] for each in found] == ["tr-1", "tr-1"]
    assert found[1]["event_id"] == "tr-1/root"
    assert found[1]["control"] == {"is_terminal": True}


def test_arguments_that_were_not_captured_are_marked() -> None:
    given = trace(span(1, "TOOL"))
    assert reasons(FORMAT, given) == ["no_content"]
    assert logs(FORMAT, given)[0]["cognition"]["intent"] == "search"


def test_a_tool_message_in_the_outputs_is_undone() -> None:
    message = {"content": "none", "type": "tool", "tool_call_id": "call_1", "status": "success"}
    found = logs(FORMAT, trace(span(1, "TOOL", inputs={"q": "x"}, outputs=message)))
    assert found[0]["action"]["tool_output_summary"] == "none"


def test_a_list_of_traces_is_read() -> None:
    assert len(logs(FORMAT, [trace(span(1, "TOOL", **TOOL)), trace(span(2, "TOOL", **TOOL))])) == 2


def test_a_trace_of_version_2_is_read() -> None:
    old = {
        "name": "search",
        "context": {"span_id": "0x1", "trace_id": "0x2"},
        "parent_id": None,
        "start_time": NS,
        "end_time": NS,
        "status_code": "ERROR",
        "status_message": "late",
        "attributes": {"mlflow.spanType": '"TOOL"', "mlflow.spanInputs": '{"q":"x"}'},
    }
    found = logs(
        FORMAT, {"info": {"request_id": "r1", "request_metadata": SESSION}, "data": {"spans": [old]}}
    )
    assert (found[0]["event_id"], found[0]["action"]["error"]) == ("r1/0x1", "late")


def rounds(*spans: Any) -> list[Any]:
    return [each["meta"].get("round_id") for each in logs(FORMAT, trace(*spans))]


ASKING = {"choices": [{"message": {"tool_calls": [{"id": "c1", "type": "function"}]}}]}


def test_a_call_is_of_the_round_of_the_model_above_it() -> None:
    assert rounds(span(2, "TOOL", "s3", **TOOL), span(3, "LLM")) == ["tr-1/s3"]


def test_a_call_is_of_the_round_of_the_model_that_named_its_id() -> None:
    message = {"content": "none", "tool_call_id": "c1", "type": "tool"}
    spans = [
        span(1, "CHAT_MODEL", "node", outputs=ASKING),
        span(2, "LLM", outputs="no call"),
        span(3, "TOOL", "tools", inputs={}, outputs=message),
    ]
    assert rounds(*spans) == ["tr-1/s1"]


def test_a_call_is_of_the_round_of_the_model_beside_it_only_if_that_asked_for_calls() -> None:
    spans = [span(1, "LLM", outputs=ASKING), span(2, "TOOL", **TOOL), span(3, "TOOL", **TOOL)]
    more = [span(4, "LLM", outputs="no call"), span(5, "TOOL", **TOOL)]
    assert rounds(*spans, *more) == ["tr-1/s1", "tr-1/s1", None]


def test_tokens_from_a_cache_are_counted_apart_whether_the_input_includes_them_or_not() -> None:
    spans = [
        span(1, "LLM", usage=USAGE | {"cache_read_input_tokens": 90}),
        span(2, "TOOL", **TOOL),
        span(3, "LLM", usage=USAGE | {"cache_read_input_tokens": 5_000}),
        span(4, "TOOL", **TOOL),
    ]
    assert [each["state_delta"] for each in logs(FORMAT, trace(*spans))] == [
        {"tokens_consumed": 25, "tokens_cached": 90},
        {"tokens_consumed": 115, "tokens_cached": 5_000},
    ]

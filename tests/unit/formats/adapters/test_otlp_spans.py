"""Spans of OpenTelemetry: what is a call or a model, its values, its session, and the order of records."""

import random
from io import BytesIO
from pathlib import Path
from typing import Any

import orjson
import pytest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

from streams.formats.adapters.adapter import Problem
from streams.formats.adapters.otlp.json_requests import spans_of_json
from streams.formats.adapters.otlp.proto_requests import cut_requests, spans_of_proto
from streams.formats.adapters.otlp.span import Received
from streams.formats.adapters.otlp.traces import MOST_HELD, MOST_TRACES, SPANS_REMEMBERED, Traces
from streams.formats.adapters.otlp_spans import JSON_FORMAT, PROTO_FORMAT, OtlpJson
from tests.unit.formats.adapters.reading import event_ids, logs, read, reasons

SAMPLES = Path(__file__).parents[3] / "samples"
TRACE = "a" * 32
NS = 1_795_377_405_000_000_000
TOOL = {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "search"}
CHAT = {"gen_ai.operation.name": "chat"}
ROOT = "f" * 16


def any_value(value: Any) -> dict[str, Any]:
    match value:
        case bool():
            return {"boolValue": value}
        case int():
            return {"intValue": str(value)}
        case dict():
            return {"kvlistValue": {"values": attributes(value)}}
        case list():
            return {"arrayValue": {"values": [any_value(each) for each in value]}}
        case _:
            return {"stringValue": value}


def attributes(values: dict[str, Any]) -> list[dict[str, Any]]:
    return [{"key": key, "value": any_value(value)} for key, value in values.items()]


def span(
    number: int, values: dict[str, Any], parent: str | None = ROOT, trace: str = TRACE, **more: Any
) -> dict[str, Any]:
    events = more.pop("events", [])
    return {
        "traceId": trace,
        "spanId": ROOT if parent is None else f"{number:016x}",
        **({} if parent is None else {"parentSpanId": parent}),
        "name": "search",
        "startTimeUnixNano": str(NS + number * 10_000_000),
        "endTimeUnixNano": str(NS + number * 10_000_000 + 5_000_000),
        "attributes": attributes(values),
        "events": [{"name": name, "attributes": attributes(held)} for name, held in events],
        "aFieldOfTheFuture": 1,
        **more,
    }


def request(*spans: Any, service: str = "coder") -> dict[str, Any]:
    resource = {"attributes": attributes({"service.name": service, "service.version": "1.2"})}
    return {"resourceSpans": [{"resource": resource, "scopeSpans": [{"spans": list(spans)}]}]}


def only(values: dict[str, Any], **more: Any) -> dict[str, Any]:
    """Return the record of one span."""
    (found,) = logs(JSON_FORMAT, request(span(1, values, **more)))
    return dict(found)


def action(values: dict[str, Any], **more: Any) -> dict[str, Any]:
    return dict(only(values, **more)["action"])


@pytest.mark.parametrize(
    "values",
    [
        {"gen_ai.operation.name": "execute_tool"},
        {"gen_ai.operation.name": "tool_call"},
        {"openinference.span.kind": "TOOL"},
        {"traceloop.span.kind": "tool"},
        {"ai.toolCall.name": "search"},
        {"langfuse.observation.type": "tool"},
        {"mlflow.spanType": '"TOOL"'},
        {"gen_ai.tool.name": "search"},
    ],
)
def test_a_span_of_a_tool_is_a_record(values: dict[str, Any]) -> None:
    assert action(values)["tool_call"] == "search"


@pytest.mark.parametrize(
    "values",
    [
        {"gen_ai.operation.name": "chat"},
        {"gen_ai.operation.name": "generate_content"},
        {"gen_ai.operation.name": "text_completion"},
        {"gen_ai.operation.name": "llm_call"},
        {"openinference.span.kind": "LLM"},
        {"ai.operationId": "ai.generateText.doGenerate"},
        {"ai.operationId": "ai.streamText.doStream"},
        {"langfuse.observation.type": "generation"},
        {"mlflow.spanType": '"CHAT_MODEL"'},
    ],
)
def test_a_span_of_a_model_gives_its_tokens_to_the_next_call(values: dict[str, Any]) -> None:
    usage = {"gen_ai.usage.input_tokens": 100, "gen_ai.usage.output_tokens": 15}
    (found,) = logs(JSON_FORMAT, request(span(1, values | usage), span(2, TOOL)))
    assert found["state_delta"] == {"tokens_consumed": 115}


@pytest.mark.parametrize(
    "values",
    [
        {"gen_ai.operation.name": "invoke_agent"},
        {"gen_ai.operation.name": "invoke_workflow"},
        {"gen_ai.operation.name": "execute_event_loop_cycle"},
        {"openinference.span.kind": "AGENT"},
        {"openinference.span.kind": "CHAIN"},
        {"traceloop.span.kind": "workflow"},
        {"ai.operationId": "ai.generateText"},
        {"http.request.method": "GET"},
        TOOL | {"gen_ai.tool.name": "(merged tools)"},
    ],
)
def test_the_usage_of_other_spans_is_not_counted(values: dict[str, Any]) -> None:
    usage = {"gen_ai.usage.input_tokens": 100, "gen_ai.usage.output_tokens": 15}
    (found,) = logs(JSON_FORMAT, request(span(1, values | usage), span(2, TOOL)))
    assert "state_delta" not in found


@pytest.mark.parametrize(
    "values",
    [
        {"llm.token_count.total": 115, "gen_ai.usage.input_tokens": 7},
        {"llm.token_count.prompt": 100, "llm.token_count.completion": 15},
        {"gen_ai.usage.input_tokens": 100, "gen_ai.usage.output_tokens": 15},
        {"gen_ai.usage.prompt_tokens": 100, "gen_ai.usage.completion_tokens": 15},
        {"mlflow.chat.tokenUsage": '{"input_tokens": 100, "output_tokens": 15, "total_tokens": 115}'},
        {"langfuse.observation.usage_details": '{"input": 100, "output": 15}'},
    ],
)
def test_tokens_are_read_by_the_names_in_use(values: dict[str, Any]) -> None:
    (found,) = logs(JSON_FORMAT, request(span(1, CHAT | values), span(2, TOOL)))
    assert found["state_delta"] == {"tokens_consumed": 115}


@pytest.mark.parametrize(
    "name", ["gen_ai.tool.name", "tool.name", "ai.toolCall.name", "traceloop.entity.name"]
)
def test_a_tool_has_its_name_before_that_of_the_span(name: str) -> None:
    assert action({"openinference.span.kind": "TOOL", name: "grep"})["tool_call"] == "grep"


@pytest.mark.parametrize(
    "name",
    [
        "gen_ai.tool.call.arguments",
        "tool_arguments",
        "gcp.vertex.agent.tool_call_args",
        "ai.toolCall.args",
        "input.value",
        "traceloop.entity.input",
    ],
)
def test_arguments_are_read_by_the_names_in_use(name: str) -> None:
    found = action(TOOL | {name: '{"path": "a.py"}', "tool.parameters": '{"type": "object"}'})
    assert (found["tool_input"], found["target"]) == ('{"path": "a.py"}', "a.py")


def test_arguments_may_be_a_list_of_keys_and_values() -> None:
    values = TOOL | {"gen_ai.tool.call.arguments": {"path": "a.py", "lines": [1, 2]}}
    assert action(values)["tool_input"] == '{"path":"a.py","lines":[1,2]}'


@pytest.mark.parametrize(
    "name",
    [
        "gen_ai.tool.call.result",
        "tool_response",
        "gcp.vertex.agent.tool_response",
        "ai.toolCall.result",
        "output.value",
        "traceloop.entity.output",
    ],
)
def test_a_result_is_read_by_the_names_in_use(name: str) -> None:
    assert action(TOOL | {name: "no match"})["tool_output_summary"] == "no match"


def test_arguments_and_result_are_read_from_events() -> None:
    events = [("gen_ai.tool.message", {"content": '{"q": "x"}'}), ("gen_ai.choice", {"message": "none"})]
    found = action(TOOL, events=events)
    assert (found["tool_input"], found["tool_output_summary"]) == ('{"q": "x"}', "none")


@pytest.mark.parametrize("values", [{}, {"gcp.vertex.agent.tool_call_args": "{}"}])
def test_arguments_that_were_not_captured_equal_those_of_no_other_call(values: dict[str, Any]) -> None:
    found = only(TOOL | values)
    assert found["action"]["tool_input"] == '{"not_captured":"0000000000000001"}'
    assert found["cognition"]["intent"] == "search"
    assert reasons(JSON_FORMAT, request(span(1, TOOL | values))) == ["no_content"]


@pytest.mark.parametrize(
    ("given", "opened"),
    [
        (
            {"input_str": "x", "tags": [], "metadata": {"langgraph_step": 2}, "inputs": {"q": "x"}},
            '{"q":"x"}',
        ),
        ({"input_str": "x", "kwargs": {}}, "x"),
        ("ls -l", "ls -l"),
        ({"inputs": 1}, '{"inputs":1}'),
    ],
)
def test_what_is_around_arguments_is_taken_off(given: Any, opened: str) -> None:
    text = orjson.dumps(given).decode()
    assert action(TOOL | {"gen_ai.tool.call.arguments": text})["tool_input"] == opened


MESSAGE = {"content": "no match", "tool_call_id": "call_7", "status": "success"}


@pytest.mark.parametrize(
    "given",
    [
        {"output": {"lc": 1, "kwargs": MESSAGE}, "kwargs": {"run": 1}},
        {"lc": 1, "kwargs": MESSAGE},
        {"type": "tool", "data": MESSAGE},
        [{"text": "no match"}],
        "no match",
    ],
)
def test_what_is_around_a_result_is_taken_off(given: Any) -> None:
    text = orjson.dumps(given).decode()
    assert action(TOOL | {"output.value": text})["tool_output_summary"] == "no match"


def test_a_message_of_langchain_says_that_its_tool_failed() -> None:
    text = orjson.dumps({"type": "tool", "data": MESSAGE | {"status": "error"}}).decode()
    found = action(TOOL | {"output.value": text})
    assert (found["status"], found["error"]) == ("failure", "no match")


EXCEPTION = ("exception", {"exception.message": "raised"})


@pytest.mark.parametrize(
    ("values", "more", "text"),
    [
        ({"output.value": "said"}, {"status": {"code": 2}, "events": [EXCEPTION]}, "raised"),
        ({"output.value": "said"}, {"status": {"code": 2, "message": "status"}}, "said"),
        ({}, {"status": {"code": 2, "message": "status"}}, "status"),
        ({"error.type": "KeyError"}, {}, "KeyError"),
        ({"gen_ai.tool.status": "error", "output.value": "said"}, {}, "said"),
    ],
)
def test_a_failure_has_its_text(values: dict[str, Any], more: dict[str, Any], text: str) -> None:
    found = action(TOOL | values, **more)
    assert (found["status"], found["error"]) == ("failure", text)


TEXT = {"type": "text", "content": "I look."}
CALL = {"type": "tool_call", "id": "c", "name": "search", "arguments": {}}


def answered(*parts: Any) -> str:
    return orjson.dumps([{"role": "assistant", "parts": parts}]).decode()


@pytest.mark.parametrize(
    ("values", "events"),
    [
        ({"gen_ai.output.messages": answered(TEXT)}, []),
        ({}, [("gen_ai.client.inference.operation.details", {"gen_ai.output.messages": answered(TEXT)})]),
        ({"ai.response.text": "I look."}, []),
        ({"llm.output_messages.0.message.content": "I look."}, []),
    ],
)
def test_words_without_a_call_are_a_record_of_their_own(values: dict[str, Any], events: list[Any]) -> None:
    found = only(CHAT | values | {"llm.token_count.total": 7}, events=events)
    assert (found["action"]["kind"], found["cognition"]["intent"]) == ("llm", "I look.")
    assert found["state_delta"] == {"tokens_consumed": 7}


@pytest.mark.parametrize(
    "values",
    [
        {"gen_ai.output.messages": answered(TEXT, CALL)},
        {"ai.response.text": "I look.", "ai.response.toolCalls": '[{"toolName": "search"}]'},
        {
            "llm.output_messages.0.message.content": "I look.",
            "llm.output_messages.0.message.tool_calls.0.tool_call.id": "c",
        },
    ],
)
def test_words_with_a_call_go_to_the_first_call_of_the_turn(values: dict[str, Any]) -> None:
    found = logs(JSON_FORMAT, request(span(1, CHAT | values), span(2, TOOL), span(3, TOOL)))
    assert [each["cognition"]["intent"] for each in found] == ["I look.", "search"]


@pytest.mark.parametrize(
    ("values", "agent"),
    [
        ({"gen_ai.agent.name": "a", "agent.name": "b"}, "a"),
        ({"agent.name": "a"}, "a"),
        ({"metadata": '{"lc_agent_name": "a"}'}, "a"),
        ({"ai.telemetry.functionId": "a"}, "a"),
        ({"gen_ai.agent.id": "changes-with-each-process"}, "coder"),
    ],
)
def test_the_agent_has_a_name_that_stays(values: dict[str, Any], agent: str) -> None:
    expected = {"agent_id": agent, "agent_type": "coder", "capability_version": "1.2"}
    assert only(TOOL | values)["identity"] == expected


@pytest.mark.parametrize(
    "name",
    [
        "gen_ai.conversation.id",
        "session.id",
        "traceloop.association.properties.session_id",
        "traceloop.association.properties.thread_id",
        "langfuse.session.id",
        "gcp.vertex.agent.session_id",
        "ai.telemetry.metadata.sessionId",
    ],
)
def test_any_span_of_a_trace_names_its_session(name: str) -> None:
    found = logs(JSON_FORMAT, request(span(1, {name: "mine"}), span(2, TOOL), span(3, TOOL)))
    assert [each["session_id"] for each in found] == ["mine", "mine"]
    assert {each["meta"]["trace_id"] for each in found} == {TRACE}


def test_the_session_does_not_change_after_the_first_record_of_a_trace() -> None:
    adapter = JSON_FORMAT.start("run")
    early = request(span(1, TOOL), span(9, {}, parent=None))
    late = request(span(10, TOOL | {"session.id": "mine"}))
    found = [each for unit in (early, late) for each in adapter.feed(orjson.dumps(unit))]
    sessions = [
        each.value["session_id"] for each in [*found, *adapter.close()] if not isinstance(each, Problem)
    ]
    assert sessions == [TRACE] * 3


def test_other_attributes_may_name_the_session_first() -> None:
    traces = Traces(("tenant.run",))
    given = request(span(1, TOOL | {"session.id": "b", "tenant.run": "a"}))
    for each in spans_of_json(given):
        assert isinstance(each, Received)
        list(traces.take(each))
    (found,) = [each.value for each in traces.release_all() if not isinstance(each, Problem)]
    assert found["session_id"] == "a"


def test_the_root_ends_a_session_that_is_the_trace() -> None:
    found = logs(JSON_FORMAT, request(span(1, TOOL), span(2, {}, parent=None)))
    assert [each["action"]["kind"] for each in found] == ["tool", "system"]
    assert found[1]["control"] == {"is_terminal": True}
    assert found[1]["event_id"] == f"{TRACE}/{ROOT}"
    named = logs(JSON_FORMAT, request(span(1, TOOL | {"session.id": "s"}), span(2, {}, parent=None)))
    assert [each["action"]["kind"] for each in named] == ["tool"]


def test_a_trace_without_an_agent_gives_no_record() -> None:
    assert logs(JSON_FORMAT, request(span(1, {"db.system": "x"}), span(2, {}, parent=None))) == []


def test_records_wait_for_the_root_and_for_the_parents_of_their_spans() -> None:
    adapter = JSON_FORMAT.start("run")
    middle = f"{5:016x}"
    units = [request(span(1, TOOL, parent=middle)), request(span(9, {}, parent=None)), request(span(5, {}))]
    counts = [len([*adapter.feed(orjson.dumps(unit))]) for unit in units]
    assert counts == [0, 0, 3]  # a problem, as no arguments were captured; the call; the end


def test_a_root_that_comes_first_ends_the_session_all_the_same() -> None:
    units = [request(span(1, TOOL)), request(span(9, {}, parent=None))]
    assert logs(JSON_FORMAT, *reversed(units)) == logs(JSON_FORMAT, *units)


def test_only_so_many_traces_are_held_and_the_oldest_goes_out() -> None:
    adapter = OtlpJson("run")
    spans = [span(1, TOOL, trace=f"{number:032x}") for number in range(1, MOST_TRACES + 2)]
    found = [
        each.value for each in adapter.feed(orjson.dumps(request(*spans))) if not isinstance(each, Problem)
    ]
    assert event_ids(found) == [f"{1:032x}/{1:016x}"]


def shuffled(spans: list[Received], seed: int) -> list[Any]:
    """Return the records of spans that come in any order, each twice."""
    doubled = spans * 2
    random.Random(seed).shuffle(doubled)
    traces = Traces()
    for each in doubled:
        assert list(traces.take(each)) == []
    found = [each.value for each in traces.release_all() if not isinstance(each, Problem)]
    assert traces.counted["repeated span"] == len(spans)
    return found


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("name", ["pai-5", "oa-openinference", "strands-new", "lc-openinference"])
def test_spans_in_any_order_and_twice_give_the_same_records(name: str, seed: int) -> None:
    path = SAMPLES / "otlp_proto" / f"{name}.otlp"
    requests = [
        ExportTraceServiceRequest.FromString(each) for each in cut_requests(BytesIO(path.read_bytes()))
    ]
    spans = [each for one in requests for each in spans_of_proto(one) if isinstance(each, Received)]
    expected = path.with_name(f"{name}.expected.jsonl").read_bytes().splitlines()
    assert shuffled(spans, seed) == [orjson.loads(line) for line in expected]


@pytest.mark.parametrize("name", ["pai-5", "oa-openinference"])
def test_protobuf_and_json_give_the_same(name: str) -> None:
    proto = cut_requests(BytesIO((SAMPLES / "otlp_proto" / f"{name}.otlp").read_bytes()))
    lines = (SAMPLES / "otlp_json" / f"{name}.jsonl").read_bytes().splitlines()
    assert logs(PROTO_FORMAT, *proto) == logs(JSON_FORMAT, *lines)


def test_requests_that_come_twice_give_their_records_once() -> None:
    units = [*cut_requests(BytesIO((SAMPLES / "otlp_proto" / "pai-5.otlp").read_bytes()))]
    doubled = [unit for unit in units for _ in range(2)]
    assert logs(PROTO_FORMAT, *doubled) == logs(PROTO_FORMAT, *units)


def test_a_span_that_comes_after_later_ones_went_out_is_counted_and_goes_out() -> None:
    adapter = OtlpJson("run")
    for unit in (request(span(5, TOOL), span(9, {}, parent=None)), request(span(1, TOOL))):
        found = [each.value for each in adapter.feed(orjson.dumps(unit)) if not isinstance(each, Problem)]
    assert event_ids(found) == [f"{TRACE}/{1:016x}"]
    assert adapter.ignored["late span"] == 1


def test_only_so_many_spans_of_a_trace_wait() -> None:
    adapter = OtlpJson("run")
    spans = [span(number, TOOL) for number in range(1, MOST_HELD + 2)]
    found = list(adapter.feed(orjson.dumps(request(*spans))))
    assert len([each for each in found if not isinstance(each, Problem)]) == MOST_HELD + 1
    assert len(orjson.loads(adapter.state())["traces"][0]["seen"]) == SPANS_REMEMBERED


def test_a_document_may_be_indented_and_another_may_follow() -> None:
    documents = [request(span(1, TOOL)), request(span(2, TOOL))]
    lines = b"\n".join(orjson.dumps(each, option=orjson.OPT_INDENT_2) for each in documents).splitlines()
    assert event_ids(logs(JSON_FORMAT, *lines)) == [f"{TRACE}/{1:016x}", f"{TRACE}/{2:016x}"]


def test_a_document_that_is_cut_is_reported() -> None:
    lines = orjson.dumps(request(span(1, TOOL)), option=orjson.OPT_INDENT_2).splitlines()[:-3]
    assert reasons(JSON_FORMAT, *lines) == ["unreadable"]


def test_spans_without_ids_or_times_are_reported() -> None:
    damaged = [span(1, TOOL) | change for change in ({"spanId": "xyz"}, {"endTimeUnixNano": "soon"})]
    assert reasons(JSON_FORMAT, request(*damaged)) == ["unknown_shape", "unknown_shape"]


def test_logs_and_metrics_are_left_out_and_counted() -> None:
    adapter = OtlpJson("run")
    assert list(adapter.feed(b'{"resourceLogs": []}')) == []
    assert adapter.ignored == {"resourceLogs": 1}


def test_one_bare_request_is_a_stream_of_one() -> None:
    first = next(cut_requests(BytesIO((SAMPLES / "otlp_proto" / "pai-5.otlp").read_bytes())))
    assert list(cut_requests(BytesIO(first))) == [first]
    assert PROTO_FORMAT.sniff(first, "dump.bin") == 100


def test_a_stream_cut_within_a_request_gives_what_is_whole_and_one_problem() -> None:
    data = (SAMPLES / "otlp_proto" / "pai-5.otlp").read_bytes()
    found = read(PROTO_FORMAT, *cut_requests(BytesIO(data[:-10])))
    assert [each.reason for each in found if isinstance(each, Problem)] == ["unreadable"]
    assert any(not isinstance(each, Problem) for each in found)


ASKS = CHAT | {"gen_ai.output.messages": '[{"role": "assistant", "parts": [{"type": "tool_call"}]}]'}


def rounds(*spans: Any) -> list[str | None]:
    found = logs(JSON_FORMAT, request(*spans, span(99, {}, None)))
    return [each["meta"].get("round_id") for each in found if each["action"]["kind"] == "tool"]


def test_calls_below_a_model_or_beside_it_after_its_end_are_its_round() -> None:
    model = f"{1:016x}"
    assert rounds(span(1, ASKS), span(2, TOOL), span(3, TOOL, parent=model)) == [model, model]


def test_a_call_that_began_before_the_model_beside_it_had_ended_has_no_round() -> None:
    late = span(1, ASKS) | {"endTimeUnixNano": str(NS + 22_000_000)}
    assert rounds(late, span(2, TOOL)) == [None]


def test_a_model_that_asks_for_no_call_begins_no_round() -> None:
    assert rounds(span(1, ASKS), span(2, CHAT), span(3, TOOL)) == [None]


def test_cached_tokens_are_counted_apart_from_those_billed_in_full() -> None:
    usage = {
        "gen_ai.usage.input_tokens": 90,
        "gen_ai.usage.output_tokens": 10,
        "gen_ai.usage.cache_read.input_tokens": 60,
    }
    found = logs(JSON_FORMAT, request(span(1, CHAT | usage), span(2, TOOL), span(99, {}, None)))
    assert found[0]["state_delta"] == {"tokens_consumed": 40, "tokens_cached": 60}


@pytest.mark.parametrize("message", ['[{"text": "All done."}]', "All done.", '{"content": "All done."}'])
def test_the_last_words_of_a_model_are_read_from_its_choice(message: str) -> None:
    model = span(2, CHAT, events=[("gen_ai.choice", {"message": message, "finish_reason": "end_turn"})])
    found = logs(JSON_FORMAT, request(span(1, TOOL), model, span(99, {}, None)))
    assert [each["cognition"]["intent"] for each in found if each["action"]["kind"] == "llm"] == ["All done."]


@pytest.mark.parametrize(
    "wrap", [lambda given: {"trace": given}, lambda given: {"batches": given["resourceSpans"]}]
)
def test_a_request_is_read_inside_what_a_store_of_traces_puts_around_it(wrap: Any) -> None:
    given = request(span(1, TOOL), span(99, {}, None))
    assert JSON_FORMAT.sniff(orjson.dumps(wrap(given)), "trace.json")
    assert logs(JSON_FORMAT, wrap(given)) == logs(JSON_FORMAT, given)

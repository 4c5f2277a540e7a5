"""Spans as Jaeger, Phoenix and Langfuse hand them out: the same calls as in OTLP."""

from typing import Any

import orjson
import pytest

from streams.formats.adapters.otlp_spans import JSON_FORMAT
from streams.formats.format_detection import sniffed
from tests.unit.formats.adapters.reading import logs, reasons

US = 1_795_377_405_000_000


def tag(key: str, value: Any) -> dict[str, Any]:
    return {"key": key, "type": "string", "value": value}


def jaeger(number: int, *tags: dict[str, Any], parent: str | None = "root") -> dict[str, Any]:
    above = [] if parent is None else [{"refType": "CHILD_OF", "traceID": "t", "spanID": parent}]
    return {
        "traceID": "t",
        "spanID": "root" if parent is None else f"s{number}",
        "operationName": "search",
        "references": above,
        "startTime": US + number * 10_000,
        "duration": 5_000,
        "tags": list(tags),
        "logs": [],
        "processID": "p1",
    }


CALL = (
    tag("gen_ai.operation.name", "execute_tool"),
    tag("gen_ai.tool.name", "search"),
    tag("gen_ai.tool.call.arguments", '{"q":"x"}'),
    tag("gen_ai.tool.call.result", "none"),
)


def traces(*spans: dict[str, Any]) -> dict[str, Any]:
    return {"data": [{"traceID": "t", "spans": list(spans), "processes": {"p1": {"serviceName": "coder"}}}]}


def phoenix(number: int, attributes: dict[str, Any], parent: str | None = "root") -> dict[str, Any]:
    return {
        "name": "search",
        "context": {"trace_id": "t", "span_id": f"s{number}"},
        "parent_id": parent,
        "span_kind": "TOOL",
        "start_time": f"2026-11-22T20:00:{number:02}.000000+00:00",
        "end_time": f"2026-11-22T20:00:{number:02}.500000+00:00",
        "status_code": "ERROR" if number == 2 else "OK",
        "status_message": "no such table" if number == 2 else "",
        "attributes": attributes,
        "events": [],
    }


def langfuse(number: int, kind: str = "TOOL", **more: Any) -> dict[str, Any]:
    return {
        "id": f"o{number}",
        "traceId": "t",
        "type": kind,
        "name": "search",
        "startTime": f"2026-11-22T20:00:{number:02}.000Z",
        "endTime": f"2026-11-22T20:00:{number:02}.500Z",
        "input": {"q": "x"},
        "output": "none",
        **more,
    }


TOOL = {"tool.name": "search", "input.value": '{"q": "x"}', "output.value": "none"}
EXPORTS = {
    "jaeger": traces(jaeger(1, *CALL), jaeger(2, *CALL), jaeger(9, parent=None)),
    "phoenix": {"data": [phoenix(1, TOOL), phoenix(2, TOOL)], "next_cursor": None},
    "langfuse": {"data": [langfuse(1), langfuse(2)], "meta": {"page": 1}},
    "langfuse, a trace": {"id": "t", "observations": [langfuse(1), langfuse(2)]},
}


@pytest.mark.parametrize("export", EXPORTS.values(), ids=EXPORTS)
def test_an_export_is_recognised_and_its_calls_are_records(export: dict[str, Any]) -> None:
    assert sniffed(orjson.dumps(export), "export.json") == "otlp-json"
    found = [each for each in logs(JSON_FORMAT, export) if each["action"]["kind"] == "tool"]
    assert [each["action"]["tool_call"] for each in found] == ["search", "search"]
    assert found[0]["action"]["tool_output_summary"] == "none"
    assert orjson.loads(found[0]["action"]["tool_input"]) == {"q": "x"}


def test_an_indented_export_is_read() -> None:
    lines = orjson.dumps(EXPORTS["jaeger"], option=orjson.OPT_INDENT_2).splitlines()
    assert len(logs(JSON_FORMAT, *lines)) == 3


def test_a_failure_has_the_words_of_its_status() -> None:
    found = logs(JSON_FORMAT, EXPORTS["phoenix"])
    assert [each["action"]["status"] for each in found] == ["success", "failure"]


def test_the_session_of_an_observation_names_the_session() -> None:
    export = {"data": [langfuse(1, sessionId="chat-7"), langfuse(2)]}
    assert {each["session_id"] for each in logs(JSON_FORMAT, export)} == {"chat-7"}


def test_spans_without_ids_or_times_are_problems() -> None:
    broken = traces(jaeger(1, *CALL), {"spanID": "x"}, {**jaeger(2), "startTime": "soon"})
    assert reasons(JSON_FORMAT, broken) == ["unknown_shape", "unknown_shape"]
    assert reasons(JSON_FORMAT, {"data": [langfuse(1), {"id": "o2"}]}) == ["unknown_shape"]

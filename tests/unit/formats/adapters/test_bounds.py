"""What an adapter remembers has an end, whatever names, ids and numbers an input invents."""

from __future__ import annotations

from typing import Any

import orjson

from streams.core.domain.validation import problems
from streams.formats.adapters import claude_code, codex, gemini_stream_json, langsmith
from streams.formats.adapters.adapter import MOST_KINDS, MOST_OPEN_CALLS, Format, IntakeReason, Problem
from streams.formats.adapters.record import LARGEST_COUNT, LONGEST_NAME
from tests.unit.formats.adapters.reading import logs, reasons
from tests.unit.formats.adapters.test_claude_code import answered, called, said

LONG = "x" * 100_000


def fed(given: Format, *values: Any) -> Any:
    adapter = given.start("run.jsonl")
    for value in values:
        list(adapter.feed(orjson.dumps(value)))
    return adapter


def test_kinds_without_end_are_counted_and_few_are_named() -> None:
    adapter = fed(
        codex.FORMAT, *({"type": f"kind {number}", "payload": {}} for number in range(5 * MOST_KINDS))
    )
    assert len(adapter.ignored) == MOST_KINDS + 1
    assert sum(adapter.ignored.values()) == 5 * MOST_KINDS
    resumed = codex.FORMAT.resume("run.jsonl", adapter.state())
    list(resumed.feed(b'{"type":"one more","payload":{}}'))
    assert len(resumed.ignored) == MOST_KINDS + 1
    assert sum(resumed.ignored.values()) == 5 * MOST_KINDS + 1


def test_open_calls_are_limited_over_all_sessions_of_an_input() -> None:
    adapter = claude_code.FORMAT.start("run.jsonl")
    found: list[Any] = []
    for number in range(MOST_OPEN_CALLS + 3):
        opened = called(1, f"c{number}") | {"uuid": f"u{number}", "sessionId": f"s{number // 4}"}
        found += adapter.feed(orjson.dumps(opened))
        if number == MOST_OPEN_CALLS // 2:
            adapter = claude_code.FORMAT.resume("run.jsonl", adapter.state())
    assert [each.reason for each in found] == [IntakeReason.UNANSWERED] * 4
    assert {each.where for each in found} == {"s0"}
    still = [each for each in adapter.close() if isinstance(each, Problem)]
    assert len(still) == MOST_OPEN_CALLS - 1


def test_calls_of_sessions_that_are_answered_are_not_open() -> None:
    adapter = claude_code.FORMAT.start("run.jsonl")
    for number in range(3):
        one = {"uuid": f"u{number}", "sessionId": f"s{number}"}
        list(adapter.feed(orjson.dumps(called(1, "c") | one)))
        list(adapter.feed(orjson.dumps(answered(2, "c") | one | {"uuid": f"a{number}"})))
    for number in range(MOST_OPEN_CALLS):
        opened = called(3, f"d{number}") | {"uuid": f"v{number}", "sessionId": f"s{number % 2}"}
        assert list(adapter.feed(orjson.dumps(opened))) == []


def test_a_call_with_a_huge_id_is_reported_and_not_held() -> None:
    adapter = fed(claude_code.FORMAT, called(1, LONG))
    assert len(adapter.state()) < 2_000
    assert reasons(claude_code.FORMAT, called(1, LONG)) == ["unknown_shape"]


def test_huge_names_are_cut_before_they_are_held() -> None:
    named = called(1, "c1") | {"uuid": LONG, "sessionId": LONG}
    named["message"]["content"][0]["name"] = LONG
    named["message"]["id"] = LONG
    adapter = fed(claude_code.FORMAT, named)
    assert len(adapter.state()) < 10_000
    [conversation] = adapter.conversations.values()
    assert len(conversation.calls["c1"].name) == LONGEST_NAME
    assert (conversation.usage, adapter.memory) == ({}, {})
    [record] = logs(claude_code.FORMAT, named, answered(2, "c1") | {"sessionId": LONG})
    assert record["action"]["tool_call"] == "x" * LONGEST_NAME


def test_pieces_of_a_message_without_end_are_cut() -> None:
    piece = {"type": "message", "role": "assistant", "content": "x" * 900, "delta": True}
    assert len(fed(gemini_stream_json.FORMAT, *[piece] * 50).state()) < 3_000


def test_tokens_that_no_number_can_hold_are_the_largest_count() -> None:
    usage = {"input_tokens": LARGEST_COUNT, "output_tokens": LARGEST_COUNT}
    spent = [said(number, "x", f"m{number}") for number in range(1, 7)]
    for each in spent:
        each["message"]["usage"] = usage
    lines = (*spent, called(8, "c1", "m8"), answered(9, "c1"))
    assert fed(claude_code.FORMAT, *lines[:-1]).state()
    [record] = logs(claude_code.FORMAT, *lines)
    assert record["state_delta"]["tokens_consumed"] == LARGEST_COUNT
    assert not problems(record)


def test_an_item_whose_type_is_no_text_is_ignored() -> None:
    adapter = fed(codex.FORMAT, {"type": "response_item", "payload": {"type": {"a": []}, "call_id": "c"}})
    assert list(adapter.ignored) == ["item None"]


def test_a_sum_of_tokens_of_an_export_stays_a_number() -> None:
    run = {"run_type": "llm", "trace_id": "t", "total_tokens": LARGEST_COUNT}
    models = [run | {"id": f"m{at}", "dotted_order": f"1.{at}"} for at in range(5)]
    tool = {
        "run_type": "tool",
        "trace_id": "t",
        "id": "c",
        "dotted_order": "2",
        "name": "f",
        "inputs": {"q": 1},
    }
    tool |= {
        "start_time": "2026-01-01T00:00:00Z",
        "end_time": "2026-01-01T00:00:01Z",
        "outputs": {"output": "x"},
    }
    for record in logs(langsmith.FORMAT, [*models, tool]):
        assert not problems(record)

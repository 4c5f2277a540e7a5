"""The fold of spans: the same records, however they arrive."""

from __future__ import annotations

import base64
import random
from typing import Any

import orjson
import pytest
from google.protobuf.json_format import MessageToDict
from hypothesis import given
from hypothesis import strategies as st
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

from schemas.reason import Reason
from streams.core.domain.record import Unreadable
from streams.formats.content import Content
from streams.worker.bridge.bridge import MOST_HELD
from streams.worker.bridge.rows import PROGRESS, BridgeProgress, TraceRow, decode, encode
from tests.unit.worker.bridge.partition import (
    NOW_MS,
    SAMPLES,
    TICK,
    Message,
    Partition,
    arrivals,
    cut,
    expected_of,
    requests_of,
)

NAMES = sorted(
    str(path.relative_to(SAMPLES))
    for folder in ("otlp_proto", "otlp_json")
    for path in (SAMPLES / folder).iterdir()
    if ".expected" not in path.name
)
TRACE = "5b8efff798038103d269b633813fc60c"


Fields = dict[str, Any]


def span(number: int, *, trace: str = TRACE, root: bool = False, **more: str) -> Fields:
    attributes = {
        "gen_ai.operation.name": "execute_tool",
        "gen_ai.tool.name": "search",
        "gen_ai.tool.call.arguments": '{"q": "weather"}',
        **more,
    }
    return {
        "traceId": trace,
        "spanId": f"{number + 1:016x}",
        **({} if root else {"parentSpanId": "00f067aa0ba902b7"}),
        "name": "execute_tool",
        "startTimeUnixNano": str((NOW_MS + number) * 1_000_000),
        "endTimeUnixNano": str((NOW_MS + number + 1) * 1_000_000),
        "attributes": [{"key": key, "value": {"stringValue": value}} for key, value in attributes.items()],
    }


def request(*spans: Fields) -> bytes:
    return orjson.dumps({"resourceSpans": [{"scopeSpans": [{"spans": list(spans)}]}]})


def at(offset: int, after_ms: int, value: bytes | None, key: str | None = TRACE) -> Message:
    return Message(offset, NOW_MS + after_ms, None if key is None else key.encode(), value)


@pytest.mark.parametrize("name", NAMES)
def test_a_sample_gives_its_records(name: str) -> None:
    partition = Partition()
    partition.fold(arrivals(requests_of(name)))
    assert partition.sessions == expected_of(name)


@pytest.mark.parametrize("name", NAMES)
@given(seed=st.integers(0, 2**32))
def test_requests_in_any_order_each_twice_in_any_runs_give_the_same_records(name: str, seed: int) -> None:
    chance = random.Random(seed)
    requests = requests_of(name) * 2
    chance.shuffle(requests)
    partition = Partition()
    for run in cut(arrivals(requests), chance):
        partition.fold(run)
    assert partition.sessions == expected_of(name)
    assert partition.bridged.spans["late"] == 0


@pytest.mark.parametrize("name", [name for name in NAMES if "otlp_proto" in name])
def test_spans_one_by_one_in_json_give_the_same_records_as_requests_in_protobuf(name: str) -> None:
    singles = []
    for value in requests_of(name):
        for resource in MessageToDict(ExportTraceServiceRequest.FromString(value))["resourceSpans"]:
            for scope in resource["scopeSpans"]:
                for each in scope["spans"]:
                    for field in ("traceId", "spanId", "parentSpanId"):
                        if field in each:  # OTLP has hex digits where protobuf's own JSON has base64
                            each[field] = base64.b64decode(each[field]).hex()
                    one = {"resource": resource.get("resource", {}), "scopeSpans": [{"spans": [each]}]}
                    singles.append(orjson.dumps({"resourceSpans": [one]}))
    partition = Partition()
    partition.fold(arrivals(singles))
    assert partition.sessions == expected_of(name)


@given(seed=st.integers(0, 2**32), crash_at=st.integers(0, 60))
def test_a_replay_after_a_crash_gives_the_same_bytes(seed: int, crash_at: int) -> None:
    name = "otlp_proto/lc-openinference.otlp"
    messages = arrivals(requests_of(name), within_ms=9_000)
    whole = Partition()
    whole.fold(messages)
    chance = random.Random(seed)
    partition, stored, sent, done = Partition(), {}, [], 0
    for run in cut(messages, chance):
        if done <= crash_at < done + len(run):  # its outputs are there, its rows are not
            partition.fold(run)
            sent += partition.records
            partition = Partition()
            partition.rows.stored = dict(stored)
            for again in cut(messages[max(0, done - 3) :], chance):  # commits lag behind
                partition.fold(again)
            break
        partition.fold(run)
        stored, done = dict(partition.rows.stored), done + len(run)
        sent, partition.bridged.outputs = sent + partition.records, {}
    first = [record for record in sent if record not in partition.records]
    assert first + partition.records == whole.records
    assert partition.rows.stored == whole.rows.stored


@given(seed=st.integers(0, 2**32), crash_at=st.integers(0, 60))
def test_a_crash_that_stores_the_traces_of_a_run_but_not_how_far_it_was_loses_nothing(
    seed: int, crash_at: int
) -> None:
    messages = arrivals(requests_of("otlp_proto/lc-openinference.otlp"), within_ms=9_000)
    whole = Partition()
    whole.fold(messages)
    chance = random.Random(seed)
    partition, done = Partition(), 0
    for run in cut(messages, chance):
        progress = partition.rows.stored.get(PROGRESS)
        partition.fold(run)
        done += len(run)
        if crash_at < done:
            partition.rows.stored.pop(PROGRESS)
            if progress is not None:
                partition.rows.stored[PROGRESS] = progress
            break
    for again in cut(messages, chance):
        partition.fold(again)
    assert {record.value for record in partition.records} == {record.value for record in whole.records}


def test_spans_wait_for_those_that_ended_before_them() -> None:
    partition = Partition()
    partition.fold([at(0, 0, request(span(5))), at(1, 1_500, request(span(3)))])
    assert partition.records == []
    partition.fold([at(2, 1_999, TICK)])
    assert partition.records == []
    partition.fold([at(3, 2_000, TICK)])
    assert [row["event_id"] for row in partition.sessions[TRACE]] == [
        f"{TRACE}/{4:016x}",
        f"{TRACE}/{6:016x}",
    ]


def test_a_span_that_is_not_due_stays_if_it_ended_later() -> None:
    partition = Partition()
    partition.fold([at(0, 0, request(span(1))), at(1, 1_000, request(span(2))), at(2, 2_000, TICK)])
    assert len(partition.records) == 1
    partition.fold([at(3, 3_000, TICK)])
    assert len(partition.records) == 2


def test_a_span_that_comes_too_late_goes_out_where_it_comes_and_is_counted() -> None:
    partition = Partition()
    partition.fold([at(0, 0, request(span(5))), at(1, 3_000, request(span(3))), at(2, 6_000, TICK)])
    assert [row["event_id"][-1] for row in partition.sessions[TRACE]] == ["6", "4"]
    assert partition.bridged.spans["late"] == 1


def test_a_repeated_span_is_counted_and_gives_no_second_record() -> None:
    partition = Partition()
    partition.fold([at(0, 0, request(span(1))), at(1, 3_000, request(span(1), span(1))), at(2, 9_000, TICK)])
    assert len(partition.records) == 1
    assert partition.bridged.spans == {"tool": 1, "repeated": 2}


def test_too_many_spans_of_a_trace_go_out_before_their_time() -> None:
    partition = Partition()
    partition.fold([at(0, 0, request(*map(span, range(MOST_HELD + 1))))])
    assert len(partition.records) == MOST_HELD + 1


def test_large_spans_go_out_before_their_time_so_that_a_row_stays_small() -> None:
    partition = Partition()
    for number in range(40):
        large = span(number, **{"gen_ai.tool.call.result": "x" * 20_000})
        partition.fold([at(number, number, request(large))])
        assert max(map(len, partition.rows.stored.values())) < 300_000
    assert partition.records


def test_a_trace_without_a_session_ends_with_its_root() -> None:
    partition = Partition()
    root = span(9, root=True) | {"attributes": []}
    partition.fold([at(0, 0, request(span(1), root)), at(1, 5_000, TICK)])
    last = partition.sessions[TRACE][-1]
    assert last["control"] == {"is_terminal": True}
    assert last["action"]["kind"] == "system"


def test_headers_say_where_a_record_comes_from() -> None:
    partition = Partition(session_keys=("team.run",))
    spans = (
        span(1),
        span(2, trace="0" * 31 + "2", **{"gen_ai.conversation.id": "c"}),
        span(3, trace="0" * 31 + "3", **{"session.id": "s"}),
        span(4, trace="0" * 31 + "4", **{"session.id": "s", "team.run": "t"}),
    )
    partition.fold([at(0, 0, request(*spans)), at(1, 5_000, TICK)])
    found = {record.key: dict(record.headers) for record in partition.records}
    assert {key: headers["eddy-session-key"] for key, headers in found.items()} == {
        TRACE.encode(): b"trace",
        b"c": b"conversation",
        b"s": b"session",
        b"t": b"session",
    }
    assert found[b"c"]["traceparent"] == b"00-" + b"0" * 31 + b"2-0000000000000003-01"
    assert {headers["eddy-source"] for headers in found.values()} == {b"otlp"}
    assert partition.bridged.sessions == {"trace": 1, "conversation": 1, "session": 2}


def test_a_session_keeps_its_name_whatever_later_spans_say() -> None:
    partition = Partition()
    later = span(2, **{"gen_ai.conversation.id": "c"})
    partition.fold([at(0, 0, request(span(1))), at(1, 5_000, request(later)), at(2, 9_000, TICK)])
    assert list(partition.sessions) == [TRACE]


@pytest.mark.parametrize(
    ("value", "reason"),
    [
        (None, Reason.NULL_VALUE),
        (b"\xff\xfe", Reason.UNDECODABLE),
        (b"{", Reason.UNDECODABLE),
        (b'{"resourceLogs": []}', Reason.UNDECODABLE),
        (request({"name": "no ids"}), Reason.SCHEMA_VIOLATION),
    ],
)
def test_what_cannot_be_used_is_a_dead_letter_with_its_bytes(value: bytes | None, reason: Reason) -> None:
    partition = Partition()
    partition.fold([at(0, 0, value, key="k"), at(1, 1, request(span(1))), at(2, 5_000, TICK)])
    (letter,) = partition.letters
    assert (letter.key, letter.value) == (b"k", value)
    headers = dict(letter.headers)
    assert headers["x-dlq-reason"] == reason.encode()
    assert headers["__streams.errors.topic"] == b"otlp_spans"
    assert partition.bridged.dead_lettered == {reason: 1}
    assert len(partition.records) == 1


def test_spans_beside_unusable_ones_are_used() -> None:
    partition = Partition()
    partition.fold([at(0, 0, request(span(1), {"name": "no ids"})), at(1, 5_000, TICK)])
    assert len(partition.records) == len(partition.letters) == 1
    assert partition.bridged.spans == {"tool": 1, "dead": 1}


def test_a_record_that_no_client_reads_is_a_dead_letter() -> None:
    partition = Partition()
    partition.fold([Unreadable(0, NOW_MS, "its checksum is wrong", value=b"raw")])
    (letter,) = partition.letters
    assert dict(letter.headers)["x-dlq-reason"] == Reason.UNREADABLE.encode()


@pytest.mark.parametrize(("key", "foreign"), [(TRACE, 0), (TRACE.upper(), 0), (None, 1), ("other", 1)])
def test_keys_that_are_not_the_trace_are_counted(key: str | None, foreign: int) -> None:
    partition = Partition()
    partition.fold([at(0, 0, request(span(1)), key=key)])
    assert partition.bridged.foreign_keys == foreign


def test_the_clock_of_a_wrong_producer_does_not_stop_that_of_the_partition() -> None:
    partition = Partition()
    partition.fold([at(0, 10**12, request(span(1)))], latest_ms=NOW_MS)
    progress = partition.rows.get(PROGRESS)
    assert isinstance(progress, BridgeProgress)
    assert progress.time_ms == NOW_MS


def test_a_trace_without_spans_for_long_is_forgotten() -> None:
    partition = Partition(trace_ttl_ms=60_000)
    partition.fold([at(0, 0, request(span(1))), at(1, 5_000, TICK), at(2, 70_000, request(span(1)))])
    partition.fold([at(3, 80_000, TICK)])
    assert [row["event_id"] for row in partition.sessions[TRACE]] == [f"{TRACE}/{2:016x}"] * 2


def test_a_tool_call_without_arguments_is_counted_and_equals_no_other() -> None:
    partition = Partition()
    spans = []
    for number in (1, 2):
        bare = span(number)
        bare["attributes"] = bare["attributes"][:2]
        spans.append(bare)
    partition.fold([at(0, 0, request(*spans)), at(1, 5_000, TICK)])
    first, second = partition.sessions[TRACE]
    assert first["action"]["tool_input"] != second["action"]["tool_input"]
    assert partition.bridged.without_content == 2


@pytest.mark.parametrize("content", [Content.HASH, Content.NONE])
def test_texts_are_kept_back(content: Content) -> None:
    partition = Partition(content=content)
    secret = span(1, **{"gen_ai.tool.call.result": "sesame", "gen_ai.tool.call.arguments": '{"q": "sesame"}'})
    partition.fold([at(0, 0, request(secret)), at(1, 5_000, TICK)])
    assert b"sesame" not in (partition.records[0].value or b"")


@given(st.lists(st.tuples(st.binary(max_size=60), st.integers(-1, 10**15)), max_size=8))
def test_no_bytes_stop_the_bridge(values: list[tuple[bytes, int]]) -> None:
    partition = Partition()
    messages = [Message(offset, time, None, value) for offset, (value, time) in enumerate(values)]
    for message in messages:
        partition.fold([message])
    for name in partition.rows.stored:
        assert isinstance(partition.rows.get(name), TraceRow | BridgeProgress)


def test_huge_names_leave_rows_small() -> None:
    partition = Partition()
    huge = "x" * 100_000
    for number in range(20):
        names = {"gen_ai.tool.name": huge, "gen_ai.agent.name": huge, "session.id": huge}
        partition.fold([at(number, number, request(span(number, **names)))])
    assert max(map(len, partition.rows.stored.values())) < 100_000


def test_a_row_with_the_root_of_its_trace_is_the_same_after_it_was_stored() -> None:
    partition = Partition()
    put: list[TraceRow | BridgeProgress] = []
    store = partition.rows.put
    partition.rows.put = lambda value, name: (put.append(value), store(value, name))[1]  # type: ignore[method-assign]
    partition.fold([at(0, 0, request(span(1), span(9, root=True)))])
    assert put
    assert [decode(encode(row)) for row in put] == put

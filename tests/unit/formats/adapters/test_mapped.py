"""A mapping file: what it makes of rows and lines, and what is wrong with a wrong one."""

import json
import re
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from streams.core.domain.validation import problems
from streams.core.errors import ConfigurationError
from streams.formats.adapters.adapter import Problem, UnitKind
from streams.formats.adapters.conversation import EPOCH_MS
from streams.formats.adapters.mapped import LONGEST_ROW, mapped_format
from streams.formats.adapters.mapping import FIELDS
from tests.unit.formats.adapters.reading import event_ids, logs, read, reasons

JSON = mapped_format(
    b"""
session_id = "/run/id"
event_id = "/id"
timestamp = "/time"
agent_id = "/agent"
tool = "/tool/name"
arguments = "/tool/input"
result = "/output/0/text"
status = "/status"
failure = ["boom"]
error = "/error"
intent = "/thought"
tokens = "/usage/total"
cost = "/usage/cost"
terminal = "/event"
terminal_words = ["end"]
agent = "coder"
"""
)
CSV = mapped_format(
    b"""
session_id = "conversation"
timestamp = "time"
tool = "tool"
arguments = "input"
result = "output"
exit_code = "code"
tokens = "tokens"
terminal = "last"
"""
)
HEADER = b"conversation,time,tool,input,output,code,tokens,last,note"


PAGE = Path(__file__).parents[4] / "docs" / "sources" / "any-other.md"


def row(**more: Any) -> dict[str, Any]:
    return {"run": {"id": "s"}, "tool": {"name": "search", "input": {"q": "x"}}, **more}


def csv(*lines: bytes) -> list[Any]:
    return logs(CSV, HEADER, *lines, name="runs.csv")


def test_a_pointer_finds_each_field() -> None:
    given = row(
        id=7,
        time="2026-11-22T10:00:00Z",
        agent="a1",
        output=[{"text": "none"}],
        thought="I look.",
        usage={"total": 12, "cost": 0.5},
        status="OK",
    )
    assert logs(JSON, given) == [
        {
            "session_id": "s",
            "event_id": "7",
            "meta": {"trace_id": "s", "timestamp": 1795341600000},
            "identity": {"agent_id": "a1", "agent_type": "coder"},
            "cognition": {"intent": "I look."},
            "action": {
                "status": "success",
                "kind": "tool",
                "tool_call": "search",
                "tool_input": '{"q":"x"}',
                "tool_output_summary": "none",
            },
            "state_delta": {"tokens_consumed": 12, "cumulative_session_cost": 0.5},
        }
    ]


@pytest.mark.parametrize(
    ("said", "status", "text"),
    [
        ({"status": "Boom"}, "failure", "out"),
        ({"status": "error"}, "success", "out"),  # the mapping gives words of its own
        ({"status": "cancelled"}, "skipped", "out"),
        ({"error": "no such file"}, "failure", "no such file"),
        ({"error": {"message": "gone"}}, "failure", '{"message":"gone"}'),
        ({"error": True}, "failure", "out"),
        ({"error": None}, "success", "out"),
        ({"error": False}, "success", "out"),
        ({"error": ""}, "success", "out"),
    ],
)
def test_words_and_errors_say_what_failed(said: dict[str, Any], status: str, text: str) -> None:
    action = logs(JSON, row(output=[{"text": "out"}], **said))[0]["action"]
    assert action["status"] == status
    assert action.get("error", action.get("tool_output_summary")) == text


def test_a_row_without_a_tool_gives_words_and_tokens_to_the_next_call() -> None:
    model = {"run": {"id": "s"}, "thought": "I look.", "usage": {"total": 100}}
    last = {"run": {"id": "s"}, "thought": "Done."}
    found = logs(JSON, model, row(usage={"total": 5}), last)
    assert [each["cognition"]["intent"] for each in found] == ["I look.", "Done."]
    assert found[0]["state_delta"] == {"tokens_consumed": 105}
    assert found[1]["action"]["kind"] == "llm"


def test_a_word_ends_the_session() -> None:
    found = logs(JSON, row(event="start"), {"run": {"id": "s"}, "event": "end"})
    assert [each.get("control") for each in found] == [None, {"is_terminal": True}]
    assert found[1]["action"]["kind"] == "system"


def test_without_times_and_ids_rows_are_numbered() -> None:
    found = logs(JSON, row(), row())
    assert event_ids(found) == ["s/1", "s/2"]
    assert [each["meta"]["timestamp"] - EPOCH_MS for each in found] == [1000, 2000]


def test_a_row_without_a_session_is_reported() -> None:
    assert reasons(JSON, {"tool": {"name": "x"}}, [1], b"{") == [
        "unknown_shape",
        "unknown_shape",
        "unreadable",
    ]


def test_csv_is_read_by_the_names_of_its_columns() -> None:
    found = csv(
        b's1,2026-11-22T10:00:00Z,bash,"{""c"": ""ls""}",x,0,12,,n',
        b"s1,1795341601,bash,ls,no such file,1,,yes,n",
    )
    first, second, end = found
    assert first["action"]["tool_input"] == '{"c": "ls"}'
    assert first["state_delta"] == {"tokens_consumed": 12}
    assert (second["action"]["status"], second["action"]["error"]) == ("failure", "no such file")
    assert second["meta"]["timestamp"] == 1795341601000
    assert end["control"] == {"is_terminal": True}


def test_a_cell_in_quotes_may_hold_line_ends() -> None:
    lines = [b's1,,bash,"first', b"second, with a comma", b'third",x,0,,,', b"s1,,bash,ls,x,0,,,"]
    assert [each["action"]["tool_input"] for each in csv(*lines)] == [
        "first\nsecond, with a comma\nthird",
        "ls",
    ]


def test_a_cell_in_quotes_survives_a_restart() -> None:
    adapter = CSV.start("runs.csv")
    found: list[Any] = []
    for line in (HEADER, b's1,,bash,"first', b'second",x,0,,,'):
        found.extend(adapter.feed(line))
        adapter = CSV.resume("runs.csv", adapter.state())
    assert found[0].value["action"]["tool_input"] == "first\nsecond"


def test_a_mark_of_the_order_of_bytes_and_windows_line_ends_are_no_text() -> None:
    found = logs(CSV, b"\xef\xbb\xbf" + HEADER + b"\r", b"s1,,bash,ls,x,0,,,n\r")
    assert found[0]["session_id"] == "s1"


def test_a_quote_that_stays_open_is_reported_and_the_rest_is_read() -> None:
    lines = [b's1,,bash,"open', *[b"x" * 1000] * (LONGEST_ROW // 1000 + 1), b"s1,,bash,ls,x,0,,,"]
    adapter = CSV.start("f")
    found = [each for line in (HEADER, *lines) for each in adapter.feed(line)]
    assert any(isinstance(each, Problem) and each.reason == "unreadable" for each in found)
    assert found[-1].value["action"]["tool_input"] == "ls"
    assert reasons(CSV, HEADER, b's1,,bash,"open') == ["unreadable"]


def test_a_file_without_the_columns_is_reported_once() -> None:
    assert reasons(CSV, b"a,b", b"1,2", b"3,4") == ["unknown_shape"]
    found = read(CSV, b'{"a": 1}', b'{"a": 2}')
    assert "write pointers" in found[0].detail


def test_a_mapping_recognises_what_it_can_read() -> None:
    assert (JSON.kind, CSV.kind) == (UnitKind.LINES, UnitKind.LINES)
    assert JSON.sniff(b'{"run": {"id": "s"}}\n', "f") == 100
    assert JSON.sniff(b'{"other": 1}\n', "f") == 0
    assert CSV.sniff(HEADER + b"\r\n", "f") == 100
    assert CSV.sniff(b"a,b\n", "f") == 0


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        (b"\xff", "is not UTF-8"),
        (b"session_id", "is not TOML"),
        (b'tool = "/t"', "which column or JSON pointer is the session_id"),
        (b'session_id = "/s"', "neither what is the tool nor what is the intent"),
        (b'session_id = "/s"\ntool = "t"', r"mixes JSON pointers \(session_id\) with columns \(tool\)"),
        (b'session_id = "/s"\ntool = 7', "'tool' something other than a text"),
        (b'session_id = "/s"\ntool = ""', "'tool' something other than a text"),
        (b'session_id = "/s"\ntool = "/a~2"', r"'tool' has a ~ .* \(RFC 6901\)"),
        (
            b'session_id = "/s"\ntool = "/t"\nfailure = "error"',
            "'failure' something other than a list of words",
        ),
        (b'session_id = "/s"\ntool = "/t"\ntols = "/t"', "says 'tols', which is none of session_id, "),
        (b'session_id = "s"\ntool = "t"\ndelimiter = "ab"', "delimiter of the mapping is one character"),
    ],
)
def test_a_wrong_mapping_is_refused_in_one_sentence(text: bytes, sentence: str) -> None:
    with pytest.raises(ConfigurationError, match=sentence) as refused:
        mapped_format(text)
    assert str(refused.value).count("\n") == 0


def test_the_page_names_every_field_and_its_example_is_a_mapping() -> None:
    page = PAGE.read_text()
    (example,) = re.findall(r"```toml\n(.*?)```", page, re.DOTALL)
    assert mapped_format(example.encode()).kind is UnitKind.LINES
    cells = " ".join(line.split("|")[1] for line in page.splitlines() if line.startswith("| "))
    assert set(re.findall(r"`(\w+)`", cells)) == set(FIELDS)


def test_escapes_of_a_pointer_are_undone() -> None:
    mapping = mapped_format(b'session_id = "/a~1b"\ntool = "/m~0n"')
    assert logs(mapping, {"a/b": "s", "m~n": "t"})[0]["action"]["tool_call"] == "t"


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=6),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(["id", "name", "total"]), inner)
    ),
    max_leaves=6,
)
KEYS = ("run", "id", "time", "tool", "output", "error", "status", "thought", "usage", "event")


@given(st.lists(st.fixed_dictionaries({}, optional=dict.fromkeys(KEYS, VALUES)), max_size=4))
def test_any_lines_give_valid_records_or_problems(rows: list[dict[str, Any]]) -> None:
    units = [json.dumps({"run": {"id": "s"}, **each}).encode() for each in rows]
    assert [each for each in logs(JSON, *units) if problems(each)] == []


@given(
    st.lists(st.binary(max_size=40) | st.text(alphabet=',"s1\n\r', max_size=20).map(str.encode), max_size=8)
)
def test_any_bytes_give_valid_records_or_problems(lines: list[bytes]) -> None:
    assert [each for each in logs(CSV, HEADER, *lines) if problems(each)] == []

"""Documents that are longer than is read, or damaged: what is said of them, and what is read of them."""

import orjson
import pytest

from streams.core.entry import Entry
from streams.formats.adapters import document, openai_chat
from streams.formats.adapters.adapter import Problem

LIMIT = 4_000
MESSAGES = [
    {"role": "user", "content": "Count the files"},
    {
        "role": "assistant",
        "tool_calls": [{"id": "1", "type": "function", "function": {"name": "ls", "arguments": "{}"}}],
    },
    {"role": "tool", "tool_call_id": "1", "content": "3"},
]
LONG = [*MESSAGES, {"role": "user", "content": "x" * LIMIT}]


@pytest.fixture(autouse=True)
def limit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(document, "LONGEST_UNIT", LIMIT)


def read(unit: bytes) -> tuple[int, list[str]]:
    """Return how many records a document gave, and what was said of the rest."""
    found = list(openai_chat.FORMAT.start("a.json").feed(unit))
    records = sum(isinstance(each, Entry) for each in found)
    return records, [each.detail for each in found if isinstance(each, Problem)]


def test_an_indented_document_longer_than_is_read_is_not_called_damaged() -> None:
    unit = orjson.dumps({"messages": LONG}, option=orjson.OPT_INDENT_2)
    told = f"{len(unit):,} bytes: longer than the 4,000 that are read of one value"
    assert read(unit) == read(b"\n" + unit[:-1]) == (0, [told])


@pytest.mark.parametrize("end", [b"", b"\n"])
def test_a_document_of_one_line_longer_than_is_read_is_not_called_damaged(end: bytes) -> None:
    told = "line 1 is longer than the 4,000 bytes that are read"
    assert read(orjson.dumps({"messages": LONG}) + end) == (0, [told])


def test_damaged_lines_are_told_apart_from_long_ones_and_the_others_are_read() -> None:
    good, long = orjson.dumps({"messages": MESSAGES}), orjson.dumps({"messages": LONG})
    assert read(b"\n".join([good, b"{", long, b"{", good])) == (
        read(good + b"\n" + good)[0],
        ["2 lines are not JSON, line 2 the first", "line 3 is longer than the 4,000 bytes that are read"],
    )

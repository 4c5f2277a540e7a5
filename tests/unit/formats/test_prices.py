"""Prices: a cost where each model has a price, none where one has not, and every mistake named."""

import json
from collections.abc import Iterator
from contextlib import suppress
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from streams.core.entry import Entry
from streams.core.errors import ConfigurationError
from streams.formats.adapters.adapter import Format, Problem
from streams.formats.prices import Prices, parse_prices, priced
from streams.formats.registry import BY_NAME

TABLE = b"""
as_of: 2026-11-01
models:
  fable-mini*: {input: 1, output: 2}
  fable*: {input: 2, output: 10, cache_write: 2.5, cache_read: 0.2}
"""
PRICES = parse_prices(TABLE)


def claude(model: str | None, message: str, call: str, **usage: int) -> Iterator[bytes]:
    """Yield a message of a model with one call, and the result of the call."""
    common = {"sessionId": "s", "timestamp": "2026-11-01T10:00:00Z", "cwd": "/", "version": "2"}
    use = {"type": "tool_use", "id": call, "name": "Read", "input": {"file_path": f"{call}.py"}}
    said = {"id": message, "model": model, "role": "assistant", "content": [use], "usage": usage}
    yield json.dumps({**common, "type": "assistant", "uuid": f"u-{call}", "message": said}).encode()
    result = {"type": "tool_result", "tool_use_id": call, "content": "text"}
    told = {"role": "user", "content": [result]}
    yield json.dumps({**common, "type": "user", "uuid": f"r-{call}", "message": told}).encode()


def read(form: Format, *lines: bytes, cut: int | None = None) -> list[Entry | Problem]:
    """Return what an adapter finds; from the line to cut at on, one that goes on from its state."""
    adapter = priced(form, PRICES).start("a.jsonl")
    found = []
    for number, line in enumerate(lines):
        if number == cut:
            adapter = priced(form, PRICES).resume("a.jsonl", adapter.state())
        found += adapter.feed(line)
    return [*found, *adapter.close()]


def costs(found: list[Entry | Problem]) -> list[float | None]:
    values = [each.value for each in found if isinstance(each, Entry) and each.value is not None]
    return [(each.get("state_delta") or {}).get("cumulative_session_cost") for each in values]


def said(found: list[Entry | Problem]) -> list[str]:
    return [each.detail for each in found if isinstance(each, Problem)]


USAGE = {
    "input_tokens": 1_000,
    "cache_creation_input_tokens": 2_000,
    "output_tokens": 3_000,
    "cache_read_input_tokens": 100_000,
}
#: 1,000 x 2 + 2,000 x 2.5 + 3,000 x 10 + 100,000 x 0.2, of a million
COST = 0.057


def test_each_kind_of_token_has_its_price_and_a_message_that_is_repeated_counts_once() -> None:
    lines = [*claude("fable-5", "m1", "c1", **USAGE), *claude("fable-5", "m1", "c2", **USAGE)]
    lines += claude("fable-5", "m2", "c3", **USAGE)
    assert costs(read(BY_NAME["claude-code"], *lines)) == [COST, COST, 2 * COST]


def test_each_model_has_its_price_by_the_first_name_that_fits() -> None:
    small = {"input_tokens": 1_000_000, "output_tokens": 1_000_000, "cache_read_input_tokens": 1_000_000}
    lines = [*claude("fable-5", "m1", "c1", **USAGE), *claude("fable-mini-5", "m2", "c2", **small)]
    assert costs(read(BY_NAME["claude-code"], *lines)) == [COST, COST + 4.0]


@pytest.mark.parametrize(
    ("model", "why"), [("tale-1", "no price of the model tale-1"), (None, "name the model")]
)
def test_a_session_with_a_model_without_a_price_has_no_cost_from_there_on(
    model: str | None, why: str
) -> None:
    lines = [*claude("fable-5", "m1", "c1", **USAGE), *claude(model, "m2", "c2", **USAGE)]
    lines += [*claude("fable-5", "m3", "c3", **USAGE), *claude(model, "m4", "c4", **USAGE)]
    found = read(BY_NAME["claude-code"], *lines)
    assert costs(found) == [COST, None, None, None]
    [told] = said(found)
    assert why in told


@pytest.mark.parametrize("cut", range(1, 6))
def test_whoever_goes_on_from_a_state_counts_on(cut: int) -> None:
    lines = [line for each in "123" for line in claude("fable-5", f"m{each}", f"c{each}", **USAGE)]
    assert costs(read(BY_NAME["claude-code"], *lines, cut=cut)) == [COST, 2 * COST, round(3 * COST, 6)]


def codex(kind: str, **payload: Any) -> bytes:
    return json.dumps({"timestamp": "2026-11-01T10:00:00Z", "type": kind, "payload": payload}).encode()


def test_running_sums_of_codex_cost_what_is_more_under_the_model_of_the_turn() -> None:
    def turn(model: str, number: int, **sums: int) -> Iterator[bytes]:
        yield codex("turn_context", model=model)
        call = {"type": "function_call", "call_id": f"c{number}", "name": "shell", "arguments": "{}"}
        yield codex("response_item", **call)
        yield codex("event_msg", type="token_count", info={"total_token_usage": sums})
        yield codex("response_item", type="function_call_output", call_id=f"c{number}", output="done")

    lines = [codex("session_meta", id="s", cli_version="1")]
    # A cache gave 400 of the input, and then 900 in all.
    lines += turn(
        "fable-5", 1, input_tokens=1_000, cached_input_tokens=400, output_tokens=50, total_tokens=1_050
    )
    sums = {"input_tokens": 2_000, "cached_input_tokens": 900, "output_tokens": 80, "total_tokens": 2_080}
    lines += turn("fable-mini", 2, **sums)
    found = read(BY_NAME["codex"], *lines)
    first = (600 * 2 + 50 * 10 + 400 * 0.2) / 1e6
    assert costs(found) == [round(first, 6), round(first + (500 * 1 + 30 * 2 + 500 * 1) / 1e6, 6)]


def test_a_sum_of_codex_without_its_parts_counts_nothing_twice() -> None:
    def step(number: int, **sums: int) -> Iterator[bytes]:
        call = {"type": "function_call", "call_id": f"c{number}", "name": "shell", "arguments": "{}"}
        yield codex("response_item", **call)
        yield codex("event_msg", type="token_count", info={"total_token_usage": sums})
        yield codex("response_item", type="function_call_output", call_id=f"c{number}", output="done")

    parts = {"input_tokens": 1_000_000, "output_tokens": 100, "total_tokens": 1_000_100}
    lines = [codex("session_meta", id="s", cli_version="1"), codex("turn_context", model="fable-5")]
    lines += [*step(1, **parts), *step(2, total_tokens=1_000_100), *step(3, **parts)]
    assert costs(read(BY_NAME["codex"], *lines)) == [2.001] * 3


def test_a_state_of_a_version_that_did_not_count_costs_has_none() -> None:
    form = BY_NAME["claude-code"]
    adapter = form.start("a.jsonl")
    for line in claude("fable-5", "m1", "c1", **USAGE):
        list(adapter.feed(line))
    state = json.loads(adapter.state())
    text = json.dumps(state)
    assert '"spent": {"fable-5"' in text
    before = json.dumps(without(state, "spent")).encode()
    later = priced(form, PRICES).resume("a.jsonl", before)
    found = [each for line in claude("fable-5", "m2", "c2", **USAGE) for each in later.feed(line)]
    assert costs(found) == [None]
    assert said(found) == ["the log does not name the model"]


def without(value: Any, name: str) -> Any:
    """Return a value of JSON without what has this name, wherever it is."""
    if isinstance(value, dict):
        return {key: without(each, name) for key, each in value.items() if key != name}
    return [without(each, name) for each in value] if isinstance(value, list) else value


def test_a_cost_that_the_source_tells_stays_and_own_formats_have_none_added() -> None:
    log = {"session_id": "s", "event_id": "e", "state_delta": {"tokens_consumed": 7}}
    [entry] = read(BY_NAME["jsonl"], json.dumps(log).encode())
    assert isinstance(entry, Entry)
    assert entry.value == log


def table(text: str) -> Prices:
    return parse_prices(f"as_of: 2026-11-01\nmodels: {text}".encode())


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("{}", "must have 1 to 1,000 names"),
        ("[a]", "need `as_of`"),
        ("{m: 3}", "The price of 'm' among the prices needs `input` and `output`"),
        ("{m: {input: 1}}", "The price of 'm' among the prices needs `input` and `output`"),
        ("{m: {input: 1, output: 2, cached: 3}}", "The price of 'm' among the prices needs"),
        ("{m: {input: -1, output: 2}}", "`input` of 'm' in the prices must be a number"),
        ("{m: {input: 1, output: .nan}}", "`output` of 'm' in the prices must be a number"),
        ("{m: {input: 1, output: true}}", "`output` of 'm' in the prices must be a number"),
        ("{null: {input: 1, output: 2}}", "'None' in the prices is no name of a model"),
        ("{m: {input: 1, output: 2}", "The prices cannot be read"),
        ("{m: {input: 1, output: 2}}\nmore: 1", "nothing else"),
    ],
)
def test_a_mistake_is_named(text: str, why: str) -> None:
    with pytest.raises(ConfigurationError, match="prices") as raised:
        table(text)
    assert why in str(raised.value)


@pytest.mark.parametrize(
    "text", [b"", b"\xff", b"models: {m: {input: 1, output: 2}}", b"as_of: soon\nmodels: {a: 1}"]
)
def test_a_table_without_its_day_or_that_is_none_is_refused(text: bytes) -> None:
    with pytest.raises(ConfigurationError, match="prices"):
        parse_prices(text)


@given(st.binary(max_size=200) | st.text(max_size=200).map(str.encode))
def test_no_file_raises_anything_else(text: bytes) -> None:
    with suppress(ConfigurationError):
        parse_prices(text)

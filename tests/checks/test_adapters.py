"""What every adapter must hold: the rows of its samples, and no input that makes it raise or grow."""

from collections.abc import Iterator
from io import BytesIO
from pathlib import Path
from typing import Any, NamedTuple

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from streams.core.domain.validation import problems
from streams.formats.adapters.adapter import Adapter, Format, Problem, UnitKind
from streams.formats.adapters.otlp.proto_requests import cut_requests
from streams.formats.registry import BY_NAME
from streams.formats.registry import FOREIGN as FORMATS

SAMPLES = Path(__file__).parents[1] / "samples"


class Sample(NamedTuple):
    """A captured input of a format."""

    path: Path
    format: Format

    @property
    def units(self) -> list[bytes]:
        """Return what the adapter is fed with."""
        return list(units(self.format, self.path.read_bytes()))

    @property
    def expected(self) -> list[Any] | None:
        """Return the records that must come of it, None if nobody wrote them down."""
        rows = self.path.with_name(f"{self.path.name.split('.')[0]}.expected.jsonl")
        return [orjson.loads(line) for line in rows.read_bytes().splitlines()] if rows.exists() else None


def units(given: Format, data: bytes) -> Iterator[bytes]:
    """Cut an input into the units of its format."""
    match given.kind:
        case UnitKind.LINES:
            yield from data.splitlines()
        case UnitKind.DOCUMENT | UnitKind.CONTAINER:
            yield data
        case UnitKind.REQUESTS:
            yield from cut_requests(BytesIO(data))


def samples() -> Iterator[Sample]:
    for folder in sorted(SAMPLES.iterdir()):
        found = BY_NAME.get(folder.name.replace("_", "-"))
        if found is not None and not found.own:
            for path in sorted(folder.iterdir()):
                if ".expected." not in path.name:
                    yield Sample(path, found)


ALL = [pytest.param(each, id=f"{each.format.name}-{each.path.name}") for each in samples()]
LINES = [each for each in ALL if each.values[0].format.kind is UnitKind.LINES]


def records(found: list[Any]) -> list[Any]:
    return [each.value for each in found if not isinstance(each, Problem)]


def read(adapter: Adapter, given: list[bytes]) -> list[Any]:
    found = [each for unit in given for each in adapter.feed(unit)]
    return [*found, *adapter.close()]


@pytest.mark.parametrize("sample", ALL)
def test_a_sample_gives_the_expected_records_and_no_problems(sample: Sample) -> None:
    if sample.expected is None:
        pytest.skip("nobody has written down what must come of it")
    found = read(sample.format.start(sample.path.name), sample.units)
    assert records(found) == sample.expected
    assert [each for each in found if isinstance(each, Problem) and each.reason != "no_content"] == []


@pytest.mark.parametrize("sample", ALL)
def test_every_record_of_a_sample_is_valid(sample: Sample) -> None:
    found = records(read(sample.format.start(sample.path.name), sample.units))
    assert found
    assert [problems(each) for each in found if problems(each)] == []


@pytest.mark.parametrize("sample", ALL)
def test_a_format_recognises_its_sample_and_no_other_format_is_as_sure(sample: Sample) -> None:
    head = sample.path.read_bytes()[:65536]
    sure = {each.name: each.sniff(head, sample.path.name) for each in FORMATS}
    best = max(FORMATS, key=lambda each: sure[each.name])
    assert sure[sample.format.name] > 0
    assert best.name == sample.format.name, sure


@pytest.mark.parametrize("sample", ALL)
def test_an_adapter_resumed_after_each_unit_gives_the_same(sample: Sample) -> None:
    whole = read(sample.format.start(sample.path.name), sample.units)
    adapter = sample.format.start(sample.path.name)
    found: list[Any] = []
    for unit in sample.units:
        found.extend(adapter.feed(unit))
        adapter = sample.format.resume(sample.path.name, adapter.state())
    assert [*found, *adapter.close()] == whole


@pytest.mark.parametrize("sample", LINES)
def test_any_prefix_of_a_log_gives_a_prefix_of_the_records(sample: Sample) -> None:
    adapter = sample.format.start(sample.path.name)
    whole = records([each for unit in sample.units for each in adapter.feed(unit)])
    for end in range(len(sample.units)):
        adapter = sample.format.start(sample.path.name)
        found = records([each for unit in sample.units[:end] for each in adapter.feed(unit)])
        assert found == whole[: len(found)]


@pytest.mark.parametrize("sample", ALL)
def test_a_unit_cut_anywhere_raises_nothing_and_gives_valid_records(sample: Sample) -> None:
    for unit in sample.units[:4]:
        for end in range(0, len(unit), max(1, len(unit) // 50)):
            adapter = sample.format.start(sample.path.name)
            for record in records(read(adapter, [unit[:end], unit])):
                assert not problems(record)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4),
    max_leaves=12,
)


def mutated(value: Any, path: list[int], put: Any) -> Any:
    """Return a value with one of its parts replaced, found by the steps of a path."""
    if not path or not isinstance(value, dict | list) or not value:
        return put
    step = path[0] % len(value)
    if isinstance(value, dict):
        key = list(value)[step]
        return {**value, key: mutated(value[key], path[1:], put)}
    return [*value[:step], mutated(value[step], path[1:], put), *value[step + 1 :]]


def test_any_part_of_a_unit_replaced_by_any_json_raises_nothing_and_gives_valid_records() -> None:
    texts = [each.values[0] for each in ALL if each.values[0].format.name != "otlp-proto"]

    @given(
        sample=st.sampled_from(texts),
        at=st.integers(0, 10_000),
        path=st.lists(st.integers(0, 30), min_size=1, max_size=7),
        put=JSON,
    )
    def holds(sample: Sample, at: int, path: list[int], put: Any) -> None:
        given = sample.units
        at %= len(given)
        try:
            value = orjson.loads(given[at])
            changed = orjson.dumps(mutated(value, path, put))
        except (ValueError, TypeError):  # a line that is no JSON, or a value that is not writable
            return
        adapter = sample.format.start(sample.path.name)
        for record in records(read(adapter, [*given[:at], changed, *given[at + 1 :]])):
            assert not problems(record), record
        adapter.state()

    holds()


@pytest.mark.parametrize("each_format", [pytest.param(each, id=each.name) for each in FORMATS])
@pytest.mark.parametrize(
    "unit",
    [
        b"",
        b"\0",
        b"\xff\xfe\x00",
        b"[]",
        b"null",
        b"7",
        b'"a"',
        b"{}",
        b'{"a":',
        b"[" * 100_000,
        b'{"a":' * 2000,
    ],
    ids=lambda unit: repr(unit[:8]),
)
def test_what_is_no_unit_gives_no_record_and_raises_nothing(each_format: Format, unit: bytes) -> None:
    adapter = each_format.start("input")
    assert records(read(adapter, [unit, unit])) == []
    assert each_format.sniff(unit, "input") == 0


@pytest.mark.parametrize("each_format", [pytest.param(each, id=each.name) for each in FORMATS])
def test_a_state_that_is_damaged_is_not_resumed(each_format: Format) -> None:
    for state in (b"", b"{}", b"[]", b"\xff", b'{"version":1,"conversations":[{}],"ignored":{},"memory":{}}'):
        assert list(each_format.resume("input", state).close()) == []

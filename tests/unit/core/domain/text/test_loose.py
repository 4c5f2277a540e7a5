"""Arguments as calls are compared by (specification 3.1b)."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from streams.core.domain.text.canonical import canonical, forms, loose

ROWS = [
    ('{"id":61}', '{"id":"61"}'),
    ('{"id":"61","page":null}', '{"id":"61"}'),
    ('{"a":[1,null,""],"b":{"c":{"d":""}}}', '{"a":["1",null,""]}'),
    ('{"x":2.50,"y":-0.0,"z":true}', '{"x":"2.5","y":"0","z":true}'),
    ('{"q":"a  b"}', '{"q":"a  b"}'),
    ('{"a":null}', "{}"),
    ("61", '"61"'),
    ('{"a":1,}', '{"a":1,}'),
]

VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.integers(10**4299, 10**4400)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.sampled_from(["", " ", "61", "é", "\ud800", '"', "0"])
    | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=12,
)


def as_specified(canonical_text: str) -> str:
    """Specification 3.1b on a canonical text: numbers in quotes, empty members left out, inside out."""

    def rewritten(value: Any) -> str:
        match value:
            case Number():
                return f'"{value}"'
            case list():
                return "[" + ",".join(map(rewritten, value)) + "]"
            case dict():
                members = [(json.dumps(key), key, rewritten(member)) for key, member in value.items()]
                kept = [each for each in members if each[2] not in {"null", '""', "[]", "{}"}]
                return "{" + ",".join(f"{written(key)}:{member}" for _, key, member in kept) + "}"
            case _:
                return written(value)

    try:
        # A canonical text has each key once, and in order.
        read = json.loads(canonical_text, parse_int=Number, parse_float=Number)
    except ValueError:
        return canonical_text
    return rewritten(read)


class Number(str):
    """A number as the canonical text writes it."""

    __slots__ = ()


def written(value: object) -> str:
    return canonical(json.dumps(value))


@pytest.mark.parametrize(("text", "expected"), ROWS)
def test_the_rows_of_the_specification(text: str, expected: str) -> None:
    assert loose(text) == expected


@given(VALUES)
def test_it_is_the_canonical_text_with_the_two_differences(value: Any) -> None:
    text = json.dumps(value) if not _is_long(value) else "[" + "9" * 5000 + ',{"a":null}]'
    assert forms(text) == (canonical(text), as_specified(canonical(text)))


def _is_long(value: Any) -> bool:
    try:
        json.dumps(value)
    except ValueError:
        return True
    return False


@given(st.text(max_size=20))
def test_any_text_has_a_loose_form(text: str) -> None:
    assert loose(loose(text)) == loose(text)
    assert loose(canonical(text)) == loose(text)


@pytest.mark.parametrize("text", [None, "", "ls -la {", '{"a": NaN}'])
def test_what_is_no_json_stays_as_it_is(text: str | None) -> None:
    assert forms(text) == (text or "", text or "")


def test_no_input_is_not_an_empty_object() -> None:
    assert (loose(""), loose("{}"), loose('""')) == ("", "{}", '""')


def test_a_long_input_is_written_alike() -> None:
    value = {"text": "x" * 600, "n": 5, "none": None}
    assert loose(json.dumps(value)) == json.dumps({"n": "5", "text": "x" * 600}, separators=(",", ":"))

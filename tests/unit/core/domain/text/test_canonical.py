import json
import math
import re
import time

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from streams.core.domain.text.canonical import canonical
from streams.core.domain.text.digest import digest

SHORT_ESCAPES = {'"': '\\"', "\\": "\\\\", "\b": "\\b", "\f": "\\f", "\n": "\\n", "\r": "\\r", "\t": "\\t"}


class NotJsonError(ValueError):
    """For the oracle: the reader of the standard library takes it, specification 3.1 does not."""


class Written(str):
    """A number in its canonical form."""

    __slots__ = ()


def as_specified(text: str) -> str:
    """Specification 3.1, row by row and without haste."""
    try:
        value = json.loads(text, parse_int=_integer, parse_float=_number, parse_constant=_constant)
    except (ValueError, RecursionError):
        return text
    return text if _depth(text) > 100 else _write(value)


def _integer(digits):
    return Written("0" if digits == "-0" else digits)


def _number(digits):
    number = float(digits)
    if math.isinf(number):
        raise NotJsonError
    return Written(int(number) if number == math.floor(number) and abs(number) < 1e15 else repr(number))


def _constant(name):
    raise NotJsonError(name)


def _depth(text):
    deepest = depth = 0
    for bracket in re.findall(r"[\[\]{}]", re.sub(r'"(?:[^"\\]|\\.)*"', "", text)):
        depth += 1 if bracket in "[{" else -1
        deepest = max(deepest, depth)
    return deepest


def _write(value):
    match value:
        case Written():
            return str(value)
        case str():
            return '"' + "".join(map(_character, value)) + '"'
        case None | True | False:
            return {None: "null", True: "true", False: "false"}[value]
        case list():
            return "[" + ",".join(map(_write, value)) + "]"
    return "{" + ",".join(f"{_write(key)}:{_write(value[key])}" for key in sorted(value, key=_units)) + "}"


def _character(character):
    if character < " " or "\ud800" <= character <= "\udfff":
        return SHORT_ESCAPES.get(character, f"\\u{ord(character):04x}")
    return SHORT_ESCAPES.get(character, character)


def _units(key):
    encoded = key.encode("utf-16-be", "surrogatepass")
    return [int.from_bytes(encoded[at : at + 2], "big") for at in range(0, len(encoded), 2)]


BLANKS = st.sampled_from(["", "", "", " ", "\n\t ", "\r"])
STRINGS = st.lists(
    st.sampled_from(
        [
            "a",
            "b",
            "é",
            "\ufb33",
            "😀",
            "\\ud83d",
            "\\ude00",
            "\\u00E9",
            "\\/",
            "\\n",
            "\\u0001",
            "\\\\",
            '\\"',
            "[",
            "}",
        ]
    ),
    max_size=3,
).map(lambda parts: f'"{"".join(parts)}"')
NUMBERS = st.sampled_from(
    [
        *(
            "0",
            "-0",
            "-0.0",
            "7",
            "-12",
            "1.0",
            "1E2",
            "2.50",
            "0.1",
            "1e-7",
            "5e-324",
            "1e-400",
            "123456789.5e-3",
        ),
        *(
            "999999999999999.0",
            "1e15",
            "1.5e15",
            "1e16",
            "1e21",
            "1e400",
            "-1e400",
            "9" * 20,
            "-" + "9" * 5000,
        ),
        *("NaN", "Infinity", "-Infinity", "01", "1.", ".5", "+1", "0x1", "1_0", "\u0663"),
    ]
)


def _spaced(parts):
    opening, members, closing = parts
    return opening + ",".join(members) + closing


def _containers(values):
    spaced = st.tuples(BLANKS, values, BLANKS).map("".join)
    members = st.tuples(BLANKS, STRINGS, BLANKS, st.just(":"), spaced).map("".join)
    arrays = st.tuples(st.just("["), st.lists(spaced, max_size=4), st.just("]"))
    objects = st.tuples(st.just("{"), st.lists(members, max_size=4), st.just("}"))
    return (arrays | objects).map(_spaced)


DOCUMENTS = st.recursive(NUMBERS | STRINGS | st.sampled_from(["true", "false", "null", "True"]), _containers)
DEEP = st.tuples(st.sampled_from([98, 99, 100, 101, 5000]), DOCUMENTS).map(
    lambda d: "[" * d[0] + d[1] + "]" * d[0]
)
WIDE = DOCUMENTS.map(lambda document: "[" + ",".join([document] * 150) + "]")
BROKEN = st.tuples(DOCUMENTS, st.integers(0, 50), st.sampled_from(list(',:{}[]"x1 \\'))).map(
    lambda b: b[0][: b[1]] + b[2] + b[0][b[1] :]
)
TEXTS = DOCUMENTS | DEEP | WIDE | BROKEN | st.text()
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda values: st.lists(values, max_size=4) | st.dictionaries(st.text(max_size=3), values, max_size=4),
)


@settings(max_examples=100)
@given(TEXTS)
@example('{"a":' + "[" * 100 + "]" * 100 + ',"a":1}')
@example('{"' + "[" * 150 + '":1}')
@example('["' + "x" * 600 + '",1.0,{"b":1,"a":2e5}]')
def test_does_what_the_specification_says(text):
    if text:
        assert canonical(text) == as_specified(text)


@given(TEXTS)
def test_a_canonical_text_is_its_own_canonical_text(text):
    assert canonical(canonical(text)) == canonical(text)


@given(JSON, st.booleans(), st.sampled_from([None, 0, 3]))
def test_order_of_keys_spaces_and_escapes_do_not_matter(value, ascii_only, indent):
    def backwards(value):
        match value:
            case dict():
                return {key: backwards(value[key]) for key in reversed(value)}
            case list():
                return [backwards(item) for item in value]
        return value

    one = json.dumps(value)
    other = json.dumps(backwards(value), ensure_ascii=ascii_only, indent=indent)
    assert canonical(one) == canonical(other)


@given(JSON)
def test_a_canonical_text_means_the_same(value):
    assert json.loads(canonical(json.dumps(value))) == value


@pytest.mark.parametrize(
    ("tool_input", "written"),
    [
        (None, ""),
        ("", ""),
        ('{"b":1,"a":2}', '{"a":2,"b":1}'),
        (' { "b" : [ 1 , {"d":1,"c":null} ] } ', '{"b":[1,{"c":null,"d":1}]}'),
        ('{"x":1.0,"y":1E2,"z":-0.0}', '{"x":1,"y":100,"z":0}'),
        ('{"a":1,"a":2}', '{"a":2}'),
        ("[2.50,0.1,1e21,-0]", "[2.5,0.1,1e+21,0]"),
        ("12345678901234567890", "12345678901234567890"),
        ("[999999999999999.0,1e15,1e16]", "[999999999999999,1000000000000000.0,1e+16]"),
        ('"\\u00e9\\/\\n\\u0001\\u007f"', '"é/\\n\\u0001\x7f"'),
        ('{"\ufb33":2,"😀":1}', '{"😀":1,"\ufb33":2}'),
        ('{"\\ufb33":2,"\\ud83d\\ude00":1}', '{"😀":1,"\ufb33":2}'),
    ],
)
def test_json_is_written_in_one_way(tool_input, written):
    assert canonical(tool_input) == written


@pytest.mark.parametrize(
    "text",
    [
        "ls -la {",
        " padded ",
        " ",
        '{"a":1,}',
        '{"a":NaN}',
        '{"a":-Infinity}',
        '{"a":1e400}',
        "[1] [2]",
        "01",
        "'a'",
        '"a\nb"',
        "\ufeff{}",
        "[" * 101 + "]" * 101,
        "[" * 100_000,
        '{"a":' * 50_000,
    ],
)
def test_what_is_not_json_stays_as_it_is(text):
    assert canonical(text) == text


def test_nesting_of_100_is_json():
    assert canonical("[ " * 100 + "]" * 100) == "[" * 100 + "]" * 100


def test_an_integer_of_any_size_keeps_its_digits():
    digits = "-" + "1234567890" * 1000
    assert canonical(f'{{"b": {digits}, "a": [1.0, -0, 7]}}') == f'{{"a":[1,0,7],"b":{digits}}}'


def test_half_a_surrogate_pair_stays_an_escape_that_can_be_encoded():
    written = canonical('{"\\uD800": "\\udfff x", "a": 1}')
    assert written == '{"a":1,"\\ud800":"\\udfff x"}'
    assert written.encode()


@example('"\ud800"')
@example('["\udfff", ' + "1" * 5000 + "]")
@given(st.text(st.characters(categories=["Cs", "Lu"]) | st.sampled_from('"[]{}:,1 ')))
def test_text_that_utf_8_cannot_write_is_not_json(text):
    if any("\ud800" <= character <= "\udfff" for character in text):
        assert canonical(text) == text
    assert digest(canonical(text))


@pytest.mark.parametrize(
    "text",
    [
        "[" * 101 + '"' + '\\"' * 500_000,
        "{" * 101 + '"' * 500_000 + "x",
        "[" * 500_000 + '"' * 500_001,
        '["' + "\\" * 999_999 + '"]' + "[" * 101,
        "[" + "1," * 500_000 + '"' + "[" * 101,
    ],
    ids=["escaped quotes without an end", "quotes", "brackets and quotes", "backslashes", "numbers"],
)
def test_a_million_hostile_characters_take_time_in_proportion(text):
    # One that takes the square of the length takes half an hour.
    before = time.thread_time()
    assert canonical(text) == text
    assert time.thread_time() - before < 5

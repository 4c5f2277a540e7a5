"""One spelling for arguments that mean the same, so that equal calls have equal text."""

from __future__ import annotations

import re
from collections.abc import Callable
from json import JSONDecodeError, JSONDecoder, JSONEncoder
from json.encoder import encode_basestring
from math import isinf
from typing import Any, NoReturn

_BLANK = " \t\n\r"
_FIRST = frozenset('{["-0123456789tfn')
_DEEPEST = 100
_WHOLE_BELOW = 1e15
# From here on the C encoder's fixed cost is less than what it saves over `_write`.
_LONG = 512

# One without an end reaches to the end of the text: looking for it again from each of its escaped quotes
# would take the square of the length.
_STRING = re.compile(r'"(?:[^"\\]++|\\.)*+"?', re.DOTALL)
_BRACKET = re.compile(r"[][{}]")
_SURROGATE = re.compile("[\ud800-\udfff]")


class _NotJsonError(Exception):
    """Python's reader takes it, RFC 8259 does not."""


class _Digits(str):
    """An integer as it was written, for those too long for `int`."""

    __slots__ = ()


def canonical(tool_input: str | None) -> str:
    r"""Write the arguments of a call in the one canonical way, RFC 8785-like (specification 3.1).

    None and "" give "". Text that is not one JSON value comes back as it is; NaN, numbers beyond the doubles,
    nesting deeper than 100 and text that UTF-8 cannot write are not JSON. A fraction of 1e15 and more is
    written as Python's ``repr`` writes it. Half a surrogate pair in a string (``\ud800``) stays an escape,
    so the result can always be encoded when the input can. Never raises.

    >>> canonical(' { "b" : [ 1.0 , {"d":1E2,"c":null} ], "a":-0.0 } ')
    '{"a":0,"b":[1,{"c":null,"d":100}]}'
    >>> canonical("ls -la {")
    'ls -la {'
    """
    read = _read(tool_input) if tool_input else None
    if read is None:
        return tool_input or ""
    value, write = read
    return write(value)


def forms(tool_input: str | None) -> tuple[str, str]:
    """Return arguments in their canonical and in their loose form, read once.

    The loose form is for comparing calls (specification 3.1b): numbers are text, and members that hold
    nothing are left out, from the inside out. For most calls both are one object.

    >>> forms('{"id": 61, "page": null}')
    ('{"id":61,"page":null}', '{"id":"61"}')
    >>> one, other = forms('{"q": "a"}')
    >>> one is other
    True
    """
    read = _read(tool_input) if tool_input else None
    if read is None:
        text = tool_input or ""
        return text, text
    value, write = read
    text = write(value)
    return text, text if _is_loose(value) else write(_loosened(value))


def loose(tool_input: str | None) -> str:
    """Return arguments in their loose form alone.

    >>> loose('{"a":[1,null,""],"b":{"c":{"d":""}}}'), loose("61"), loose("")
    ('{"a":["1",null,""]}', '"61"', '')
    """
    return forms(tool_input)[1]


def _read(tool_input: str) -> tuple[Any, Callable[[Any], str]] | None:
    """Return the value of a text and what writes it; None for one that is not JSON."""
    text = tool_input.strip(_BLANK)
    if not text or text[0] not in _FIRST or _too_deep(text):
        return None
    try:
        value, end = _DECODER.raw_decode(text)
        if end != len(text):
            return None
        if text.isascii() and "\\u" not in text:
            return value, _write if len(text) < _LONG else _ENCODER.encode
        text.encode()
    except (JSONDecodeError, _NotJsonError, UnicodeEncodeError):
        return None
    except ValueError:
        # What is left is `int` refusing to read more digits than sys.set_int_max_str_digits allows.
        return _with_long_integers(text)
    return value, _write_any


def _with_long_integers(text: str) -> tuple[Any, Callable[[Any], str]] | None:
    try:
        value, end = _LONG_INTEGER_DECODER.raw_decode(text)
        text.encode()
    except (JSONDecodeError, _NotJsonError, UnicodeEncodeError):
        return None
    return (value, _write_any) if end == len(text) else None


def _is_loose(value: Any) -> bool:
    """Tell of the values most calls have that nothing of them changes; False says nothing."""
    if type(value) is not dict:
        return type(value) is str
    for member in value.values():  # noqa: SIM110 - a generator costs more than the loop
        if type(member) is not str or not member:
            return False
    return True


def _loosened(value: Any) -> Any:
    kind = type(value)
    if kind is dict:
        members = [(key, _loosened(member)) for key, member in value.items()]
        return {key: member for key, member in members if member or member is False}
    if kind is list:
        return [_loosened(item) for item in value]
    if kind is str or value is None or kind is bool:
        return value
    return str(value)


def _write_any(value: Any) -> str:
    return _SURROGATE.sub(_escape, _write(value, _utf16))


def _write(value: Any, order: Callable[[str], bytes] | None = None) -> str:
    kind = type(value)
    if kind is str:
        return encode_basestring(value)
    if kind is dict:
        members = [
            f"{encode_basestring(key)}:{_write(value[key], order)}" for key in sorted(value, key=order)
        ]
        return "{" + ",".join(members) + "}"
    if kind is list:
        return "[" + ",".join([_write(item, order) for item in value]) + "]"
    if value is None:
        return "null"
    if kind is bool:
        return "true" if value else "false"
    return str(value)


def _utf16(key: str) -> bytes:
    return key.encode("utf-16-be", "surrogatepass")


def _escape(found: re.Match[str]) -> str:
    return f"\\u{ord(found[0]):04x}"


def _number(written: str) -> int | float:
    number = float(written)
    if isinf(number):
        raise _NotJsonError
    return int(number) if abs(number) < _WHOLE_BELOW and number.is_integer() else number


def _integer(written: str) -> _Digits:
    return _Digits("0" if written == "-0" else written)


def _refuse(_constant: str) -> NoReturn:
    raise _NotJsonError


def _too_deep(text: str) -> bool:
    """Measured on the text: a value may have lost the deepest member to a later one of the same name."""
    if len(text) <= 2 * _DEEPEST or text.count("[") + text.count("{") <= _DEEPEST:
        return False
    depth = 0
    for bracket in _BRACKET.findall(_STRING.sub("", text)):
        depth += 1 if bracket in "[{" else -1
        if depth > _DEEPEST:
            return True
    return False


_DECODER = JSONDecoder(parse_float=_number, parse_constant=_refuse)
_LONG_INTEGER_DECODER = JSONDecoder(parse_float=_number, parse_int=_integer, parse_constant=_refuse)
_ENCODER = JSONEncoder(ensure_ascii=False, check_circular=False, sort_keys=True, separators=(",", ":"))

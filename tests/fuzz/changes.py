"""Valid JSON, changed: hostile parts, and values that come twice, not at all or in another order.

A fuzzer that changes bytes seldom gets past the parser. These changes reach what stands deep.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from tests.fuzz.choices import NUMBERS, Choices

_MOST_CHANGES = 12
_HOSTILE: tuple[Any, ...] = (
    *NUMBERS,
    *(
        float("inf"),
        float("nan"),
        2**62,
        2**62 + 1,
        10**30,
        "",
        "\ud800",
        "\x00",
        "9" * 5000,
        [[]],
        [{}],
        {"": None},
    ),
    *(
        "[" * 300 + "]" * 300,
        '{"a":' * 260 + "1" + "}" * 260,
        '["\\ud800"]',
        "1" * 400,
        '{"a":1e999}',
        "x" * 20_000,
    ),
    *("2026-13-45T99:99:99Z", "9999-12-31T23:59:59.999Z", "0001-01-01T00:00:00+14:00", "null", [None] * 40),
)


def changed(samples: Sequence[list[Any]], choices: Choices) -> Iterator[Any]:
    """Yield the values of a sample, changed as the choices say."""
    values = list(choices.one_of(samples))
    for _ in range(_MOST_CHANGES):
        if not choices or not values:
            break
        at, other = choices.byte() % len(values), choices.byte() % len(values)
        match choices.byte() % 8:
            case 0:
                values.insert(at, values[other])
            case 1:
                del values[at]
            case 2:
                values[at], values[other] = values[other], values[at]
            case 3:
                values[at] = _put(values[at], choices, _part(values[other], choices))
            case _:
                put = choices.one_of(_HOSTILE) if choices.byte() % 2 else choices.json(2)
                values[at] = _put(values[at], choices, put)
    yield from values


def _put(value: Any, choices: Choices, put: Any) -> Any:
    """Return a value with a part of it replaced."""
    if not choices.byte() % 8 or not isinstance(value, dict | list) or not value:
        return put
    if isinstance(value, dict):
        key = choices.one_of(list(value))
        return {**value, key: _put(value[key], choices, put)}
    at = choices.byte() % len(value)
    return [*value[:at], _put(value[at], choices, put), *value[at + 1 :]]


def _part(value: Any, choices: Choices) -> Any:
    while choices.byte() % 4 and isinstance(value, dict | list) and value:
        value = choices.one_of(list(value.values()) if isinstance(value, dict) else value)
    return value

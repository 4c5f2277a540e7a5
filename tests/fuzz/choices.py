"""Bytes as decisions: what makes valid structures of what a fuzzer mutates."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeVar

T = TypeVar("T")

LONGEST = "x" * 5000
TEXTS = (
    *("", "a", "s1", "read_file", "bash", "edit", "search", "tool", "llm", "system", "success", "\x00"),
    *(
        "\u202egnp.exe\u202c",
        "\ufeff",
        "é",
        "İ",
        "ſ",
        "Kb",
        "读文件",
        "😀",
        "\ud800",
        "\udfff\ud800",
        "a\u0300",
    ),
    *("HTTP 503", "timed out", "rate limit", "Error: no such file a.py:12", "/tmp/x 0.12s 0xff line 3:"),
    *("1 2 3 4 5 6 7 8 9 10", '{"path":"a.py"}', '{"b":1,"a":[1.0,-0.0,1e400]}', '{"a":1,"a":2}', "[" * 200),
    *("s/0/1", "agent/tool/x", "tool/", "null", "NaN", "-1", "9" * 5000, LONGEST, "a b\n" * 1500, "\x1b[31m"),
)
NUMBERS: tuple[Any, ...] = (
    *(0, 1, -1, 2, 7, 0.5, -0.0, 0.25, 1e-308, 5e-324, 1e15, 1e16, 1e308, -1e308, 1.7976931348623157e308),
    *(2**31, 2**53, 2**63 - 1, -(2**63), 2**63, 2**64 - 1, 1_700_000_000_000, 86_400_000),
)
MISFITS: tuple[Any, ...] = (None, True, False, [], {}, [None], {"a": {}}, "x", 7, 1.5)


class Choices:
    """Takes choices out of bytes, one or two bytes each; when they are used up, always the first."""

    def __init__(self, data: bytes) -> None:
        self._data = data
        self._at = 0

    def __bool__(self) -> bool:
        return self._at < len(self._data)

    def byte(self) -> int:
        at, self._at = self._at, self._at + 1
        return self._data[at] if at < len(self._data) else 0

    def one_of(self, options: Sequence[T]) -> T:
        return options[self.byte() % len(options)]

    def rest(self) -> bytes:
        at, self._at = self._at, len(self._data)
        return self._data[at:]

    def bytes(self, most: int) -> bytes:
        length = min(self.byte(), most)
        at, self._at = self._at, self._at + length
        return self._data[at : at + length]

    def text(self) -> str:
        if self.byte() < 200:
            return self.one_of(TEXTS)
        return self.bytes(60).decode("utf-8", "replace")

    def number(self) -> Any:
        if self.byte() < 200:
            return self.one_of(NUMBERS)
        return int.from_bytes(self.bytes(8), "big", signed=True)

    def json(self, deepest: int = 3) -> Any:
        match self.byte() % 8:
            case 0 | 1:
                return self.text()
            case 2 | 3:
                return self.number()
            case 4 if deepest:
                return [self.json(deepest - 1) for _ in range(self.byte() % 5)]
            case 5 if deepest:
                return {self.text(): self.json(deepest - 1) for _ in range(self.byte() % 5)}
            case _:
                return self.one_of(MISFITS)

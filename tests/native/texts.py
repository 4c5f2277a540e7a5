"""Hostile texts by chance: pieces that mean something to one of the functions, cut and put together."""

from __future__ import annotations

import json
import random
from typing import Any

from tests.unit.core.domain.text.test_result_text import PIECES

_ODD = [
    chr(code) for code in (*range(0x21), 0x7F, 0x80, 0x85, 0xA0, 0xAA, 0xAD, 0xB2, 0xBD, 0xDF, 0x130, 0x131)
]
_ODD += list(
    "ǅŉſςσΣԱᲐẞℵⅧⓐ㈠々ー日本語ｶﾞ０１٣४๓𐐀𝒜𝟘🄰😀👩‍🚀\u0301\u0345\u180e\u200b\u200d\u2028\u2029\u202e\u3000\ufeff\uffff"
)
_LONE = ["\ud800", "\udfff", "\udc00\ud800"]
_WORDS = [
    "the",
    "error",
    "file",
    "line",
    "test",
    "failed",
    "passed",
    "Read",
    "WRITE",
    "config",
    "src",
    "main",
    "index",
    "value_of",
    "x1",
    "1x",
    "42",
    "3.14",
]
_NUMBERS = [
    *("0", "-0", "1", "61", "61.0", "-0.0", "1E2", "1e-7", "2.50", "1e15", "1e16", "1e21", "0.1", "1e400"),
    *("123456789012345678901234567890", "9007199254740993", "1.7976931348623157e308", "5e-324", "-1.5e-5"),
    *("01", "1.", ".5", "+1", "NaN", "Infinity", "-Infinity", "--1", "1e", "0x1"),
]
_ESCAPES = [
    *('\\"', "\\\\", "\\/", "\\b", "\\f", "\\n", "\\r", "\\t", "\\u0000", "\\u00e9", "\\u001f", "\\u2028"),
    *("\\ud83d\\ude00", "\\ud800", "\\udc00", "\\x", "\\u12", "\\U0041", "\\ud800\\u0041"),
]


class Texts:
    """Texts of a random generator."""

    def __init__(self, chance: random.Random) -> None:
        self._chance = chance

    def text(self) -> str:
        """Any text: mostly what tools answer, at times far over the limit, or with half a surrogate pair."""
        chance = self._chance
        pieces = chance.choices(PIECES, k=chance.randrange(12)) + chance.choices(
            _WORDS, k=chance.randrange(12)
        )
        if chance.random() < 0.4:
            pieces += chance.choices(_ODD, k=chance.randrange(1, 6))
        if chance.random() < 0.02:
            pieces.append(chance.choice(_LONE))
        if chance.random() < 0.3:
            pieces.append(chance.randbytes(chance.randrange(20)).decode("utf-8", "replace"))
        chance.shuffle(pieces)
        text = chance.choice(("", " ", "\n", " ")).join(pieces)
        if chance.random() < 0.02:
            text = (text or "x") * (4100 // max(1, len(text)) + 1)
            text = text[chance.randrange(50) :]
        return text

    def number(self) -> str:
        """The text of a number: of a few that are hard, or of any double."""
        chance = self._chance
        match chance.randrange(4):
            case 0:
                return chance.choice(_NUMBERS)
            case 1:
                return repr(chance.uniform(-1, 1) * 10.0 ** chance.randrange(-320, 308))
            case 2:
                return f"{chance.randrange(-(10**6), 10**6)}e{chance.randrange(-25, 25)}"
            case _:
                return f"{chance.randrange(10**18)}.{chance.randrange(10**6)}"

    def string(self) -> str:
        """The text of a JSON string."""
        chance = self._chance
        inside = [
            *chance.choices(_WORDS, k=chance.randrange(3)),
            *chance.choices(_ODD, k=chance.randrange(3)),
        ]
        inside += chance.choices(_ESCAPES, k=chance.randrange(3)) if chance.random() < 0.4 else []
        chance.shuffle(inside)
        return f'"{"".join(inside)}"'

    def value(self, depth: int = 0) -> str:
        """The text of a JSON value, with blanks at will."""
        chance = self._chance
        blank = chance.choice(("", "", " ", "\n\t"))
        match chance.randrange(4 if depth > 4 else 9):
            case 0:
                return self.number()
            case 1:
                return chance.choice(("true", "false", "null", "nul", '""', "[]", "{}"))
            case 2 | 3:
                return self.string()
            case 4 | 5:
                items = [self.value(depth + 1) for _ in range(chance.randrange(4))]
                return f"[{blank}{f',{blank}'.join(items)}{blank}]"
            case _:
                keys = [self.string() for _ in range(chance.randrange(5))]
                keys += keys[:1] if chance.random() < 0.1 else []
                members = [f"{key}{blank}:{blank}{self.value(depth + 1)}" for key in keys]
                return f"{{{blank}{f'{blank},'.join(members)}{blank}}}"

    def arguments(self) -> str:
        """Arguments: JSON, JSON that was hurt, very deep, or any text."""
        chance = self._chance
        match chance.randrange(12):
            case 0:
                return self.text()
            case 1:
                deep = chance.randrange(96, 105)
                opening = [chance.choice(("[", '{"a":')) for _ in range(deep)]
                closing = ["]" if each == "[" else "}" for each in reversed(opening)]
                return f"{''.join(opening)}{self.value(9)}{''.join(closing)}"
            case 2 | 3:
                text = self.value()
                at = chance.randrange(len(text) + 1)
                return text[:at] + chance.choice(("", ",", "}", "]", '"', "\\", "\x01", "é")) + text[at + 1 :]
            case 4:
                return json.dumps(
                    {self.text(): self.text() for _ in range(3)}, ensure_ascii=chance.random() < 0.5
                )
            case _:
                return f"{chance.choice(('', ' ', chr(10)))}{self.value()}{chance.choice(('', ' ', chr(9)))}"

    def known(self) -> dict[str, Any]:
        """The fields of a record that a decision is made of."""
        chance = self._chance
        action: dict[str, Any] = {
            "status": chance.choice(("success", "failure", "failure", "pending", "skipped"))
        }
        for name, make, often in (
            ("tool_call", self.text, 0.3),
            ("tool_input", self.arguments, 0.9),
            ("tool_output_summary", self.text, 0.9),
            ("error", self.text, 0.5),
            ("target", self.text, 0.3),
        ):
            if chance.random() < often:
                action[name] = None if chance.random() < 0.05 else make()
        if chance.random() < 0.6:
            action["tool_call"] = chance.choice(("read_file", "bash", ""))
        known = {
            "session_id": "s",
            "event_id": "e",
            "meta": {"timestamp": 0, "trace_id": "t"},
            "identity": {"agent_id": "a", "agent_type": "t"},
            "action": action,
        }
        if chance.random() < 0.9:
            known["cognition"] = {"intent": self.text() if chance.random() < 0.3 else "look it up"}
        return known

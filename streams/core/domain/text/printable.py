r"""Text of agents, files and brokers in a line for people: shown, never obeyed.

A terminal obeys control characters, reorders text after bidirectional controls, and shows nothing for
invisible characters. They become escapes such as ``\x1b``, and so do marks that pile up on one letter.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator
from typing import Final

_MOST_MARKS: Final = 4
"""Marks that one letter keeps. Written languages need three."""

# Letters and symbols that have no shape, or none of their own. `str.isprintable` accepts them.
_BLANK: Final = frozenset("\u115f\u1160\u17b4\u17b5\u2800\u3164\uffa0\u034f\u180b\u180c\u180d\u180f")
_SELECTORS: Final = range(0xE0100, 0xE01F0)


def escaped(text: str) -> str:
    r"""Return the whole text as one line that hides nothing and that no terminal obeys.

    Escaping it again changes nothing.

    >>> escaped("a\n\u202eb")
    'a\\n\\u202eb'
    """
    return text if text.isascii() and text.isprintable() else "".join(_pieces(text))


def printable(text: str, limit: int) -> str:
    r"""Return one line of at most ``limit`` characters.

    Whitespace is folded. An ellipsis stands for what is cut.

    >>> printable("a\n  b \x1b[2J", 40)
    'a b \\x1b[2J'
    >>> printable("a rather long intent", 8)
    'a rathe…'
    """
    line = " ".join(text[: 8 * limit].split())
    if len(line) <= limit and line.isascii() and line.isprintable():
        return line
    shown, length = [], 0
    for piece in _pieces(line):
        shown.append(piece)
        length += len(piece)
        if length > limit:
            break
    else:
        return "".join(shown)
    while length > limit - 1:
        length -= len(shown.pop())
    return "".join(shown) + "…"


def escaped_json(document: str) -> str:
    r"""Return the same JSON document, with each character that `escaped` escapes as JSON's own escape.

    Such characters stand in strings only, so a reader gets the same text back.

    >>> escaped_json('["\x7f\u202e \U000e0041"]')
    '["\\u007f\\u202e \\udb40\\udc41"]'
    """
    if document.isascii() and "\x7f" not in document:
        return document
    pairs = zip(document, _pieces(document), strict=True)
    # A line break stands between values: inside a string every writer of JSON escapes it.
    return "".join(one if one in (piece, "\n") else _json_escape(one) for one, piece in pairs)


def _pieces(text: str) -> Iterator[str]:
    """Yield each character, or its escape."""
    marks = 0
    for character in text:
        is_mark = not character.isascii() and unicodedata.category(character) in {"Mn", "Me"}
        marks = marks + 1 if is_mark else 0
        shown = (
            character.isprintable()
            and marks <= _MOST_MARKS
            and character not in _BLANK
            and ord(character) not in _SELECTORS
        )
        yield character if shown else character.encode("unicode_escape").decode()


def _json_escape(character: str) -> str:
    units = character.encode("utf-16-be", "surrogatepass")
    return "".join(f"\\u{units[at : at + 2].hex()}" for at in range(0, len(units), 2))

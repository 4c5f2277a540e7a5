"""The values at the head of an input, to recognise its format: also of a document that the head cuts."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Any, Final

from streams.formats.adapters.record import UNDECODABLE, decoded

_LINES_SNIFFED: Final = 20
_TOKEN: Final = re.compile(rb'"(?:[^"\\]|\\.)*+"|[\[\]{},]|"', re.DOTALL)
_CLOSERS: Final = {b"{": b"}", b"[": b"]"}
_DEEPEST: Final = 200


@lru_cache(maxsize=2)
def head_values(head: bytes) -> tuple[Any, ...]:
    r"""Return the document that a head begins, or the values of its first lines.

    >>> head_values(b'{"a": 1}\n{"b": 2}\n{"c')
    ({'a': 1}, {'b': 2})
    >>> head_values(b'{"steps": [{"n": 1}, {"n": 2, "text": "cut of')
    ({'steps': [{'n': 1}, {'n': 2}]},)
    """
    if not head.lstrip().startswith((b"{", b"[")):
        return ()
    whole = decoded(head)
    if whole is not UNDECODABLE:
        return (whole,)
    lines = [value for line in head.splitlines()[:_LINES_SNIFFED] if isinstance(value := decoded(line), dict)]
    if lines:
        return tuple(lines)
    begun = decoded(_closed(head))
    return () if begun is UNDECODABLE else (begun,)


def head_objects(head: bytes) -> list[dict[str, Any]]:
    """Return the objects at a head; lines that are no objects are passed over."""
    found = [value for value in head_values(head) if isinstance(value, dict)]
    if not found:
        found = [value for line in head.splitlines() if isinstance(value := decoded(line), dict)]
    return found


def _closed(head: bytes) -> bytes:
    """Return a document cut anywhere up to its last whole part, with every bracket closed."""
    opened: list[bytes] = []
    end, closers = 0, b""
    for token in _TOKEN.finditer(head):
        found = token[0]
        if found in _CLOSERS:
            if len(opened) >= _DEEPEST:
                break
            opened.append(_CLOSERS[found])
            end, closers = token.end(), b"".join(reversed(opened))
        elif found == b",":
            end, closers = token.start(), b"".join(reversed(opened))
        elif found in (b"]", b"}"):
            if not opened:
                break
            opened.pop()
            end, closers = token.end(), b"".join(reversed(opened))
        elif found == b'"':
            break  # a text that the head cuts
    return head[:end] + closers

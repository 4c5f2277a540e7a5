"""Texts as sets of words, and how much two of them share."""

from __future__ import annotations

import re

_USED = 4_000
_RUN = re.compile(r"[^\W_]+")
# Lower case where there is one, a blank for everything in ASCII that is neither letter nor digit.
_WORDS = bytes(ord(chr(byte).lower() if chr(byte).isalnum() else " ") for byte in range(128)) + bytes(128)


def tokens(text: str | None) -> frozenset[str]:
    """Return the words of a text: runs of Unicode letters and digits, lower-cased (SEMANTICS 3.3).

    Only the first 4,000 characters count. Underscore and punctuation separate. None has no words.

    >>> sorted(tokens("Alpha-BETA, gamma_1!"))
    ['1', 'alpha', 'beta', 'gamma']
    """
    if not text:
        return frozenset()
    used = text[:_USED]
    if used.isascii():
        return frozenset(used.encode("ascii").translate(_WORDS).decode("ascii").split())
    # The pattern is slow, so it only sees what stands between blanks and is no word yet, and each piece once.
    words = set()
    for piece in set(used.lower().split()):
        if piece.isalnum():
            words.add(piece)
        else:
            words.update(_RUN.findall(piece))
    return frozenset(words)


def jaccard(a: frozenset[str], b: frozenset[str]) -> float:
    """Return |a and b| / |a or b|, unrounded, from 0 to 1; 0 when both are empty (SEMANTICS 3.3).

    >>> jaccard(frozenset({"x", "y"}), frozenset({"y"}))
    0.5
    """
    shared = len(a & b)
    either = len(a) + len(b) - shared
    return shared / either if either else 0.0

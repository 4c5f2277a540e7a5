"""Texts as sets of words, and how much two of them share."""

from __future__ import annotations

import re

#: Characters of a text that count.
USED = 4_000
_RUN = re.compile(r"[^\W_]+")
# Lower case where there is one, a blank for everything in ASCII that is neither letter nor digit.
_WORDS = bytes(ord(chr(byte).lower() if chr(byte).isalnum() else " ") for byte in range(128)) + bytes(128)
# The same, and what is not in ASCII stays as it is.
_PIECES = _WORDS[:128] + bytes(range(128, 256))


def words(text: str | None) -> dict[str, None]:
    """Return the words of a text in the order in which they first occur (specification 3.3).

    Words are runs of Unicode letters and digits, lower-cased; underscore and punctuation separate. Only the
    first 4,000 characters count. None has no words.

    >>> [*words("Alpha-BETA, gamma_1 beta!")]
    ['alpha', 'beta', 'gamma', '1']
    """
    if not text:
        return {}
    used = text[:USED]
    if used.isascii():
        return dict.fromkeys(used.encode("ascii").translate(_WORDS).decode("ascii").split())
    # The pattern is slow, so it sees only pieces that are no word yet. In lower case first: that of a letter
    # may depend on its neighbours.
    lower = used.lower().encode("utf-8", "surrogatepass").translate(_PIECES)
    pieces = dict.fromkeys(lower.decode("utf-8", "surrogatepass").split())
    if all(map(str.isalnum, pieces)):
        return pieces
    found: dict[str, None] = {}
    for piece in pieces:
        if piece.isalnum():
            found[piece] = None
        else:
            found.update(dict.fromkeys(_RUN.findall(piece)))
    return found


def tokens(text: str | None) -> frozenset[str]:
    """Return the words of a text as a set.

    >>> sorted(tokens("Alpha-BETA, gamma_1!"))
    ['1', 'alpha', 'beta', 'gamma']
    """
    return frozenset(words(text))


def jaccard(a: frozenset[str], b: frozenset[str]) -> float:
    """Return |a and b| / |a or b|, unrounded, from 0 to 1; 0 when both are empty (specification 3.3).

    >>> jaccard(frozenset({"x", "y"}), frozenset({"y"}))
    0.5
    """
    shared = len(a & b)
    either = len(a) + len(b) - shared
    return shared / either if either else 0.0

"""Short fingerprints that stand for texts in state and output."""

from __future__ import annotations

from hashlib import sha256
from typing import Final

#: Digits that are kept of a digest which the next record is compared with, and nothing else: 36 bits. One of
#: 68 billion records looks like another one before it.
COMPARED: Final = 9


def digest(text: str | None) -> str | None:
    """Return the first 16 hex digits of SHA-256 over UTF-8 (specification 1.6); None for None.

    A lone surrogate, which UTF-8 cannot write, counts as the three bytes it would have, so no text raises.

    >>> digest("abc"), digest(None)
    ('ba7816bf8f01cfea', None)
    """
    if text is None:
        return None
    return sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:16]


def digest_and_longer(text: str, end: str) -> tuple[str, str]:
    """Return the digests of a text and of the same text with an end, reading the text once.

    >>> digest_and_longer("abc", "def") == (digest("abc"), digest("abcdef"))
    True
    """
    hashed = sha256(text.encode("utf-8", "surrogatepass"))
    first = hashed.hexdigest()[:16]
    hashed.update(end.encode())
    return first, hashed.hexdigest()[:16]

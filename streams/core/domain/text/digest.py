"""Texts as they are kept in a session's state: fingerprints, and short texts that stay comparable."""

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


LONGEST_TEXT = 1024
LONGEST_HASH = 16

MOST_JSON_BYTES = 6 * LONGEST_TEXT + 22
"""Bytes of a bounded text in JSON: a control character takes six. Then ellipsis, digest, quotes, comma."""


def bounded(text: str, longest: int = LONGEST_TEXT) -> str:
    """Keep a text of up to 1,024 characters as it is, a longer one as its beginning and its digest.

    Two bounded texts are equal exactly when the texts were, because only a cut text is longer than 1,024
    characters. What a reader sees of a long text is its first 1,024 characters, an ellipsis and the digest.
    ``longest`` is another number of characters, to be the same wherever texts are compared.

    >>> bounded("short"), len(bounded("x" * 5000))
    ('short', 1041)
    """
    return text if len(text) <= longest else f"{text[:longest]}…{digest(text)}"


def bounded_hash(content_hash: str) -> str:
    """Keep a content hash of up to 16 characters as it is, a longer one as ``#`` and its digest.

    >>> bounded_hash("9f86d081"), len(bounded_hash("e3b0c44298fc1c149afbf4c8996fb92427ae41e4"))
    ('9f86d081', 17)
    """
    return content_hash if len(content_hash) <= LONGEST_HASH else f"#{digest(content_hash)}"

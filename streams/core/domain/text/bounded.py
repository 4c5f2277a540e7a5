"""Texts as they are kept in a session's state: short, and still exactly comparable."""

from __future__ import annotations

from streams.core.domain.text.digest import digest

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

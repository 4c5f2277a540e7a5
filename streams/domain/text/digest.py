"""Short fingerprints that stand for texts in state and output."""

from __future__ import annotations

from hashlib import sha256


def digest(text: str | None) -> str | None:
    """Return the first 16 hex digits of SHA-256 over UTF-8 (specification 1.6); None for None.

    A lone surrogate, which UTF-8 cannot write, counts as the three bytes it would have, so no text raises.

    >>> digest("abc"), digest(None)
    ('ba7816bf8f01cfea', None)
    """
    if text is None:
        return None
    return sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:16]

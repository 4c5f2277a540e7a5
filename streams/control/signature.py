"""The signature of a command: a writer of the topic without the key writes nothing that a guard obeys.

The header is ``eddy-mac: v1 <key id> <hex>``: HMAC-SHA256 of the value as it is on the topic. The id of a
key is the beginning of its SHA-256, so that a guard with two keys knows which one a command is signed with.
"""

from __future__ import annotations

import hmac
from collections.abc import Iterable, Sequence
from enum import StrEnum, unique
from hashlib import sha256
from typing import Final

HEADER: Final = "eddy-mac"
_VERSION: Final = b"v1"
_KEY_ID_DIGITS: Final = 8
_PARTS: Final = 3


@unique
class Signature(StrEnum):
    """What a reader with keys finds."""

    VALID = "valid"
    ABSENT = "absent"
    UNKNOWN_KEY = "unknown_key"
    """Signed with a key that this reader does not have."""
    WRONG = "wrong"
    """The value is not the one that was signed, or the header cannot be read."""


def key_id(key: bytes) -> str:
    """Return by what a key is named.

    >>> key_id(b"a key of sixteen")
    '97e85fdf'
    """
    return sha256(key).hexdigest()[:_KEY_ID_DIGITS]


def signed(value: bytes, key: bytes) -> tuple[str, bytes]:
    """Return the header that signs a value."""
    mac = hmac.new(key, value, sha256).hexdigest()
    return HEADER, b" ".join((_VERSION, key_id(key).encode(), mac.encode()))


def verified(value: bytes, headers: Sequence[tuple[str, bytes | None]], keys: Iterable[bytes]) -> Signature:
    """Return whether a value is signed with one of the keys. The first header counts."""
    found = next((content for name, content in headers if name == HEADER), None)
    if found is None:
        return Signature.ABSENT
    parts = found.split(b" ")
    if len(parts) != _PARTS or parts[0] != _VERSION:
        return Signature.WRONG
    for key in keys:
        if parts[1] == key_id(key).encode():
            right = hmac.compare_digest(signed(value, key)[1], found)
            return Signature.VALID if right else Signature.WRONG
    return Signature.UNKNOWN_KEY

"""The ids of commands and of audit records."""

from __future__ import annotations

from hashlib import sha256
from typing import Final
from uuid import UUID

_RANDOM_BYTES: Final = 10
_VERSION: Final = 7 << 76
_VARIANT: Final = 2 << 62
_VERSION_BITS: Final = 0xF << 76
_VARIANT_BITS: Final = 3 << 62


def uuid7(at: int, chance: bytes) -> str:
    """Return a UUID of version 7: ids that are made later sort later.

    Args:
        at: Time of the id, in milliseconds since 1970.
        chance: Ten random bytes that make the id unique.

    >>> uuid7(1_760_000_000_000, bytes(10))
    '0199c82c-c000-7000-8000-000000000000'

    Raises:
        ValueError: the time does not fit into 48 bits, or these are not ten bytes.
    """
    if len(chance) != _RANDOM_BYTES or not 0 <= at < 1 << 48:
        raise ValueError("a UUID of version 7 takes a time of 48 bits and ten bytes of chance")
    value = at << 80 | int.from_bytes(chance)
    value = value & ~_VERSION_BITS & ~_VARIANT_BITS | _VERSION | _VARIANT
    return str(UUID(int=value))


def automatic_id(rule: str, episode_id: str, action: str) -> str:
    """Return the id of what a policy asks for: the same on every console, and after a restart.

    >>> automatic_id("pause-costly-loops", "648a091e5f3486a0", "pause")
    'auto-841357da438b11f9d497ae36d074890d'
    """
    parts = (rule, episode_id, action)
    exact = b"".join(len(part.encode()).to_bytes(4) + part.encode() for part in parts)
    return f"auto-{sha256(exact).hexdigest()[:32]}"

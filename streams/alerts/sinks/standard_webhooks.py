"""The signature of Standard Webhooks, so that a receiver knows who sent a message, and when.

https://www.standardwebhooks.com. Libraries for many languages check it.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
from collections.abc import Mapping, Sequence
from typing import Final
from urllib.parse import quote

from streams.core.errors import ConfigurationError

_PREFIX: Final = "whsec_"
_SHORTEST, _LONGEST = 24, 64
_LONGEST_ID: Final = 1_000


def keys(secrets: str) -> tuple[bytes, ...]:
    """Return the keys of secrets that are separated by blanks: two of them while one replaces the other.

    Raises:
        ConfigurationError: one is no secret; the message does not show it.
    """
    found = tuple(map(_key, secrets.split()))
    if not found:
        raise ConfigurationError("The secret of the webhook is empty.")
    return found


def signed(keys: Sequence[bytes], id_: str, timestamp: int, body: bytes) -> Mapping[str, str]:
    """Return the three headers.

    Args:
        keys: Keys, each of which signs.
        id_: The same for each repeat, so that a receiver can drop those. See `message_id`.
        timestamp: Seconds since 1970, of this try.
        body: Bytes that the request sends.
    """
    content = f"{id_}.{timestamp}.".encode() + body
    signatures = (base64.b64encode(hmac.digest(key, content, hashlib.sha256)).decode() for key in keys)
    return {
        "webhook-id": id_,
        "webhook-timestamp": str(timestamp),
        "webhook-signature": " ".join(f"v1,{signature}" for signature in signatures),
    }


def message_id(id_: str) -> str:
    r"""Return an id as a header can carry it: one line of ASCII, and not too long.

    >>> message_id("s-1/0/6/loop_episode/opened"), message_id("a b\n")
    ('s-1/0/6/loop_episode/opened', 'a%20b%0A')
    """
    safe = quote(id_, safe="/:@!$&'()*+,;=", errors="replace")
    return safe if len(safe) <= _LONGEST_ID else hashlib.sha256(safe.encode()).hexdigest()


def _key(secret: str) -> bytes:
    try:
        key = base64.b64decode(secret.removeprefix(_PREFIX), validate=True)
    except binascii.Error:
        key = b""
    if not secret.startswith(_PREFIX) or not _SHORTEST <= len(key) <= _LONGEST:
        raise ConfigurationError(
            f"The secret of the webhook must be {_PREFIX} and {_SHORTEST} to {_LONGEST} bytes in base64, as "
            'this prints one: echo "whsec_$(openssl rand -base64 32)"'
        )
    return key

"""Whether a command was written by who has a key: `eddy-mac: v1 <key id> <HMAC-SHA256 of the value>`."""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Sequence

HEADER = "eddy-mac"


def refusal(value: bytes, headers: Sequence[tuple[str, bytes | None]], keys: Sequence[bytes]) -> str | None:
    """Return why a command is not obeyed, None if it is. Without any key every command is."""
    if not keys:
        return None
    found = next((content for name, content in headers if name == HEADER), None)
    if found is None:
        return "it is not signed"
    parts = found.split(b" ")
    if len(parts) != 3 or parts[0] != b"v1":
        return "its signature cannot be read"
    key = next((key for key in keys if parts[1] == hashlib.sha256(key).hexdigest()[:8].encode()), None)
    if key is None:
        return "it is signed with another key"
    right = hmac.compare_digest(parts[2], hmac.new(key, value, hashlib.sha256).hexdigest().encode())
    return None if right else "its signature is wrong"

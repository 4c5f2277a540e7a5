"""JSON values."""

from __future__ import annotations

from typing import Any

import orjson

from schemas.reason import Reason, UndecodableError


def read_json(data: bytes, start: int) -> dict[str, Any]:
    """Return the object that ``data[start:]`` holds. Unknown fields stay in it; validation judges them.

    Raises:
        UndecodableError: it is not JSON (RFC 8259), or not an object.
    """
    try:
        record = orjson.loads(data[start:] if start else data)
    except ValueError as error:
        raise UndecodableError(
            Reason.UNDECODABLE, "the value begins like a JSON object but is none"
        ) from error
    if not isinstance(record, dict):
        raise UndecodableError(Reason.UNDECODABLE, "the value is JSON but not an object")
    return record

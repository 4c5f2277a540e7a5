"""The definition of a schema as text that may come from anybody, decoded within limits."""

from __future__ import annotations

import json
from typing import Any, Final

from schemas.avro_cost import UnreadableSchemaError

MOST_CHARACTERS: Final = 1 << 20
"""Longest text of a schema: registries keep it in one Kafka record, which takes no more by default."""

MOST_PARTS: Final = 50_000
"""JSON values of all kinds in a definition."""

MOST_DEPTH: Final = 400
"""Of JSON values in one another."""

LONGEST_NAME: Final = 1_000
"""Characters of a text that can be part of names. Each type has a full name, with that of its namespace."""


def definition(text: str) -> Any:
    """Return the decoded JSON.

    Raises:
        UnreadableSchemaError: it is not JSON, or larger than one of the limits, which the message names.
    """
    if len(text) > MOST_CHARACTERS:
        raise UnreadableSchemaError(
            f"it has {len(text)} characters, more than the limit of {MOST_CHARACTERS}"
        )
    try:
        decoded = json.loads(text)
    except RecursionError:
        raise UnreadableSchemaError(f"its JSON is more than {MOST_DEPTH} levels deep") from None
    except ValueError as error:
        raise UnreadableSchemaError("it is not JSON") from error
    _check(decoded)
    return decoded


def _check(decoded: Any) -> None:
    level, parts = [decoded], 0
    for _ in range(MOST_DEPTH):
        parts += len(level)
        if parts > MOST_PARTS:
            raise UnreadableSchemaError(f"it has more parts than the limit of {MOST_PARTS}")
        below: list[Any] = []
        for value in level:
            if isinstance(value, dict):
                _check_names(value)
                below += value.values()
            elif isinstance(value, list):
                below += value
        if not below:
            return
        level = below
    raise UnreadableSchemaError(f"its JSON is more than {MOST_DEPTH} levels deep")


def _check_names(part: dict[str, Any]) -> None:
    for key in ("name", "namespace"):
        name = part.get(key)
        if isinstance(name, str) and len(name) > LONGEST_NAME:
            raise UnreadableSchemaError(f"it has a {key} of more than {LONGEST_NAME} characters")

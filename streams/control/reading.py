"""Read the fields of a record that another program may have written.

Each function raises MalformedError with the name of a field that is not what it should be, never with its
value.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from streams.core.errors import EddyError


class MalformedError(EddyError):
    """A record of the control loop is not what its schema says. It is left out, and its place named."""


def text(fields: Mapping[str, Any], name: str) -> str:
    """Return a field that must be text."""
    value = fields.get(name)
    if not isinstance(value, str):
        raise MalformedError(f"{name} must be text")
    return value


def optional_text(fields: Mapping[str, Any], name: str) -> str | None:
    """Return a field that may be text or null."""
    return None if fields.get(name) is None else text(fields, name)


def number(fields: Mapping[str, Any], name: str) -> int:
    """Return a field that must be a whole number."""
    value = fields.get(name)
    if not isinstance(value, int) or isinstance(value, bool):
        raise MalformedError(f"{name} must be a whole number")
    return value


def optional_number(fields: Mapping[str, Any], name: str) -> int | None:
    """Return a field that may be a whole number or null."""
    return None if fields.get(name) is None else number(fields, name)


def block(fields: Mapping[str, Any], name: str) -> Mapping[str, Any] | None:
    """Return a field that may be an object or null."""
    value = fields.get(name)
    if value is None or isinstance(value, Mapping):
        return value
    raise MalformedError(f"{name} must be an object")

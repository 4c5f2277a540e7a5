"""The statuses of a record, and the letters that stand for them in stored state."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

LETTERS: Mapping[str, str] = MappingProxyType(
    {"success": "s", "failure": "f", "skipped": "k", "pending": "p"}
)
STATUSES: Mapping[str, str] = MappingProxyType({letter: status for status, letter in LETTERS.items()})

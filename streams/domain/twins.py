"""What exists twice, in Python and in the native core: the one of both that is in use."""

from __future__ import annotations

from typing import Final

from streams.domain.decision import Decision
from streams.domain.validation import known_fields
from streams.native import NATIVE

__all__ = ["DECISION", "known_fields"]

if NATIVE.in_use:
    from streams.domain.native_decision import NativeDecision, known_fields

DECISION: Final[type[Decision]] = NativeDecision if NATIVE.in_use else Decision
"""What a record is made."""

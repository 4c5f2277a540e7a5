"""What exists twice, in Python and in the native core: the one of both that is in use."""

from __future__ import annotations

from typing import Final

from streams.core.domain.decision import Decision
from streams.core.domain.validation import known_fields
from streams.core.native import NATIVE

__all__ = ["DECISION", "known_fields"]

if NATIVE.in_use:
    from streams.core.domain.native_decision import NativeDecision, known_fields

DECISION: Final[type[Decision]] = NativeDecision if NATIVE.in_use else Decision
"""What a record is made."""

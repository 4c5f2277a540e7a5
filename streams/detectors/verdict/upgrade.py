"""States of the verdict that earlier versions of Eddy stored."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from streams.detectors.verdict.past import unknown
from streams.detectors.verdict.state import VerdictState

_PAST = VerdictState._fields.index("past")
_MOMENTS = VerdictState._fields.index("moments")
# Fields until there was R7. Before there was R6, the last of them was missing.
_BEFORE_R7 = 21


def upgraded(stored: Sequence[Any]) -> Sequence[Any]:
    """Return a stored state in the form of this version.

    Before there was R7, the window held signatures, which say neither what was called nor what came of it.
    So no record is a return to one of them: the score counts from the upgrade on.
    """
    if len(stored) > _BEFORE_R7:
        return stored
    return [*stored[:_PAST], unknown(len(stored[_MOMENTS])), *stored[_PAST + 1 :]]

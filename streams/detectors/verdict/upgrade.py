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
# Those that a version has stored; R8 came last.
_STORED = (_BEFORE_R7 - 1, _BEFORE_R7, len(VerdictState._fields) - 1, len(VerdictState._fields))


def upgraded(stored: Sequence[Any]) -> Sequence[Any]:
    """Return a stored state in the form of this version.

    Before there was R7, the window held signatures, which say neither what was called nor what came of it.
    So no record is a return to one of them: the score counts from the upgrade on.

    Raises:
        ValueError: no version stored so many fields.
    """
    if len(stored) not in _STORED:
        raise ValueError(f"a state of the verdict has {len(stored)} fields")
    if len(stored) > _BEFORE_R7:
        return stored
    return [*stored[:_PAST], unknown(len(stored[_MOMENTS])), *stored[_PAST + 1 :]]

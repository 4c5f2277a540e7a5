"""States of the verdict that earlier versions of Eddy stored."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from streams.detectors.verdict.moments import as_moments
from streams.detectors.verdict.past import unknown
from streams.detectors.verdict.state import RECENT, VerdictState

_SIGNATURES = VerdictState._fields.index("signatures")
_PAST = VerdictState._fields.index("past")
_MOMENTS = VerdictState._fields.index("moments")
# Fields of format 1. Before there was R6, the last of them was missing.
_FORMAT_1 = (20, 21)
# Fields before a state knew the round of its newest record.
_WITHOUT_ROUND = len(VerdictState._fields) - 1


def upgraded(stored: Sequence[Any]) -> Sequence[Any]:
    """Return a stored state in the form of this version.

    In format 1 the window held signatures, which say neither what was called nor what came of it. So no
    record is a return to one of them: the score counts from the upgrade on. Signatures and moments of the
    newest records were lists.

    Raises:
        ValueError: no version stored so many fields.
    """
    if len(stored) in (_WITHOUT_ROUND, len(VerdictState._fields)):
        return stored
    if len(stored) not in _FORMAT_1:
        raise ValueError(f"a state of the verdict has {len(stored)} fields")
    changed = [*stored]
    changed[_SIGNATURES] = "".join(stored[_SIGNATURES])
    changed[_MOMENTS] = as_moments(stored[_MOMENTS], RECENT)
    changed[_PAST] = unknown(len(stored[_MOMENTS]))
    return changed

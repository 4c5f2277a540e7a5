"""States of the verdict that earlier versions of Eddy stored."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from streams.core.detectors.verdict.moments import EACH
from streams.core.detectors.verdict.state import VerdictState

# Fields of the formats before this one, and where in them stands what is kept: judged, tokens,
# infrastructure errors, the moments of the newest records, the keys, the open episode.
_FORMATS = (20, 21, 25, 26)
_MOMENTS, _KEYS, _EPISODE = 6, 18, 19


def upgraded(stored: Sequence[Any]) -> VerdictState:
    """Return a stored state in the form of this version.

    Rows and scores of earlier formats count by other definitions: they begin anew. Open episodes stay open.

    Raises:
        ValueError: no version stored so many fields.
    """
    if len(stored) == len(VerdictState._fields):
        return VerdictState(*stored)
    if len(stored) not in _FORMATS:
        raise ValueError(f"a state of the verdict has {len(stored)} fields")
    judged, tokens, infra_streak = stored[:3]
    moments = stored[_MOMENTS]
    # Once they were lists of their own, oldest first.
    newest = moments[-1] if moments and isinstance(moments[0], Sequence) else moments[:EACH]
    return VerdictState(
        judged=judged,
        steps=judged,
        tokens=tokens,
        infra_streak=infra_streak,
        moments=newest,
        newest_place=newest[:2],
        keys=stored[_KEYS],
        episode=stored[_EPISODE],
    )

"""What a step is beside those before it, and the stuck score after it, for the page of a session."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from streams.console.step import Step
from streams.core.detectors.verdict.stuck_words import MEANINGS

_MEANINGS: Mapping[str, str] = {kind.value: means for kind, means in MEANINGS.items()}


def stuck_step(step: Step, numbers: Mapping[tuple[int, int], int]) -> dict[str, Any] | None:
    """Return the kind of a step; None for one that was not judged, or by a version without the score.

    Keys: ``kind``; ``means``, in words; ``points``; ``sign`` of them, ``plus``, ``minus`` or ``none``;
    ``score`` after the step; ``offset`` and ``number`` of the earlier step, each None if it is not known.

    Args:
        step: The step.
        numbers: Number of each step at hand, by partition and offset.
    """
    stuck = (step.record["eddy"].get("verdict") or {}).get("stuck")
    if stuck is None:
        return None
    points, offset = stuck["points"], stuck["refers_to"]
    return {
        "kind": stuck["kind"],
        "means": _MEANINGS.get(stuck["kind"], stuck["kind"]),
        "points": f"{points:+g}" if points else "0",
        "sign": "plus" if points > 0 else "minus" if points < 0 else "none",
        "score": stuck["score"],
        "offset": offset,
        "number": None if offset is None else numbers.get((step.partition, offset)),
    }

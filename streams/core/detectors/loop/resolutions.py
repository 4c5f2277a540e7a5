"""The four detectors of A4, from the sharpest to the coarsest (specification 5.4)."""

from __future__ import annotations

from typing import Any

from streams.core.detectors.loop.settings import LoopSettings
from streams.core.detectors.loop.state import LoopState
from streams.core.domain.text.marks import Marks

OSCILLATION_CONFIDENCE = 0.95
DEAD_END_CONFIDENCE = 0.8


def exact_hash(state: LoopState, step: int, settings: LoopSettings) -> dict[str, Any] | None:
    """Detect the same call with the same status and result, again and again without a break.

    >>> DEFAULTS = LoopSettings()
    >>> exact_hash(LoopState(size=10, equal=2), 12, DEFAULTS)
    {'confidence': 1.0, 'steps': [11, 12]}
    """
    threshold = settings.exact_hash_threshold
    if state.equal < threshold or state.size < threshold:
        return None
    return _detection(1.0, min(state.equal, state.size), step)


def semantic(before: Marks, newest: Marks, step: int, settings: LoopSettings) -> dict[str, Any] | None:
    """Detect a step that shares nearly all its words with the one just before.

    >>> DEFAULTS = LoopSettings()
    >>> eight = "alpha beta gamma delta epsilon zeta eta theta".split()
    >>> semantic(Marks.of(eight), Marks.of([*eight, "iota"]), 2, DEFAULTS)
    {'confidence': 0.8889, 'steps': [1, 2]}
    """
    similarity = newest.similarity(before, settings.semantic_threshold)
    return None if similarity is None else _detection(similarity, 2, step)


def oscillation(state: LoopState, step: int, settings: LoopSettings) -> dict[str, Any] | None:
    """Detect two different actions that take turns, whatever their results are.

    `cycles` counts complete pairs.

    >>> DEFAULTS = LoopSettings()
    >>> oscillation(LoopState(size=10, alternating=7), 7, DEFAULTS)
    {'confidence': 0.95, 'steps': [1, 2, 3, 4, 5, 6, 7], 'cycles': 3}
    """
    threshold = settings.oscillation_threshold
    if state.alternating // 2 < threshold or state.size // 2 < threshold:
        return None
    run = min(state.alternating, state.size)
    cycles = run // 2
    return {**_detection(OSCILLATION_CONFIDENCE, run, step), "cycles": cycles}


def dead_end(state: LoopState, step: int, settings: LoopSettings) -> dict[str, Any] | None:
    """Detect a number of steps in a row that made no progress.

    >>> DEFAULTS = LoopSettings()
    >>> dead_end(LoopState(size=10, stuck=7), 9, DEFAULTS)
    {'confidence': 0.8, 'steps': [5, 6, 7, 8, 9]}
    """
    asked = settings.dead_end_threshold
    if state.stuck < asked or state.size < asked:
        return None
    return _detection(DEAD_END_CONFIDENCE, asked, step)


def _detection(confidence: float, run: int, step: int) -> dict[str, Any]:
    """Return what a detector reports: the last ``run`` steps, by number, oldest first."""
    return {"confidence": confidence, "steps": [*range(step - run + 1, step + 1)]}

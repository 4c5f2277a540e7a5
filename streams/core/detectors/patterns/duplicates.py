"""How much of the window is the same thing done to the same content (specification 5.3, duplicate_mass)."""

from __future__ import annotations

from streams.core.detectors.patterns.state import PatternsState
from streams.core.domain.shared_window import NOTHING


def duplicates(state: PatternsState) -> tuple[int, int]:
    """Return the duplicate mass and the greatest multiplicity of the window.

    The mass is the number of records with a target whose (tool, target, hash) occurs at least twice; the
    multiplicity is the largest such count, 0 without any target.

    >>> from streams.core.detectors.patterns.version_window import version
    >>> versions = [version("cat", "a.py", "h0"), version("cat", "b.py", "h0")]
    >>> duplicates(PatternsState("rrrr", versions, "AABB"))
    (4, 2)
    >>> duplicates(PatternsState("r", versions[:1], "A"))
    (0, 1)
    """
    places, different = state.places, len(state.versions) - state.versions.count(None)
    if different == 0:
        return 0, 0
    if different == len(places) - places.count(NOTHING):
        return 0, 1
    counted = map(places.count, {*places} - {NOTHING})
    repeated = [count for count in counted if count > 1]
    return sum(repeated), max(repeated)

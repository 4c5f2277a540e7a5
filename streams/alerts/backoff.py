"""How long to wait before a delivery is tried again, and when it is given up."""

from __future__ import annotations

from typing import Final

FIRST_S: Final = 1.0
LONGEST_S: Final = 300.0
GIVE_UP_S: Final = 86_400.0
"""A receiver may be away for a day."""

_SHORTEST_S: Final = 0.1


def wait_s(tries: int, chance: float) -> float:
    """Return how long to wait after so many tries.

    It is "full jitter": any time up to a limit that doubles, so that those who wait do not return together.

    Args:
        tries: At least 1.
        chance: 0 to 1, at random.

    >>> wait_s(1, 0.5), wait_s(4, 1.0), wait_s(100, 1.0)
    (0.5, 8.0, 300.0)
    """
    limit = min(LONGEST_S, FIRST_S * 2.0 ** min(tries - 1, 20))
    return max(_SHORTEST_S, limit * chance)

"""How long a guard waits before it tries again to reach the operators."""

from __future__ import annotations

import random
from collections.abc import Callable

_FIRST_S = 0.5
_LONGEST_S = 5.0
"""So late may a command be once the other side is back. An agent that is to pause goes on until then."""


class Retry:
    """Waits that double up to a limit, by chance up to a half shorter: guards must not all return at once.

    Args:
        chance: 0 to 1, at random.

    >>> retry = Retry(lambda: 1.0)
    >>> [retry.failed() for _ in range(6)]
    [0.5, 1.0, 2.0, 4.0, 5.0, 5.0]
    >>> retry.worked()
    >>> retry.failed()
    0.5
    """

    def __init__(self, chance: Callable[[], float] = random.random) -> None:
        self._chance = chance
        self._next_s = _FIRST_S

    def worked(self) -> None:
        """Note that the other side is there."""
        self._next_s = _FIRST_S

    def failed(self) -> float:
        """Return how many seconds to wait."""
        wait_s, self._next_s = self._next_s, min(_LONGEST_S, 2 * self._next_s)
        return wait_s * (0.5 + self._chance() / 2)

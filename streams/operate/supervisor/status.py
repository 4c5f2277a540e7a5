"""Which exit status speaks for several workers. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

#: Statuses of a worker (docs/operations.md) from bad to worse: the more a person has to do before a restart
#: helps, the worse. A status that is not here is a signal: worse than a stall, since it may come again.
_WAITING_HELPS: Final = (0, 3, 70)
_A_PERSON_HELPS: Final = (1, 2)


def worst(statuses: Mapping[int, int]) -> int:
    """Return the number of the worker whose exit status is the worst; the first of several.

    >>> worst({1: 0, 2: 3, 3: 137, 4: 70})
    3
    >>> worst({1: 137, 2: 2, 3: 2})
    2
    """
    return max(statuses, key=lambda number: _badness(statuses[number]))


def _badness(status: int) -> int:
    if status in _WAITING_HELPS:
        return _WAITING_HELPS.index(status)
    if status in _A_PERSON_HELPS:
        return 100 + _A_PERSON_HELPS.index(status)
    return 50

"""How often something came in a row, and where that began."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeAlias

# [offset, timestamp in ms, tokens of the session so far, its cost so far or None] of one record.
Moment: TypeAlias = Sequence[Any]

# [count, moment of the first, whether they differ in what the rule asks about], empty below two. Two
# records are the least a row can be, and most sessions have none, so a single record takes no room.
Streak: TypeAlias = Sequence[Any]

# [steps of one time round, steps that equal those a round before, steps that do not, moment of the first that
# did], empty without one.
Circle: TypeAlias = Sequence[Any]

NO_STREAK: Streak = ()


def longer(streak: Streak, previous: Moment, *, varies: bool = False) -> Streak:
    """Return the streak with one more; one of two begins with the ``previous`` record.

    >>> longer(longer((), [7, 0, 0, None]), [8, 1000, 0, None], varies=True)
    (3, [7, 0, 0, None], True)
    """
    if not streak:
        return (2, previous, varies)
    count, onset, varied = streak
    return (count + 1, onset, varied or varies)

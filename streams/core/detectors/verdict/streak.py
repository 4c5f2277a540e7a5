"""How often something came in a row, and where that began.

Where the newest judged records stand, one after another as few numbers.

Newest first, four numbers a record: offset, timestamp, tokens and cost. Offset and timestamp of every record
but the newest are how far it is behind the record after it. A sum of costs would round, so they stay whole.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final, TypeAlias

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


Moments: TypeAlias = Sequence[Any]

#: Numbers of each record.
EACH: Final = 4


def with_one_more(moments: Moments, newest: Moment, most: int) -> Moments:
    """Return the moments of the newest ``most`` records, with that of one more.

    >>> moments = with_one_more((), (7, 1_000, 50, 0.5), 2)
    >>> with_one_more(moments, (9, 3_000, 80, None), 2)
    [9, 3000, 80, None, 2, 2000, 50, 0.5]
    """
    if not moments:
        return [*newest]
    offset, timestamp, tokens, cost = moments[:EACH]
    older = moments[EACH : EACH * (most - 1)]
    return [*newest, newest[0] - offset, newest[1] - timestamp, tokens, cost, *older]


def moment_back(moments: Moments, back: int) -> Moment:
    """Return the moment of the newest record but so many, at least 0.

    >>> moment_back([9, 3_000, 80, None, 2, 2_000, 50, 0.5], 1)
    (7, 1000, 50, 0.5)
    """
    offset, timestamp = moments[:2]
    for at in range(EACH, EACH * (back + 1), EACH):
        offset -= moments[at]
        timestamp -= moments[at + 1]
    tokens, cost = moments[EACH * back + 2 : EACH * (back + 1)]
    return offset, timestamp, tokens, cost

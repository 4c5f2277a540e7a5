"""R9: time that an agent waits without anything new coming out of it (specification 6.5c).

While an agent waits, its calls are not counted: time is.
"""

from __future__ import annotations

from typing import Final

from streams.core.detectors.verdict.answer import has_new_output
from streams.core.detectors.verdict.news import News
from streams.core.detectors.verdict.step import StepKind, VerdictStep
from streams.core.detectors.verdict.streak import NO_STREAK, Moment, Streak
from streams.core.domain.decision import Decision

SENTENCE = "{tools}: {count} looks, and nothing new{since}"

#: Looks from which on waiting counts.
FEWEST: Final = 3

_WAITING: Final = StepKind.WAITING.value
_GOES_ON: Final = frozenset(
    kind.value
    for kind in (
        StepKind.APART,
        StepKind.CANCELLED,
        StepKind.SILENT,
        StepKind.ECHO,
        StepKind.NOTHING_FOUND,
        StepKind.IDLE,
    )
)


def waiting_after(
    waiting: Streak, step: VerdictStep, decision: Decision, news: News, previous: Moment, moment: Moment
) -> Streak:
    """Return ``(looks, begin, newest?)``: how often the agent looked without anything new, and since when.

    Waiting begins with the record before the first look, or with a look that brought something new. It goes
    on over steps that tell nothing, and ends with any other.

    Args:
        waiting: the wait before the record, empty if none.
        step: what the record is.
        decision: the record that may continue it.
        news: what its answer adds to its call.
        previous: where the record before it stands; the record itself, if it is the first.
        moment: offset, time in ms, tokens and cost at the record.
    """
    if step.kind != _WAITING:
        return (waiting[0], waiting[1], False) if waiting and step.kind in _GOES_ON else NO_STREAK
    if not waiting:
        return (1, previous, True)
    if news.fresh and has_new_output(decision.result_text or ""):
        return (1, moment, True)
    return (waiting[0] + 1, waiting[1], True)


def minutes_of(waiting: Streak, newest: int) -> int:
    """Return how many whole minutes an agent has waited at a time in ms, 0 if it does not wait.

    >>> minutes_of((4, [7, 60_000, 0, None], True), 719_999), minutes_of((), 719_999)
    (10, 0)
    """
    if not waiting or waiting[0] < FEWEST:
        return 0
    minutes: int = max(0, newest - waiting[1][1]) // 60_000
    return minutes

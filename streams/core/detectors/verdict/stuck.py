"""R7, the stuck score: steps that bring nothing new raise it, new results lower it (specification 6.5b)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final, NamedTuple, TypeAlias

from streams.core.detectors.verdict.step import VerdictStep
from streams.core.detectors.verdict.streak import Moment

#: The score never rises above this, so that a few new results always end it.
MOST = 8.0


class Stuck(NamedTuple):
    """A score above 0, and how it came about.

    Attributes:
        score: the score, a multiple of a quarter, up to `MOST`.
        onset: the first record that raised it.
        counted: records that raised it since then, that one included.
        kinds: name of each kind of step since then, and the number of its records.
        raised: whether the newest record raised it. R7 fires at no other.
    """

    score: float
    onset: Moment
    counted: int
    kinds: Mapping[str, int]
    raised: bool


#: What holds of a session whose score is 0.
NOT_STUCK: Final[tuple[float, Moment | None, int, Mapping[str, int], bool]] = (0.0, None, 0, {}, False)

# A `Stuck` as it is stored; empty as long as the score is 0, as in most sessions.
StoredStuck: TypeAlias = Sequence[Any]


def stuck_after(stored: StoredStuck, step: VerdictStep, moment: Moment) -> StoredStuck:
    """Return the score after one more step.

    Args:
        stored: score and evidence before the step, empty for none.
        step: kind of the step, and the points it gives.
        moment: offset, time in ms, tokens and cost at its record.

    >>> raised = stuck_after((), VerdictStep("again", 2.0, 7), [8, 1_000, 0, None])
    >>> raised
    (2.0, [8, 1000, 0, None], 1, {'again': 1}, True)
    >>> lowered = stuck_after(raised, VerdictStep("new", -1.0, None), [9, 2_000, 0, None])
    >>> lowered[0], lowered[2:], stuck_after(lowered, VerdictStep("new", -1.0, None), [10, 3_000, 0, None])
    (1.0, (1, {'again': 1, 'new': 1}, False), ())
    """
    kind, points, _ = step
    if stored:
        score, onset, count, kinds, _ = stored
        score += points
        if score <= 0.0:
            return ()
        kinds = {**kinds, kind: kinds.get(kind, 0) + 1}
    elif points > 0.0:
        score, onset, count, kinds = points, moment, 0, {kind: 1}
    else:
        return ()
    raised = points > 0.0
    return (min(MOST, score), onset, count + raised, kinds, raised)

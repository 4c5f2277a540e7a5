"""The first alarm of a session: how late it comes, what acting on it would have spared, was that right."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from typing import Final, NamedTuple

from streams.core.evaluation.estimate import Estimate, bootstrapped, proportion, quantile, ratio

QUARTER: Final = 0.25
MEDIAN: Final = 0.5
MOST: Final = 0.9


class AlarmWait(NamedTuple):
    """How long a session that loops ran until it was noticed.

    Attributes:
        records: records from the onset to the alarm.
        seconds: event time between the two; None where it is not known.
    """

    records: int
    seconds: float | None = None


@dataclass(frozen=True, slots=True)
class Delay:
    """The delays of several sessions that loop.

    Attributes:
        noticed: sessions with an alarm at or after their onset.
        unnoticed: sessions without an alarm from their onset on.
        lower, median, upper: the quartiles of the waits of the sessions that were noticed, in records.
        timed: noticed sessions whose wait is known in seconds.
        median_seconds, most_seconds: median and 90th percentile of these, in seconds of event time.
    """

    noticed: int
    unnoticed: int
    lower: Estimate
    median: Estimate
    upper: Estimate
    timed: int
    median_seconds: Estimate
    most_seconds: Estimate


def wait(
    raised: AbstractSet[int], onset: int, seconds: Callable[[int, int], float | None]
) -> AlarmWait | None:
    """Return the way from the onset to the first alarm at or after it; None when there was no alarm.

    An alarm that came before is no notice, unless it still holds. ``seconds`` says how long it is from one
    record to another.

    >>> wait({1, 5, 6}, 3, lambda first, last: 10 * (last - first)), wait({1}, 3, lambda *_: None)
    (AlarmWait(records=2, seconds=20), None)
    """
    alarm = min((at for at in raised if at >= onset), default=None)
    return None if alarm is None else AlarmWait(alarm - onset, seconds(onset, alarm))


def delay(waits: Sequence[AlarmWait | None], drawn: Sequence[Sequence[int]]) -> Delay:
    """Summarise the waits of sessions that loop; ``drawn`` are resamples of them, noticed or not."""
    records = [None if each is None else each.records for each in waits]
    seconds = [None if each is None else each.seconds for each in waits]
    noticed = sum(each is not None for each in records)
    return Delay(
        noticed,
        len(waits) - noticed,
        bootstrapped(records, quantile_of(QUARTER), drawn),
        bootstrapped(records, quantile_of(MEDIAN), drawn),
        bootstrapped(records, quantile_of(1 - QUARTER), drawn),
        sum(each is not None for each in seconds),
        bootstrapped(seconds, quantile_of(MEDIAN), drawn),
        bootstrapped(seconds, quantile_of(MOST), drawn),
    )


def quantile_of(part: float) -> Callable[[Sequence[float | None]], float | None]:
    """Return what finds the value that this part of the known ones do not exceed.

    >>> quantile_of(MEDIAN)([4, None, 1]), quantile_of(MEDIAN)([None])
    (2.5, None)
    """

    def of(values: Sequence[float | None]) -> float | None:
        known = sorted(each for each in values if each is not None)
        return quantile(known, part) if known else None

    return of


class Spared(NamedTuple):
    """Records of one session, or the tokens that they used.

    Attributes:
        amount: how many there are.
        after: those of them that come after the first alarm.
    """

    amount: float
    after: float


def spared(amounts: Mapping[int, float], alarm: int | None) -> Spared:
    """Add up what the records have, by position, and what those after the alarm have; without one, none.

    >>> spared({4: 1, 5: 1, 6: 3}, 5)
    Spared(amount=5, after=3)
    """
    after = () if alarm is None else (amount for at, amount in amounts.items() if at > alarm)
    return Spared(sum(amounts.values()), sum(after))


def spared_share(sessions: Sequence[Spared]) -> float | None:
    """Return the share of what all these sessions have that comes after an alarm.

    >>> spared_share([Spared(3, 1), Spared(1, 0)])
    0.25
    """
    return ratio(sum(each.after for each in sessions), sum(each.amount for each in sessions))


class RightToStop(NamedTuple):
    """Whether stopping at the first alarm would have been right, over sessions with an alarm and rewards.

    Attributes:
        right: sessions in which no later reward is above that of the record that raises the alarm.
        wrong: sessions in which one is.
        unknown: sessions whose rewards do not tell: none is known at the alarm, or none after it.
        share: share that was right of those that tell.
        no_new_best: share in which no later reward is above the best until the alarm, which may be earlier.
    """

    right: int
    wrong: int
    unknown: int
    share: Estimate
    no_new_best: Estimate


def right_to_stop(sessions: Iterable[tuple[Sequence[float | None], int]]) -> RightToStop:
    """Count sessions, each given by its rewards and the position of its first alarm.

    An alarm on the last record is right.

    >>> found = right_to_stop([([0, 0.5, 0, 0.5], 1), ([1, 0, 0.5], 1), ([0, None], 0)])
    >>> found.right, found.wrong, found.unknown, found.share.value, found.no_new_best.value
    (1, 1, 1, 0.5, 1.0)
    """
    right = best = judged = unknown = 0
    for rewards, alarm in sessions:
        now, later = rewards[alarm], _known(rewards[alarm + 1 :])
        if now is None or (not later and alarm + 1 < len(rewards)):
            unknown += 1
            continue
        judged += 1
        highest = max(later, default=now)
        right += highest <= now
        best += highest <= max(_known(rewards[: alarm + 1]))
    return RightToStop(right, judged - right, unknown, proportion(right, judged), proportion(best, judged))


def _known(rewards: Sequence[float | None]) -> list[float]:
    return [reward for reward in rewards if reward is not None]

"""What waits for its turn at one sink, and how far the sink has got in each partition."""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Final, NamedTuple

from streams.alerts.sinks.sink import Delivery, Digest

REMEMBERED: Final = 200
"""Offsets that wait, each told from those around it that do not: what all sinks have fits into one record."""


class PartlyDelivered(NamedTuple):
    """What a sink has although something before it waits.

    Attributes:
        end: Everything before this offset was delivered,
        waiting: but these, in their order; the first is the mark.
    """

    end: int
    waiting: tuple[int, ...]


class DeliveryProgress:
    """Deliveries end in any order; what counts is the first that has not.

    Args:
        start: What is before it was over before.
        beyond: What is over behind it.

    >>> progress = DeliveryProgress(5)
    >>> for offset in (7, 9):
    ...     progress.begin(offset)
    >>> progress.end(9)
    >>> progress.mark, progress.beyond()
    (7, PartlyDelivered(end=10, waiting=(7,)))
    >>> progress.end(7)
    >>> progress.mark
    10
    """

    def __init__(self, start: int, beyond: PartlyDelivered | None = None) -> None:
        self._start = start
        self._end = self._next = start if beyond is None else max(start, beyond.end)
        #: What waited before the start, and was not read again yet.
        self._expected = [] if beyond is None else [each for each in beyond.waiting if each >= start]
        self._waiting: list[int] = []
        self._read = -1

    @property
    def is_caught_up(self) -> bool:
        """Whether all that was over before the start was read again, so that it is known what it led to."""
        return self._read >= self._end

    @property
    def mark(self) -> int:
        """The offset to go on from after a restart."""
        return min((*self._waiting[:1], *self._expected[:1], self._next))

    def beyond(self) -> PartlyDelivered | None:
        """Return what is over behind the mark, None if nothing is. Of many that wait only the first count."""
        waiting, end = [*self._waiting, *self._expected], self._next
        if len(waiting) > REMEMBERED:
            end = waiting[REMEMBERED]
            del waiting[REMEMBERED:]
        while waiting and waiting[-1] == end - 1:
            end = waiting.pop()
        return PartlyDelivered(end, tuple(waiting)) if waiting else None

    def is_behind(self, offset: int) -> bool:
        """Tell whether what stands at an offset was over before the start."""
        return offset < self._start or (offset < self._end and offset not in self._expected)

    def begin(self, offset: int) -> None:
        """Note a delivery."""
        insort(self._waiting, offset)
        self.read_to(offset + 1)

    def end(self, offset: int) -> None:
        """Note that it is over: it was delivered, replaced, or became a dead letter."""
        at = bisect_left(self._waiting, offset)
        if self._waiting[at : at + 1] == [offset]:
            del self._waiting[at]

    def read_to(self, offset: int) -> None:
        """Note that everything before an offset was read: what is expected there is wanted no more."""
        self._read = max(self._read, offset)
        self._next = max(self._next, offset)
        if self._expected and self._expected[0] < offset:
            self._expected = [each for each in self._expected if each >= offset]


@dataclass(slots=True, eq=False)
class PendingDelivery:
    """What is sent together, and how far it has come. Times in seconds of the outbox's clock.

    Attributes:
        what: What is sent: an alert or a digest.
        covered: Partitions and offsets of all that it settles, replaced deliveries included.
        parts: What a digest is made of.
        due: When it may be sent.
        tries: How often it was sent in vain.
        first_s: When that was first.
        arrived: How many of its requests have arrived.
        repeats: How many repeats are left, -1 for any number; None for what is no repeat.
        in_flight: Whether it is being sent.
        in_digest: Whether a digest takes it along.
        place: Its number in the schedule, 0 if it is not there.
    """

    what: Delivery | Digest
    covered: list[tuple[int, int]] = field(default_factory=list)
    parts: tuple[PendingDelivery, ...] = ()
    due: float = 0.0
    tries: int = 0
    first_s: float | None = None
    arrived: int = 0
    repeats: int | None = None
    in_flight: bool = False
    in_digest: bool = False
    place: int = 0

    @property
    def deliveries(self) -> tuple[Delivery, ...]:
        """What it tells, one by one."""
        return self.what.deliveries if isinstance(self.what, Digest) else (self.what,)

    @property
    def first(self) -> Delivery:
        """The only delivery, or the first one of a digest."""
        return self.deliveries[0]

    @property
    def session_id(self) -> str:
        """The session of the first delivery."""
        return self.first.alert.session_id

    def inherit(self, replaced: PendingDelivery) -> None:
        """Take the place of an earlier one: what it settles, and how long it was tried."""
        self.covered = [*replaced.covered, *self.covered]
        self.tries, self.first_s, self.due = replaced.tries, replaced.first_s, replaced.due


class AlertDeadLetter(NamedTuple):
    """A delivery that is given up: why, and the status and the beginning of the last answer."""

    delivery: Delivery
    why: str
    status: int
    body: bytes


def together(parts: Iterable[PendingDelivery]) -> PendingDelivery:
    """Return a digest."""
    gathered = tuple(parts)
    return PendingDelivery(Digest(tuple(each.first for each in gathered)), parts=gathered)

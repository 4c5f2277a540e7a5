"""A delivery, a digest or a repeat that waits for its turn at one sink."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import NamedTuple

from streams.alerts.sinks.delivery import Delivery, Digest


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

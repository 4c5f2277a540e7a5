"""When what waits for a sink is due, and what goes first: changes of messages come after all else."""

from __future__ import annotations

import heapq
from itertools import count
from typing import Final

from streams.alerts.waiting import Waiting

_Places = list[tuple[float, int, Waiting]]


class Schedule:
    """Each `Waiting` has one place: if it is put there again, the place before is of no use.

    >>> from streams.alerts.sinks.delivery import Digest
    >>> urgent, patient = Waiting(Digest(()), due=5.0), Waiting(Digest(()), due=1.0)
    >>> schedule = Schedule()
    >>> schedule.put(patient, is_urgent=False)
    >>> schedule.put(urgent, is_urgent=True)
    >>> schedule.first(1.0) is patient, schedule.first(5.0) is urgent
    (True, True)
    >>> schedule.remove(urgent)
    >>> schedule.first(5.0) is patient
    True
    """

    def __init__(self) -> None:
        self._urgent: Final[_Places] = []
        self._patient: Final[_Places] = []
        self._numbers = count(1)

    def put(self, waiting: Waiting, *, is_urgent: bool) -> None:
        """Let it be due at its time."""
        waiting.place = next(self._numbers)
        heapq.heappush(self._urgent if is_urgent else self._patient, (waiting.due, waiting.place, waiting))

    def remove(self, waiting: Waiting) -> None:
        """Take it out: it is sent, or is wanted no more."""
        waiting.place = 0

    def first(self, now: float) -> Waiting | None:
        """Return what goes first of all that is due, None if nothing is."""
        return next((each for each in self.heads() if each.due <= now), None)

    def heads(self) -> list[Waiting]:
        """Return what is due next of what is urgent, and of the rest."""
        return [places[0][2] for places in (self._urgent, self._patient) if _tidied(places)]


def _tidied(places: _Places) -> _Places:
    """Drop places that are of no use from the front."""
    while places and places[0][2].place != places[0][1]:
        heapq.heappop(places)
    return places

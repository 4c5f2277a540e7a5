"""Where cells stand: a session keeps its slot for as long as it is known, a group its place.

The number of slots of a group is a power of two and never falls, so that its area seldom grows. Slots are
numbered along a Z-shaped curve (`streams/console/static/honeycomb.js`), on which a slot keeps its position
when the area doubles: nothing jumps.
"""

from __future__ import annotations

from collections.abc import Mapping
from heapq import heappop, heappush
from typing import NamedTuple


class Seat(NamedTuple):
    """Where a session stands: the number of its group, and its slot there."""

    place: int
    slot: int


class Area(NamedTuple):
    """A group: its name, its number, how many slots its area has, and who stands in each used one."""

    name: str
    place: int
    capacity: int
    sessions: tuple[str | None, ...]


class _Group:
    __slots__ = ("free", "place", "sessions")

    def __init__(self, place: int) -> None:
        self.place = place
        self.sessions: list[str | None] = []
        self.free: list[int] = []

    def enter(self, session_id: str) -> int:
        if self.free:
            slot = heappop(self.free)
            self.sessions[slot] = session_id
            return slot
        self.sessions.append(session_id)
        return len(self.sessions) - 1

    def leave(self, slot: int) -> None:
        self.sessions[slot] = None
        heappush(self.free, slot)

    @property
    def is_empty(self) -> bool:
        return len(self.free) == len(self.sessions)


class Seating:
    """The seats of all sessions. Groups are numbered in the order in which they come.

    >>> seating = Seating()
    >>> seating.settle({"s-1": "coder", "s-2": "coder", "s-3": "planner"})
    >>> seating.settle({"s-2": "coder", "s-3": "planner", "s-4": "coder", "s-5": "coder"})
    >>> [(area.name, area.capacity, area.sessions) for area in seating.areas()]
    [('coder', 4, ('s-4', 's-2', 's-5')), ('planner', 1, ('s-3',))]
    >>> seating.session(Seat(0, 1)), seating.seat("s-3")
    ('s-2', Seat(place=1, slot=0))
    """

    def __init__(self) -> None:
        self._groups: dict[str, _Group] = {}
        self._names: dict[int, str] = {}
        self._seats: dict[str, tuple[str, int]] = {}
        self._next = 0

    def settle(self, members: Mapping[str, str]) -> None:
        """Let those leave who are gone, or belong to another group now; then give the new ones a slot.

        Args:
            members: The group of each session.
        """
        for session_id, (name, slot) in list(self._seats.items()):
            if members.get(session_id) != name:
                del self._seats[session_id]
                self._groups[name].leave(slot)
        for session_id, name in members.items():
            if session_id not in self._seats:
                self._seats[session_id] = name, self._group(name).enter(session_id)
        for name in [name for name, group in self._groups.items() if group.is_empty]:
            del self._names[self._groups.pop(name).place]

    def _group(self, name: str) -> _Group:
        group = self._groups.get(name)
        if group is None:
            group = self._groups[name] = _Group(self._next)
            self._names[self._next] = name
            self._next += 1
        return group

    def seat(self, session_id: str) -> Seat | None:
        """Return where a session stands, None if it is not there."""
        found = self._seats.get(session_id)
        return None if found is None else Seat(self._groups[found[0]].place, found[1])

    def session(self, seat: Seat) -> str | None:
        """Return who stands at a seat, None if it is empty or there is none such."""
        group = self._groups.get(self._names.get(seat.place, ""))
        if group is None or group.place != seat.place or not 0 <= seat.slot < len(group.sessions):
            return None
        return group.sessions[seat.slot]

    def areas(self) -> list[Area]:
        """Return the groups by their numbers."""
        return [
            Area(name, group.place, capacity_of(len(group.sessions)), tuple(group.sessions))
            for name, group in sorted(self._groups.items(), key=lambda each: each[1].place)
        ]


def capacity_of(slots: int) -> int:
    """Return the smallest power of two that holds so many slots.

    >>> [capacity_of(slots) for slots in (0, 1, 2, 3, 8, 9)]
    [1, 1, 2, 4, 8, 16]
    """
    return 1 << max(0, slots - 1).bit_length()
